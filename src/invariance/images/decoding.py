"""From a file of any known format to its pages.

The file's first bytes say the format, not its suffix, and only those in `_SIGNATURES` are opened: Pillow knows others
(EPS starts Ghostscript) that must not run on a stranger's file.
"""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from invariance.images.errors import ImageError
from invariance.images.pages import Pages, oversized, zero_size
from invariance.images.raster import decode_pillow
from invariance.images.tiff import decode_tiff

_SIGNATURES = (
    (b"\x89PNG", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"GIF8", "GIF"),
    (b"BM", "BMP"),
    (b"RIFF", "WEBP"),
    (b"II*\0", "TIFF"),
    (b"MM\0*", "TIFF"),
    (b"II+\0", "TIFF"),
    (b"MM\0+", "TIFF"),
)
_HEADER_BYTES = 32
_SIZE_FIELDS = {"PNG": (">II", 16), "BMP": ("<ii", 18)}  # width, height


def decode(path: Path, *, one_page: bool, stored: bool) -> Pages:
    """The pages of an image file, turned upright.

    `one_page` refuses files with more. `stored` keeps palette indices and inverted greys as they are in the file
    (a mask's labels); otherwise they become the colours they stand for.
    """
    header = _read_header(path)
    kind = _kind_of(path, header)
    with decoding_errors(path, kind):
        if kind == "TIFF":
            return decode_tiff(path, one_page, stored)
        _check_stated_size(path, kind, header)
        return decode_pillow(path, kind, one_page, stored, deep_colour=kind == "PNG" and _is_deep_colour(header))


def is_tiff(path: Path) -> bool:
    """Whether the file's first bytes say TIFF; an error if they say no format at all."""
    return _kind_of(path, _read_header(path)) == "TIFF"


@contextmanager
def decoding_errors(path: Path, kind: str) -> Iterator[None]:
    """Turn whatever a decoder raises inside into an error that names the file."""
    from PIL import Image, UnidentifiedImageError

    try:
        yield
    except (ImageError, MemoryError):
        raise
    except Image.DecompressionBombError as error:
        raise oversized(path) from error
    except Exception as error:  # a damaged file can make a decoder raise nearly anything
        unidentified = isinstance(error, UnidentifiedImageError)
        detail = "broken header" if unidentified else " ".join(str(error).split()) or type(error).__name__
        raise ImageError(
            f"image '{path}' is truncated, damaged or of an unsupported kind ({kind}: {detail}). Export it again."
        ) from error


def _read_header(path: Path) -> bytes:
    try:
        with open(path, "rb") as file:
            header = file.read(_HEADER_BYTES)
    except FileNotFoundError:
        raise ImageError(f"image '{path}' does not exist. Check the path.") from None
    except IsADirectoryError:
        raise ImageError(f"image '{path}' is a folder. Name a file inside it.") from None
    except OSError as error:
        raise ImageError(f"image '{path}' cannot be opened ({error.strerror}). Check its permissions.") from error
    if not header:
        raise ImageError(f"image '{path}' is an empty file of 0 bytes. Copy or export it again.")
    return header


def _kind_of(path: Path, header: bytes) -> str:
    for signature, kind in _SIGNATURES:
        if header.startswith(signature):
            return kind
    raise ImageError(f"'{path}' is not a PNG, JPEG, TIFF, GIF, BMP or WebP image. Convert it to one of these.")


def _check_stated_size(path: Path, kind: str, header: bytes) -> None:
    """Refuse a header without pixels here, because Pillow would only call it unidentified."""
    if kind in _SIZE_FIELDS and len(header) == _HEADER_BYTES:
        layout, offset = _SIZE_FIELDS[kind]
        width, height = struct.unpack_from(layout, header, offset)
        if 0 in (width, height):
            raise zero_size(path, height, width)


def _is_deep_colour(png_header: bytes) -> bool:
    bits, colour = png_header[24:26].ljust(2, b"\0")
    return bits == 16 and colour != 0
