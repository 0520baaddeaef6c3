"""Whole image files of every format and kind that is read, and what can happen to their bytes."""

import io
import struct
import zlib
from collections.abc import Callable
from functools import cache

import numpy as np
import tifffile
from PIL import Image

N_PAGES = 3
EXTREMES = (0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 127, 128, 255, 256, 32767, 32768, 65535, 2**31 - 1, 2**31, 2**32 - 1)
TIFF_TAGS = (
    254,
    256,
    257,
    258,
    259,
    262,
    266,
    273,
    274,
    277,
    278,
    279,
    282,
    284,
    317,
    320,
    322,
    323,
    324,
    325,
    338,
    339,
)


@cache
def whole_images() -> dict[str, tuple[str, bytes]]:
    """Return files by a name of their kind: the suffix, and the bytes."""
    rng = np.random.default_rng(0)
    grey = rng.integers(0, 256, (24, 30), dtype=np.uint8)
    rgb = rng.integers(0, 256, (24, 30, 3), dtype=np.uint8)
    deep = rng.integers(0, 2**16, (24, 30), dtype=np.uint16)
    pages = rng.integers(0, 256, (N_PAGES, 24, 30), dtype=np.uint8)
    tiled = np.tile(grey, (2, 2))
    made = {
        "png grey": (".png", _by_pillow("PNG", grey)),
        "png rgb": (".png", _by_pillow("PNG", rgb)),
        "png rgba": (".png", _by_pillow("PNG", np.dstack([rgb, grey]))),
        "png grey alpha": (".png", _by_pillow("PNG", np.dstack([grey, grey]))),
        "png 16 bits": (".png", _by_pillow("PNG", deep)),
        "png deep colour": (".png", _by_opencv(".png", np.dstack([deep, deep, deep]))),
        "png palette": (".png", _by_pillow("PNG", Image.fromarray(rgb).quantize(16))),
        "png 1 bit": (".png", _by_pillow("PNG", Image.fromarray(grey).convert("1"))),
        "jpeg grey": (".jpg", _by_pillow("JPEG", grey)),
        "jpeg rgb": (".jpg", _by_pillow("JPEG", rgb)),
        "jpeg cmyk": (".jpg", _by_pillow("JPEG", Image.fromarray(rgb).convert("CMYK"))),
        "jpeg progressive": (".jpg", _by_pillow("JPEG", rgb, progressive=True)),
        "jpeg exif": (".jpg", _by_pillow("JPEG", rgb, exif=_orientation(6))),
        "gif": (".gif", _by_pillow("GIF", Image.fromarray(rgb).quantize(16))),
        "gif animated": (".gif", _by_pillow("GIF", pages[0], save_all=True, append_images=_pillow_pages(pages[1:]))),
        "bmp grey": (".bmp", _by_pillow("BMP", grey)),
        "bmp rgb": (".bmp", _by_pillow("BMP", rgb)),
        "webp": (".webp", _by_pillow("WEBP", rgb)),
        "webp lossless": (".webp", _by_pillow("WEBP", np.dstack([rgb, grey]), lossless=True)),
        "webp animated": (".webp", _by_pillow("WEBP", rgb, save_all=True, append_images=_pillow_pages(pages[1:]))),
        "tiff plain": (".tif", _by_tifffile(grey)),
        "tiff rgb": (".tif", _by_tifffile(rgb, photometric="rgb")),
        "tiff planar": (".tif", _by_tifffile(np.moveaxis(rgb, 2, 0), photometric="rgb", planarconfig="separate")),
        "tiff deflate": (".tif", _by_tifffile(grey, compression="zlib", predictor=True)),
        "tiff lzw": (".tif", _by_pillow("TIFF", grey, compression="tiff_lzw")),
        "tiff lzw rgb": (".tif", _by_pillow("TIFF", rgb, compression="tiff_lzw")),
        "tiff jpeg": (".tif", _by_pillow("TIFF", rgb, compression="jpeg")),
        "tiff group 4": (".tif", _by_pillow("TIFF", Image.fromarray(grey).convert("1"), compression="group4")),
        "tiff packbits": (".tif", _by_pillow("TIFF", grey, compression="packbits")),
        "tiff palette": (".tif", _by_pillow("TIFF", Image.fromarray(rgb).quantize(16))),
        "tiff tiled": (".tif", _by_tifffile(tiled, tile=(16, 16))),
        "tiff tiled deflate": (".tif", _by_tifffile(tiled, tile=(16, 16), compression="zlib")),
        "tiff 16 bits": (".tif", _by_tifffile(deep)),
        "tiff 16 bits lzw": (".tif", _by_pillow("TIFF", deep, compression="tiff_lzw")),
        "tiff float": (".tif", _by_tifffile(grey.astype(np.float32))),
        "tiff float deflate": (".tif", _by_tifffile(grey.astype(np.float64) / 7, compression="zlib")),
        "tiff int32": (".tif", _by_tifffile(grey.astype(np.int32) - 100)),
        "tiff white is zero": (".tif", _by_tifffile(grey, photometric="miniswhite")),
        "tiff big endian": (".tif", _by_tifffile(deep, byteorder=">")),
        "tiff big": (".tif", _by_tifffile(grey, bigtiff=True)),
        "tiff pages": (".tif", _by_tifffile(pages, photometric="minisblack")),
        "tiff pages deflate": (".tif", _by_tifffile(pages, photometric="minisblack", compression="zlib")),
        "tiff pages lzw": (".tif", _by_pillow("TIFF", pages[0], save_all=True, append_images=_pillow_pages(pages[1:]))),
        "tiff imagej": (".tif", _by_tifffile(pages, imagej=True)),
        "tiff ome": (".tif", _by_tifffile(pages, ome=True, photometric="minisblack")),
        "tiff mask": (".tif", _by_tifffile((grey > 127).astype(np.uint8))),
    }
    return made


