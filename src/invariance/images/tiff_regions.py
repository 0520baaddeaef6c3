"""A region of a TIFF page: only the strips or tiles that meet it are read and decoded.

The metadata come from a stranger: what a strip or tile may unpack to is checked before it is unpacked.
"""

import lzma
import math
import zlib
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import tifffile

MAX_SEGMENT_BYTES = 2**26  # of an unpacked strip or tile; pages with larger ones are read whole
_PLAIN_BITS = (1, 8, 16, 32, 64)
_NONE, _DEFLATE, _PACKBITS, _OLD_DEFLATE, _LZMA = 1, 8, 32773, 32946, 34925  # compressions
_LZMA_BYTES = 2**28  # for the dictionary of a decoder
_SLACK_BYTES = 2**16  # beyond twice its size, which a strip or tile may unpack to: some writers pad the last one


def has_regions(page: "tifffile.TiffPage") -> bool:
    """Whether regions of a page that tifffile decodes by itself equal those of the whole page; if unsure, False."""
    if page.is_contiguous:
        return bool(page.is_final)
    return (
        page.dtype is not None
        and page.shaped[1] == 1
        and page.fillorder == 1
        and not page.is_subsampled
        and page.bitspersample in _PLAIN_BITS
        and _segment_bytes(page) <= MAX_SEGMENT_BYTES
    )


def read_region(path: Path, frame: Any, rows: slice, cols: slice) -> np.ndarray:
    """Read a region of a page for which `has_regions`, from its open file.

    Parameters
    ----------
    path : Path
    frame : TiffPage or TiffFrame
    rows, cols : slice
        With starts and stops inside the page.

    Returns
    -------
    values : ndarray of shape (planes, n_rows, n_cols, samples)
        As stored; planes if samples are stored separately.
    """
    page = frame.keyframe
    n_planes, _, height, width, n_samples = page.shaped
    if page.is_contiguous:
        stored = page.dtype.newbyteorder(page.parent.byteorder)
        mapped = np.memmap(path, stored, "r", frame.dataoffsets[0], (n_planes, height, width, n_samples))
        return np.array(mapped[:, rows, cols], page.dtype)
    region = np.full((n_planes, rows.stop - rows.start, cols.stop - cols.start, n_samples), page.nodata, page.dtype)
    for number in _segments_of(page, rows, cols):
        data = _read_segment(frame, number)
        if data is None:  # not stored; tifffile fills it in the same way
            continue
        _check_unpacked(page, data)
        segment, (plane, _, top, left, _), (_, n_rows, n_cols, _) = page.decode(data, number)
        y, x = _overlap(rows, top, min(top + n_rows, height)), _overlap(cols, left, min(left + n_cols, width))
        region[plane, y[0], x[0]] = segment[0, y[1], x[1]]
    return region


def _segment_size(page: "tifffile.TiffPage") -> tuple[int, int]:
    """Return the height and width of strips or tiles."""
    return (page.tilelength, page.tilewidth) if page.is_tiled else (page.rowsperstrip, page.imagewidth)


def _segment_bytes(page: "tifffile.TiffPage") -> int:
    """Return the size of an unpacked strip or tile."""
    height, width = _segment_size(page)
    n_rows = height if page.is_tiled else min(height, page.imagelength)
    return n_rows * width * page.shaped[4] * np.dtype(page.dtype).itemsize


def _segments_of(page: "tifffile.TiffPage", rows: slice, cols: slice) -> list[int]:
    """Return the numbers of the strips or tiles that meet a region."""
    height, width = _segment_size(page)
    n_down, n_across = -(-page.imagelength // height), -(-page.imagewidth // width)
    down, across = (range(part.start // side, -(-part.stop // side)) for part, side in ((rows, height), (cols, width)))
    return [(plane * n_down + y) * n_across + x for plane, y, x in product(range(page.shaped[0]), down, across)]


def _read_segment(frame: Any, number: int) -> bytes | None:
    """Read the bytes of a strip or tile; None if it is not stored."""
    if number >= min(len(frame.dataoffsets), len(frame.databytecounts)):
        return None
    offset, n_bytes = frame.dataoffsets[number], frame.databytecounts[number]
    if offset <= 0 or n_bytes <= 0:
        return None
    if n_bytes > _max_bytes(frame.keyframe):
        raise ValueError("a part of its image is larger than its size allows")
    handle = frame.parent.filehandle
    handle.seek(offset)
    return handle.read(n_bytes)


def _max_bytes(page: "tifffile.TiffPage") -> int:
    """Return how many bytes a strip or tile may have, packed or not."""
    return 2 * _segment_bytes(page) + _SLACK_BYTES


def _check_unpacked(page: "tifffile.TiffPage", data: bytes) -> None:
    """Refuse a strip or tile that would unpack to more than its size: decoders have no such limit."""
    limit = _max_bytes(page)
    n_bytes = 0
    if page.compression in (_DEFLATE, _OLD_DEFLATE):
        n_bytes = len(zlib.decompressobj().decompress(data, limit + 1))
    elif page.compression == _LZMA:
        n_bytes = len(lzma.LZMADecompressor(memlimit=_LZMA_BYTES).decompress(data, limit + 1))
    elif page.compression == _PACKBITS:
        n_bytes = _unpacked_bits(data)
    if n_bytes > limit:
        raise ValueError("a part of its image unpacks to more than its size allows")


def _unpacked_bits(data: bytes) -> int:
    """Return how many bytes PackBits unpack to: a code n below 128 copies n + 1, others repeat one 257 - n times."""
    place = total = 0
    while place < len(data):
        code = data[place]
        total += code + 1 if code < 128 else 257 - code if code > 128 else 0
        place += code + 2 if code < 128 else 2 if code > 128 else 1
    return total


def _overlap(part: slice, start: int, stop: int) -> tuple[slice, slice]:
    """Return where a part and a stretch overlap, as seen from the part and from the stretch."""
    first, last = max(part.start, start), min(part.stop, stop)
    return slice(first - part.start, last - part.start), slice(first - start, last - start)


def region_shape(page: "tifffile.TiffPage", region: np.ndarray) -> tuple[int, ...]:
    """Return the shape that a region has with the axes of its page."""
    lengths = dict(zip(("Y", "X"), region.shape[1:3], strict=True))
    shape = tuple(lengths.get(axis, length) for axis, length in zip(page.axes, page.shape, strict=True))
    if math.prod(shape) != region.size:
        raise ValueError(f"its axes {page.axes} are not those of an image")
    return shape
