"""Decoding TIFF: with tifffile where it needs no further packages, else with Pillow or OpenCV through libtiff."""

import logging
import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from invariance.images.intensities import white_of
from invariance.images.memory import check_memory
from invariance.images.pages import (
    ORIENTATION_TAG,
    ImageError,
    Pages,
    check_page_count,
    oversized,
    unequal_pages,
    zero_size,
)
from invariance.images.raster import decode_opencv, decode_pillow, narrow
from invariance.images.significant_bits import stated_white

if TYPE_CHECKING:
    import tifffile

_MINISWHITE, _MINISBLACK, _RGB, _PALETTE = range(4)  # photometric interpretations
_COMPRESSIONS = (1, 8, 32773, 32946, 34925)  # none, deflate, packbits, old deflate, lzma
_FLOAT_PREDICTOR = 3
_PREMULTIPLIED, _STRAIGHT = 1, 2  # kinds of extra samples; others are further channels
_ALPHAS = {_PREMULTIPLIED: "premultiplied", _STRAIGHT: "straight"}

# tifffile logs what it finds in damaged files; the error raised by `decode` says it in one line.
logging.getLogger("tifffile").addHandler(logging.NullHandler())


def decode_tiff(path: Path, one_page: bool, stored: bool) -> Pages:
    """Decode the pages of a TIFF; reduced copies (pyramids, thumbnails) are left out.

    Parameters
    ----------
    path : Path
    one_page : bool
        Whether several pages are an error.
    stored : bool
        Whether palette indices and inverted greys are kept.

    Returns
    -------
    pages : Pages
    """
    import tifffile

    with tifffile.TiffFile(path) as file:
        series = find_series(path, file)
        check_unpacked_size(path, series)
        page = series.keyframe
        n_pages = math.prod(series.shape[axis] for axis in page_axes(series.axes))
        if one_page and n_pages == 1:
            size = page.imagelength, page.imagewidth
            n_channels = series.size // math.prod(size)
            check_memory(path, size, n_channels, np.dtype(series.dtype), bool(_alpha(n_channels, page)))
        white = None if stored else find_stated_white(file, series)
        if reads_by_itself(page):
            check_page_count(path, n_pages, one_page)
            return _with_white(upright_pages(series.asarray(), series, stored), white)
    if _needs_opencv(page):
        values = decode_opencv(path)
        check_page_count(path, len(values), one_page)
        return _with_white(
            Pages(values, white_of(values.dtype), None if stored else _alpha(_count_channels(values), page)), white
        )
    pages = decode_pillow(path, "TIFF", one_page, stored)
    return _with_white(_photometric_of_pillow(pages, page, stored), white)


def _needs_opencv(page: "tifffile.TiffPage") -> bool:
    """Whether Pillow would reduce colour to 8 bits, or drop a fourth channel that is not stated to be opacity."""
    is_deep = page.samplesperpixel > 1 and page.bitspersample > 8
    further = page.photometric == _RGB and page.samplesperpixel > 3
    return is_deep or (further and not set(page.extrasamples) & set(_ALPHAS))


def find_stated_white(file: "tifffile.TiffFile", series: "tifffile.TiffPageSeries") -> int | None:
    """Return the value of white that the metadata state, or None; inverted greys and palettes have their own."""
    return stated_white(file, series) if series.keyframe.photometric in (_MINISBLACK, _RGB) else None


def _with_white(pages: Pages, white: int | None) -> Pages:
    """Take the stated white, unless values beyond it show that the statement is wrong."""
    return pages if white is None or pages.colours.max() > white else pages._replace(white=white)


def _photometric_of_pillow(pages: Pages, page: "tifffile.TiffPage", stored: bool) -> Pages:
    """Undo or add what Pillow does by itself: it inverts white-is-zero greys of up to 8 bits, but not those of 16.

    Stored values also lose the factor by which it widens 2 and 4 bits to 8.
    """
    values = pages.values
    if page.photometric == _MINISWHITE and values.dtype.kind in "bu" and page.samplesperpixel == 1:
        inverted_by_pillow = values.dtype.itemsize == 1
        if stored == inverted_by_pillow:
            values = ~values
    if stored and values.dtype == np.uint8 and page.photometric in (_MINISWHITE, _MINISBLACK):
        values = narrow(values, page.bitspersample)
    # Pillow divides premultiplied colours by their opacity, so that what it calls opacity is always straight.
    alpha = pages.alpha if stored or _alpha(_count_channels(values), page) else None
    return pages._replace(values=values, alpha=alpha)


def find_series(path: Path, file: "tifffile.TiffFile", level: int = 0) -> "tifffile.TiffPageSeries":
    """Find the one image of a TIFF, of any dimensions, apart from its reduced copies (pyramids, thumbnails).

    With `level`, find that copy in the pyramid of the image instead.
    """
    _check_page_chain(file)
    series = [series for series in file.series if not series.keyframe.is_reduced]
    if not series:
        raise ValueError("no page found")
    levels = series[0].levels
    if not 0 <= level < len(levels):
        raise ImageError(f"image '{path}' has the levels 0 to {len(levels) - 1}; got {level}.")
    found, page = levels[level], levels[level].keyframe
    if found.size == 0:
        raise zero_size(path, page.imagelength, page.imagewidth)
    if isinstance(page.bitspersample, tuple):
        raise ImageError(
            f"image '{path}' has channels of different depths ({', '.join(map(str, page.bitspersample))} bits), "
            f"which cannot be read. Export it again with one depth."
        )
    _check_segments(page)
    if len(series) > 1:
        raise unequal_pages(path, found.shape, series[1].shape)
    return found