def damaged_image(rng: np.random.Generator) -> tuple[str, str, bytes]:
    """Draw a whole image and damage it; return what it was and what was done, the suffix, and the bytes."""
    whole = whole_images()
    kind = list(whole)[rng.integers(len(whole))]
    suffix, content = whole[kind]
    done = []
    for _ in range(int(rng.integers(1, 4))):
        harm = HARMS[rng.integers(len(HARMS))]
        if content:
            content = harm(content, rng)
            done.append(harm.__name__)
    return f"{kind}: {', '.join(done)}", suffix, content


def flip_bits(content: bytes, rng: np.random.Generator) -> bytes:
    """Flip a few bits anywhere."""
    changed = bytearray(content)
    for place in rng.integers(len(content), size=rng.integers(1, 9)):
        changed[place] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def flip_header(content: bytes, rng: np.random.Generator) -> bytes:
    """Replace a few of the first or last bytes, where headers and directories are."""
    changed = bytearray(content)
    n = min(64, len(content))
    for place in rng.integers(n, size=rng.integers(1, 5)):
        changed[int(place) - (n if rng.random() < 0.3 else 0)] = int(rng.integers(256))
    return bytes(changed)


def truncate(content: bytes, rng: np.random.Generator) -> bytes:
    """Cut the end off."""
    return content[: rng.integers(len(content))]


def lose_bytes(content: bytes, rng: np.random.Generator) -> bytes:
    """Leave some bytes out."""
    start = int(rng.integers(len(content)))
    return content[:start] + content[start + int(rng.integers(1, 64)) :]


def repeat_bytes(content: bytes, rng: np.random.Generator) -> bytes:
    """Repeat some bytes."""
    start = int(rng.integers(len(content)))
    return content[: start + int(rng.integers(1, 64))] + content[start:]


def overwrite(content: bytes, rng: np.random.Generator) -> bytes:
    """Overwrite a stretch with zeros, ones or noise, as a bad sector does."""
    start, length = int(rng.integers(len(content))), int(rng.integers(1, 512))
    stretch = (bytes(length), b"\xff" * length, rng.bytes(length))[rng.integers(3)]
    return (content[:start] + stretch + content[start + length :])[: len(content)]


def graft(content: bytes, rng: np.random.Generator) -> bytes:
    """Continue with the bytes of another image."""
    whole = list(whole_images().values())
    _, other = whole[rng.integers(len(whole))]
    place = int(rng.integers(min(len(content), len(other))))
    return content[:place] + other[place:]


