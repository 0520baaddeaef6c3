"""Every bad file ends in one line that names the file and says what is wrong with it."""

import struct
import zlib

import numpy as np
import pytest
import tifffile
from PIL import Image

from invariance.images import ImageError, image_paths, open_stack, read_image, read_mask, read_mask_stack, read_stack
from invariance.images import memory as image_memory

from .written_tiffs import DEFLATE, LZW, PLAIN, RGB, write_tiff

PIXELS = np.random.default_rng(0).integers(0, 256, (40, 50, 3), dtype=np.uint8)


def png_bytes(width, height):
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


def assert_refused(path, words, read=read_image):
    with pytest.raises(ImageError) as caught:
        read(path)
    message = str(caught.value)
    assert words in message
    assert str(path) in message
    assert "\n" not in message


@pytest.mark.parametrize("read", [read_image, read_stack, read_mask, read_mask_stack])
def test_missing_file(tmp_path, read):
    assert_refused(tmp_path / "none.png", "does not exist", read)


def test_folder_instead_of_file(tmp_path):
    assert_refused(tmp_path, "is a folder")


def test_empty_file(tmp_path):
    path = tmp_path / "a.png"
    path.touch()
    assert_refused(path, "0 bytes")


@pytest.mark.parametrize("suffix", ["png", "jpg", "tif"])
def test_text_renamed_to_image(tmp_path, suffix):
    path = tmp_path / f"a.{suffix}"
    path.write_text("this is no image")
    assert_refused(path, "is not a PNG, JPEG")


def test_formats_that_run_programs_are_not_opened(tmp_path):
    path = tmp_path / "a.png"
    Image.fromarray(PIXELS).save(path, format="EPS")
    assert_refused(path, "is not a PNG, JPEG")


@pytest.mark.parametrize("kept", [8, 20, 0.5, 0.9])
@pytest.mark.parametrize("suffix", ["png", "jpg", "tif", "gif", "bmp", "webp"])
def test_truncated_file(tmp_path, suffix, kept):
    path = tmp_path / f"a.{suffix}"
    Image.fromarray(PIXELS).save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: kept if kept > 1 else int(kept * len(whole))])
    assert_refused(path, "truncated")


@pytest.mark.filterwarnings("ignore::UserWarning")  # Pillow's own complaints about the damage
@pytest.mark.parametrize("compression", ["tiff_lzw", "tiff_adobe_deflate"])
def test_compressed_tiff_with_damaged_pixels(tmp_path, compression):
    path = tmp_path / "a.tif"
    Image.fromarray(PIXELS).save(path, compression=compression)
    damaged = bytearray(path.read_bytes())
    damaged[500:3000] = bytes(2500)
    path.write_bytes(damaged)
    assert_refused(path, "damaged")


@pytest.mark.parametrize("kept", [0.1, 0.4, 0.5, 0.6, 0.75, 0.9, 0.97])
@pytest.mark.parametrize("suffix", ["tif", "lzw.tif", "gif", "webp"])
def test_truncated_stack_never_loses_pages_silently(tmp_path, suffix, kept):
    path = tmp_path / f"a.{suffix}"
    pages = [Image.fromarray(np.roll(PIXELS, shift, axis=0)) for shift in range(4)]
    options = {"compression": "tiff_lzw"} if "lzw" in suffix else {}
    pages[0].save(path, save_all=True, append_images=pages[1:], **options)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(kept * len(whole))])
    assert_refused(path, "truncated", read_stack)


@pytest.mark.parametrize("lost", [100, 400, 7000])
def test_truncated_stack_with_pixels_before_pages(tmp_path, lost):
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, PIXELS[None].repeat(3, axis=0), photometric="rgb")
    path.write_bytes(path.read_bytes()[:-lost])
    assert_refused(path, "truncated", read_stack)


@pytest.mark.parametrize("size", [(0, 5), (5, 0)])
def test_zero_size_png(tmp_path, size):
    path = tmp_path / "a.png"
    path.write_bytes(png_bytes(*size))
    assert_refused(path, "no pixels")


@pytest.mark.filterwarnings("ignore:.*zero-size")
def test_zero_size_tiff(tmp_path):
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, np.zeros((0, 5), np.uint8))
    assert_refused(path, "no pixels")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_float_tiff_that_is_not_finite(tmp_path, value):
    path = tmp_path / "a.tif"
    pixels = np.zeros((4, 5), np.float32)
    pixels[1, 2] = value
    tifffile.imwrite(path, pixels)
    for read in (read_image, read_stack, open_stack):
        assert_refused(path, "at 1 of 20 values", read)


@pytest.mark.parametrize("compression", [PLAIN, DEFLATE, LZW])
@pytest.mark.parametrize("read", [read_image, read_stack, read_mask, read_mask_stack, open_stack])
def test_tiff_whose_channels_have_different_depths(tmp_path, read, compression):
    write_tiff(tmp_path / "a.tif", PIXELS.reshape(40, 150), 8, RGB, compression, (), [8, 16, 8], 3)
    assert_refused(tmp_path / "a.tif", "different depths (8, 16, 8 bits)", read)


@pytest.mark.parametrize("suffix", ["png", "jpg", "tif", "lzw.tif", "webp"])
def test_image_that_takes_too_much_memory_is_refused_before_it_is_decoded(tmp_path, suffix, monkeypatch):
    path = tmp_path / f"a.{suffix}"
    Image.fromarray(PIXELS).save(path, **({"compression": "tiff_lzw"} if "lzw" in suffix else {}))
    needed = PIXELS.size * (3 + 4)
    monkeypatch.setattr(image_memory, "MAX_IMAGE_BYTES", needed)
    assert read_image(path).shape == PIXELS.shape
    monkeypatch.setattr(image_memory, "MAX_IMAGE_BYTES", needed - 1)
    monkeypatch.setattr(np, "asarray", None)  # what makes an array of a decoded image
    monkeypatch.setattr(tifffile.TiffPageSeries, "asarray", None)
    assert_refused(path, "of 40 x 50 pixels would take")


