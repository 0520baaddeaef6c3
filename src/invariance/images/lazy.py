"""Stacks larger than memory: the pages of a file, each read when it is needed."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import numpy as np

from invariance.images.decoding import decoding_errors, format_name
from invariance.images.intensities import black_and_white, in_unit_range
from invariance.images.layout import Layout
from invariance.images.pages import ImageError, Pages
from invariance.images.reading import read_stack
from invariance.images.tiff import check_unpacked_size
from invariance.images.tiff_pages import TiffPages

BAND_ROWS = 512  # of a region with a step that are in memory at a time (our choice)


@dataclass(frozen=True, eq=False)
class LazyStack:
    """The pages of an image file as `read_stack` returns them, each read when it is indexed.

    `stack[i]` is float32 in [0, 1], (h, w) or (h, w, c); a slice is an array of pages. No file stays open, and threads
    can read at the same time. Made by `open_stack`.

    Attributes
    ----------
    path : Path
    shape : tuple of int
        (pages, h, w) or (pages, h, w, c).
    layout : Layout
        How the pages are arranged, and the size of a pixel.
    level : int
        The level of a pyramid; 0 is full resolution.
    """

    path: Path
    shape: tuple[int, ...]
    layout: Layout
    _read: Callable[[int], np.ndarray] = field(repr=False)
    _read_region: Callable[[int, slice, slice], np.ndarray] | None = field(repr=False, default=None)
    level: int = 0

    @property
    def ndim(self) -> int:
        """The number of axes: 3 for grey pages, 4 for pages with channels."""
        return len(self.shape)

    @property
    def dtype(self) -> np.dtype:
        """The dtype of every page, float32."""
        return np.dtype(np.float32)

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[np.ndarray]:
        return map(self._read, range(len(self)))

    def __getitem__(self, index: int | slice) -> np.ndarray:
        if isinstance(index, slice):
            chosen = range(len(self))[index]
            pages = np.empty((len(chosen), *self.shape[1:]), dtype=self.dtype)
            for page, number in zip(pages, chosen, strict=True):
                page[...] = self._read(number)
            return pages
        try:
            number = range(len(self))[index]
        except IndexError:
            raise IndexError(f"image '{self.path}' has {len(self)} pages; there is no page {index}.") from None
        return self._read(number)

    @property
    def is_by_region(self) -> bool:
        """Whether `region` reads less than whole pages."""
        return self._read_region is not None

    def region(self, number: int, rows: slice, cols: slice) -> np.ndarray:
        """Return `stack[number][rows, cols]`; if the pages are read by region, only that part of the page is read."""
        if self._read_region is None:
            return self[number][rows, cols]
        (top, bottom, step), (left, right, across) = (
            part.indices(length) for part, length in zip((rows, cols), self.shape[1:3], strict=True)
        )
        if step < 1 or across < 1:
            raise ValueError(f"the steps of a region must be positive; got {rows} and {cols}.")
        if top >= bottom or left >= right:
            return np.empty(
                (len(range(top, bottom, step)), len(range(left, right, across)), *self.shape[3:]), self.dtype
            )
        # With a step, band by band: what is skipped is not kept.
        n_rows = bottom - top if step == 1 else step * max(1, BAND_ROWS // step)
        parts = [
            self._read_region(number, slice(start, min(start + n_rows, bottom)), slice(left, right))[::step, ::across]
            for start in range(top, bottom, n_rows)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def __reduce__(self):
        # Another process opens the file by itself.
        return _reopen, (self.path, self.level, self.is_by_region)


def _reopen(path: Path, level: int, regions: bool) -> LazyStack:
    return open_stack(path, level=level, regions=regions)


def open_stack(path: str | os.PathLike, *, level: int = 0, regions: bool = False) -> LazyStack:
    """Open the pages of an image file without reading them all.

    TIFFs in encodings that tifffile decodes without further packages are read one page at a time; other files are
    decoded whole, because their decoders do so anyway.

    Parameters
    ----------
    path : str or path-like
    level : int, default=0
        The level of a pyramid in a TIFF; 0 is full resolution.
    regions : bool, default=False
        Whether pages larger than memory are allowed, of which `LazyStack.region` reads parts: large pages of a TIFF
        whose strips or tiles tifffile decodes without further packages.

    Returns
    -------
    stack : LazyStack
        Intensities are those of `read_stack`. If the file format does not define white, one pass over the pages finds
        the smallest and the largest value.
    """
    path = Path(path)
    layout = Layout()
    if format_name(path) == "TIFF":
        with decoding_errors(path, "TIFF"):
            pages = TiffPages(path, level, regions)
            separable = pages.are_separable
        if separable:
            return _stack_of(pages, level)
        layout = pages.layout
    if level != 0:
        raise ImageError(f"of image '{path}', only level 0 can be read; got {level}.")
    stack = read_stack(path)
    return LazyStack(path, stack.shape, layout.of_pages(len(stack)), stack.__getitem__)


def _stack_of(pages: TiffPages, level: int) -> LazyStack:
    """Make the stack of a TIFF whose pages can be read one at a time, or by region."""
    n_pages, first = pages.layout.n_pages, next(pages.bands(0))
    extremes = None
    if first.white is None:
        extremes = black_and_white(pages.path, chain.from_iterable(map(pages.bands, range(n_pages))))
    # One white for all pages: the stated one only if no page holds more.
    white = first.white
    if pages.stated_white is not None and white is not None:
        largest = max(int(band.colours.max()) for number in range(n_pages) for band in pages.bands(number))
        white = pages.stated_white if largest <= pages.stated_white else white

    def scaled(part: Pages) -> np.ndarray:
        return in_unit_range(part._replace(white=white), extremes)[0]

    def read(number: int) -> np.ndarray:
        if pages.by_region:
            check_unpacked_size(pages.path, pages.series)
        return scaled(pages[number])

    def read_region(number: int, rows: slice, cols: slice) -> np.ndarray:
        return scaled(pages.region(number, rows, cols))

    height, width, *channels = first.colours.shape[1:]
    if pages.by_region:
        height, width = pages.size
    return LazyStack(
        pages.path,
        (n_pages, height, width, *channels),
        pages.layout,
        read,
        read_region if pages.by_region else None,
        level,
    )