def edit_header(content: bytes, rng: np.random.Generator) -> bytes:
    """Change one stated number (width, bits, compression, offset, ...) in the way of the format."""
    if content.startswith(b"\x89PNG") and len(content) >= 33:
        return _edit_png(content, rng)
    if content.startswith((b"II*\0", b"MM\0*")) and len(content) >= 16:
        return _edit_tiff(content, rng)
    frame = max(content.find(b"\xff\xc0"), content.find(b"\xff\xc2"))
    if content.startswith(b"\xff\xd8") and frame >= 0:
        return _put(content, frame + int(rng.choice([4, 5, 7, 9])), ">H", _extreme(rng))
    if content.startswith(b"BM"):
        return _put(content, int(rng.choice([10, 14, 18, 22, 28, 30, 46])), "<I", _extreme(rng))
    if content.startswith(b"GIF8"):
        return _put(content, int(rng.choice([6, 8, 10, 12])), "<H", _extreme(rng))
    return _put(content, int(rng.integers(4, 40)), "<I", _extreme(rng))


HARMS: tuple[Callable[[bytes, np.random.Generator], bytes], ...] = (
    *(edit_header,) * 4, *(flip_bits,) * 2, flip_header, truncate, lose_bytes, repeat_bytes, overwrite, graft,
)  # fmt: skip


def _edit_png(content: bytes, rng: np.random.Generator) -> bytes:
    """Change a field of IHDR and renew its checksum."""
    layout, offset = ((">I", 16), (">I", 20), (">B", 24), (">B", 25), (">B", 26), (">B", 28))[rng.integers(6)]
    changed = _put(content, offset, layout, _extreme(rng))
    return _put(changed, 29, ">I", zlib.crc32(changed[12:29]))


def _edit_tiff(content: bytes, rng: np.random.Generator) -> bytes:
    """Change the tag, the type, the count or the value of an entry of the first directory."""
    order = "<" if content.startswith(b"II") else ">"
    (directory,) = struct.unpack_from(order + "I", content, 4)
    if directory + 2 > len(content):
        return _put(content, 4, order + "I", 8)
    (n_entries,) = struct.unpack_from(order + "H", content, directory)
    entry = directory + 2 + 12 * int(rng.integers(max(1, min(n_entries, 40))))
    field = rng.integers(5)
    if field == 0:
        return _put(content, entry, order + "H", int(rng.choice(TIFF_TAGS)))
    if field == 1:
        return _put(content, entry + 2, order + "H", int(rng.integers(0, 19)))
    if field == 2:
        return _put(content, entry + 4, order + "I", _extreme(rng))
    return _put(content, entry + 8, order + ("I" if rng.random() < 0.5 else "H"), _extreme(rng))


def _extreme(rng: np.random.Generator) -> int:
    return EXTREMES[rng.integers(len(EXTREMES))] if rng.random() < 0.7 else int(rng.integers(100_000))


def _put(content: bytes, offset: int, layout: str, value: int) -> bytes:
    """Write a number into a copy, as far as there is room for it."""
    size = struct.calcsize(layout)
    if offset + size > len(content):
        return content
    return content[:offset] + struct.pack(layout, value % 2 ** (8 * size)) + content[offset + size :]


def _by_pillow(kind: str, pixels, **settings) -> bytes:
    buffer = io.BytesIO()
    image = pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)
    image.save(buffer, kind, **settings)
    return buffer.getvalue()


def _by_opencv(suffix: str, pixels: np.ndarray) -> bytes:
    import cv2

    return cv2.imencode(suffix, pixels)[1].tobytes()


def _by_tifffile(pixels: np.ndarray, **settings) -> bytes:
    buffer = io.BytesIO()
    for_file = {name: settings.pop(name) for name in ("byteorder", "bigtiff", "imagej", "ome") if name in settings}
    with tifffile.TiffWriter(buffer, **for_file) as writer:
        writer.write(pixels, **settings)
    return buffer.getvalue()


def _pillow_pages(pages: np.ndarray) -> list[Image.Image]:
    return [Image.fromarray(page) for page in pages]


def _orientation(value: int) -> Image.Exif:
    exif = Image.Exif()
    exif[274] = value
    return exif
