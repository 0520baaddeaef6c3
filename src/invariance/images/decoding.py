"""The image formats that are read, and decoding a file of any of them to its pages.

A new format is one entry of `FORMATS`: suffixes, messages and decoding follow from it. The first bytes of a file decide
its format, not its suffix, and only the listed formats are opened: Pillow knows others (EPS starts Ghostscript) that
must not run on a file of unknown origin.
"""

import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from invariance.images.pages import ImageError, Pages, out_of_memory, oversized, zero_size
from invariance.images.raster import decode_pillow
from invariance.images.tiff import decode_tiff

# Bytes of a file that are looked at: all signatures and the sizes that `size_fields` name lie within.
_HEADER_BYTES = 32


def _decode_png(path: Path, one_page: bool, stored: bool) -> Pages:
    """Decode a PNG; its header states the depth and, as a number other than 0, that it is more than grey."""
    bits, colour = _read_header(path)[24:26].ljust(2, b"\0")
    return decode_pillow(path, "PNG", one_page, stored, bits, colour != 0)


class Format(NamedTuple):
    """An image format.

    Attributes
    ----------
    name : str
        The name in messages; in capitals, the name by which Pillow knows the format.
    suffixes : tuple of str
        In lower case, with the dot.
    signatures : tuple of bytes
        The first bytes of a file of this format.
    decoder : callable, default=None
        Called with `path, one_page, stored`, returns `Pages`; None decodes with Pillow.
    size_fields : tuple of (str, int), default=None
        The `struct` format and the offset of width and height in the header: Pillow only calls a file without pixels
        unidentified, so this case is recognized here.
    """

    name: str
    suffixes: tuple[str, ...]
    signatures: tuple[bytes, ...]
    decoder: Callable[[Path, bool, bool], Pages] | None = None
    size_fields: tuple[str, int] | None = None

    def decode(self, path: Path, one_page: bool, stored: bool) -> Pages:
        """Decode a file of this format."""
        if self.decoder is None:
            return decode_pillow(path, self.name.upper(), one_page, stored)
        return self.decoder(path, one_page, stored)


FORMATS = (
    Format("PNG", (".png",), (b"\x89PNG",), _decode_png, (">II", 16)),
    Format("JPEG", (".jpg", ".jpeg"), (b"\xff\xd8\xff",)),
    Format("TIFF", (".tif", ".tiff"), (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"), decode_tiff),
    Format("GIF", (".gif",), (b"GIF8",)),
    Format("BMP", (".bmp",), (b"BM",), size_fields=("<ii", 18)),
    Format("WebP", (".webp",), (b"RIFF",)),
)
SUFFIXES = tuple(suffix for format_ in FORMATS for suffix in format_.suffixes)
FORMAT_NAMES = ", ".join(format_.name for format_ in FORMATS[:-1]) + f" or {FORMATS[-1].name}"


def decode(path: Path, *, one_page: bool, stored: bool) -> Pages:
    """Decode the pages of an image file and turn them upright.

    Parameters
    ----------
    path : Path
    one_page : bool
        Whether several pages are an error.
    stored : bool
        Whether palette indices and inverted greys are kept as they are in the file (the labels of a mask); otherwise
        they become the colours they stand for.

    Returns
    -------
    pages : Pages
    """
    header = _read_header(path)
    found = _format_of(path, header)
    with decoding_errors(path, found.name):
        _check_stated_size(path, found, header)
        return found.decode(path, one_page, stored)


def format_name(path: Path) -> str:
    """Return the name of the format that the first bytes of a file say; a file of no known format is an error."""
    return _format_of(path, _read_header(path)).name


def known_format(header: bytes, min_signature: int = 1) -> Format | None:
    """Return the format that the first bytes of a file say, by signatures of so many bytes or more; None if unknown."""
    for format_ in FORMATS:
        if header.startswith(tuple(known for known in format_.signatures if len(known) >= min_signature)):
            return format_
    return None


@contextmanager
def decoding_errors(path: Path, kind: str) -> Iterator[None]:
    """Turn any exception of a decoder into an error that names the file."""
    from PIL import Image, UnidentifiedImageError

    try:
        yield
    except ImageError:
        raise
    except MemoryError as error:
        raise out_of_memory(path) from error
    except Image.DecompressionBombError as error:
        raise oversized(path) from error
    except Exception as error:  # a damaged file can make a decoder raise nearly anything
        unidentified = isinstance(error, UnidentifiedImageError)
        detail = "broken header" if unidentified else " ".join(str(error).split()) or type(error).__name__
        raise ImageError(
            f"image '{path}' is truncated, damaged or of an unsupported kind ({kind}: {detail}). Export it again."
        ) from error


def _read_header(path: Path) -> bytes:
    """Read the first bytes of a file, or say why that is impossible."""
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


def _format_of(path: Path, header: bytes) -> Format:
    """Find the format that the first bytes of a file say."""
    found = known_format(header)
    if found is not None:
        return found
    raise ImageError(f"'{path}' is not a {FORMAT_NAMES} image. Convert it to one of these.")


def _check_stated_size(path: Path, format_: Format, header: bytes) -> None:
    """Refuse a header that states an image without pixels."""
    if format_.size_fields and len(header) == _HEADER_BYTES:
        layout, offset = format_.size_fields
        width, height = struct.unpack_from(layout, header, offset)
        if 0 in (width, height):
            raise zero_size(path, height, width)