def check_unpacked_size(path: Path, series: "tifffile.TiffPageSeries") -> None:
    """Refuse pages that would unpack to many more pixels than their file is large."""
    page = series.keyframe
    if series.nbytes > path.stat().st_size and _too_many(page.imagelength * page.imagewidth):
        raise oversized(path)


def _check_segments(page: "tifffile.TiffPage") -> None:
    """Refuse a page that lacks strips or tiles, or has them in the header, where readers would find chance values.

    Also refuse a palette of other numbers than colours.
    """
    if page.photometric == _PALETTE and (page.colormap is None or page.colormap.dtype.str[1:] != "u2"):
        raise ValueError("its palette does not hold colours of 16 bits")
    offsets = tuple(page.dataoffsets)
    if len(offsets) < max(math.prod(page.chunked), page.shaped[0]) and not page.is_contiguous:
        raise ValueError("parts of its image are missing")
    if any(offset == 0 and n_bytes > 0 for offset, n_bytes in zip(offsets, page.databytecounts, strict=False)):
        raise ValueError("its image begins at its header")


def upright_pages(values: np.ndarray, series: "tifffile.TiffPageSeries", stored: bool) -> Pages:
    """Turn values of a series, or of a part of it with the same axes, into upright pages; `stored` as in `decode`."""
    values = _pages_first(values, series.axes)
    pages = Pages(values, None) if stored else _colours(values, series.keyframe)
    if not stored:
        pages = pages._replace(alpha=_alpha(_count_channels(pages.values), series.keyframe))
    return pages.turned(orientation_of(series.keyframe))


def _alpha(n_channels: int, page: "tifffile.TiffPage") -> str | None:
    """Tell what kind of opacity the last channel is, if the file says so and it is the only extra sample."""
    n_colours = {_MINISBLACK: 1, _RGB: 3}.get(page.photometric)
    extra = tuple(page.extrasamples) or (_STRAIGHT,)  # OpenCV writes opacity without saying so
    if n_channels != page.samplesperpixel or len(extra) != 1 or n_channels - 1 != n_colours:
        return None
    return _ALPHAS.get(int(extra[0]))


def _count_channels(values: np.ndarray) -> int:
    """Return the number of channels of pages."""
    return values.shape[-1] if values.ndim == 4 else 1


def orientation_of(page: "tifffile.TiffPage") -> int:
    """Read how the camera was held, 1 to 8; 1 is upright."""
    tag = page.tags.get(ORIENTATION_TAG)
    return tag.value if tag else 1


def _check_page_chain(file) -> None:
    """Check that the last page names no next one: tifffile only logs that a truncated file lost pages."""
    len(file.pages)  # walks to the last page
    file.filehandle.seek(file.pages.next_page_offset)
    if file.filehandle.read(file.tiff.offsetsize) != bytes(file.tiff.offsetsize):
        raise ValueError("pages are missing")


def reads_by_itself(page: "tifffile.TiffPage") -> bool:
    """Whether tifffile decodes such pages without further packages."""
    return (
        page.photometric in (_MINISWHITE, _MINISBLACK, _RGB, _PALETTE)
        and page.compression in _COMPRESSIONS
        and page.predictor != _FLOAT_PREDICTOR
        and (page.bitspersample == 1 or page.bitspersample >= 8)
    )


def _too_many(n_pixels: int) -> bool:
    """Apply the limit of Pillow to files that do not pass through Pillow."""
    from PIL import Image

    return Image.MAX_IMAGE_PIXELS is not None and n_pixels > 2 * Image.MAX_IMAGE_PIXELS


def page_axes(axes: str) -> list[int]:
    """List the axes that count pages: time, depth and others, but not rows, columns and channels."""
    return [axis for axis in range(len(axes)) if axis not in _image_axes(axes)]


def _image_axes(axes: str) -> list[int]:
    """List the axes of rows, columns and, if there are any, channels: samples, else the channels of a microscope."""
    channel = next((axes.index(letter) for letter in "SC" if letter in axes), None)
    return [axes.rindex("Y"), axes.rindex("X")] + ([] if channel is None else [channel])


def _pages_first(values: np.ndarray, axes: str) -> np.ndarray:
    """Bring any order of axes to (pages, h, w) or (pages, h, w, c)."""
    image, pages = _image_axes(axes), page_axes(axes)
    values = values.transpose(pages + image)
    values = values.reshape(-1, *values.shape[len(pages) :])
    return values[..., 0] if values.ndim == 4 and values.shape[-1] == 1 else values


def _colours(values: np.ndarray, page) -> Pages:
    """Convert palette indices to RGB (grey if the palette is) and inverted greys to greys."""
    if page.photometric == _PALETTE:
        # Writers widen 8-bit colours by 256 or by 257; the upper byte is the colour in both cases.
        palette = page.colormap.T >> 8
        is_grey = (palette == palette[:, :1]).all()
        return Pages((palette[:, 0] if is_grey else palette)[values.astype(np.intp)], 255)
    white = 2**page.bitspersample - 1 if values.dtype.kind in "bu" and page.bitspersample <= 16 else None
    if page.photometric == _MINISWHITE and white is not None:
        return Pages(~values if values.dtype == bool else (white - values).astype(values.dtype), white)
    return Pages(values, white)