def test_memory_that_runs_out_is_an_error_of_the_image(tmp_path, monkeypatch):
    Image.fromarray(PIXELS).save(tmp_path / "a.png")

    def run_out(*_):
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr("invariance.images.raster.stack_pages", run_out)
        assert_refused(tmp_path / "a.png", "more memory than there is")
    monkeypatch.setattr("invariance.images.reading.in_unit_range", run_out)
    assert_refused(tmp_path / "a.png", "more memory than there is")


@pytest.mark.parametrize("suffix", ["tif", "gif"])
def test_many_pages_where_one_was_expected(tmp_path, suffix):
    path = tmp_path / f"a.{suffix}"
    pages = [Image.fromarray(np.roll(PIXELS, shift, axis=0)) for shift in range(3)]
    pages[0].save(path, save_all=True, append_images=pages[1:])
    assert_refused(path, "read_stack")
    assert_refused(path, "read_mask_stack", read_mask)


def test_pages_of_different_sizes(tmp_path):
    path = tmp_path / "a.tif"
    Image.fromarray(PIXELS).save(path, save_all=True, append_images=[Image.fromarray(PIXELS[:-3])])
    assert_refused(path, "different shapes", read_stack)


def test_decompression_bomb_png(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(png_bytes(30000, 30000))
    assert_refused(path, "decompression bomb")


def test_decompression_bomb_tiff(tmp_path, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    tifffile.imwrite(tmp_path / "packed.tif", np.zeros((40, 50), np.uint8), compression="zlib")
    assert_refused(tmp_path / "packed.tif", "decompression bomb")
    tifffile.imwrite(tmp_path / "plain.tif", np.zeros((40, 50), np.uint8))  # as large on disk as in memory: no bomb
    assert read_image(tmp_path / "plain.tif").shape == (40, 50)


def test_mask_in_colour(tmp_path):
    Image.fromarray(PIXELS).save(tmp_path / "a.png")
    assert_refused(tmp_path / "a.png", "in colour", read_mask)


@pytest.mark.parametrize("value", [0.5, np.nan])
def test_mask_of_fractions(tmp_path, value):
    tifffile.imwrite(tmp_path / "a.tif", np.full((3, 4), value))
    assert_refused(tmp_path / "a.tif", "holds integers", read_mask)


def test_paths_of_a_missing_folder_and_of_a_file(tmp_path):
    assert_refused(tmp_path / "none", "does not exist", image_paths)
    (tmp_path / "file").touch()
    assert_refused(tmp_path / "file", "is a file", image_paths)


def edit_tag(path, code, edited):
    """Overwrite the first entry of a classic TIFF's directory that has a code: (code, kind, count, value)."""
    content = bytearray(path.read_bytes())
    start = struct.unpack("<I", content[4:8])[0]
    (n_tags,) = struct.unpack("<H", content[start : start + 2])
    places = (start + 2 + 12 * number for number in range(n_tags))
    place = next(place for place in places if struct.unpack("<H", content[place : place + 2])[0] == code)
    content[place : place + 12] = struct.pack("<HHII", *edited)
    path.write_bytes(content)


def test_a_palette_of_signed_numbers_is_refused_by_all_readers(tmp_path):
    """They would be colours darker than black."""
    path, values = tmp_path / "image.tif", np.arange(256, dtype=np.uint8).reshape(16, 16)
    tifffile.imwrite(path, values, photometric="palette", colormap=np.full((3, 256), 60_000, np.uint16))
    with tifffile.TiffFile(path) as file:
        place = file.pages[0].tags[320].valueoffset
    for read in (read_image, read_stack, open_stack):
        assert read(path) is not None
    edit_tag(path, 320, (320, 6, 768, place))
    for read in (read_image, read_stack, open_stack):
        with pytest.raises(ImageError, match=r"image\.tif.*palette"):
            read(path)


@pytest.mark.parametrize(
    ("shape", "code", "edited", "message"),
    [((24, 30), 273, (273, 3, 1, 0), "begins at its header"),  # StripOffsets
     ((24, 30, 3), 258, (284, 3, 1, 8), "parts of its image are missing")],  # BitsPerSample becomes planes
    ids=["offset of 0", "fewer strips than planes"],
)  # fmt: skip
def test_a_tiff_without_stored_values_is_refused_by_all_readers(shape, code, edited, message, tmp_path):
    path = tmp_path / "image.tif"
    values = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    tifffile.imwrite(path, values, photometric="rgb" if len(shape) == 3 else "minisblack")
    edit_tag(path, code, edited)
    for read in (read_image, read_stack, open_stack):
        with pytest.raises(ImageError, match=rf"image\.tif.*{message}"):
            read(path)


def test_a_page_of_a_stack_that_would_take_too_much_memory_is_refused(tmp_path, monkeypatch):
    pages = [Image.fromarray(PIXELS), Image.fromarray(PIXELS[::-1].copy())]
    pages[0].save(tmp_path / "moving.webp", save_all=True, append_images=pages[1:], lossless=True)
    assert read_stack(tmp_path / "moving.webp").shape == (2, 40, 50, 3)
    monkeypatch.setattr(image_memory, "MAX_IMAGE_BYTES", 40 * 50 * 3 * 6)
    for read in (read_stack, open_stack):
        assert_refused(tmp_path / "moving.webp", "of memory to read", read)
