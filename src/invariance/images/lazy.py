"""Stacks larger than memory: the pages of a file, each read when it is needed."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from invariance.images.decoding import decoding_errors, format_name
from invariance.images.intensities import black_and_white, in_unit_range
from invariance.images.layout import Layout
from invariance.images.reading import read_stack
from invariance.images.tiff_pages import TiffPages


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
    """

    path: Path
    shape: tuple[int, ...]
    layout: Layout
    _read: Callable[[int], np.ndarray] = field(repr=False)

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

    def __reduce__(self):
        return open_stack, (self.path,)  # another process opens the file by itself


def open_stack(path: str | os.PathLike) -> LazyStack:
    """Open the pages of an image file without reading them all.

    TIFFs in encodings that tifffile decodes without further packages are read one page at a time; other files are
    decoded whole, because their decoders do so anyway.

    Parameters
    ----------
    path : str or path-like

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
            pages = TiffPages(path)
            separable = pages.are_separable
        if separable:
            return _stack_of(pages)
        layout = pages.layout
    stack = read_stack(path)
    return LazyStack(path, stack.shape, layout.of_pages(len(stack)), stack.__getitem__)


def _stack_of(pages: TiffPages) -> LazyStack:
    """Make the stack of a TIFF whose pages can be read one at a time."""
    n_pages, first = pages.layout.n_pages, pages[0]
    extremes = None
    if first.white is None:
        extremes = black_and_white(pages.path, (pages[number] for number in range(n_pages)))
    # One white for all pages: the stated one only if no page holds more.
    white = first.white
    if pages.stated_white is not None and white is not None:
        largest = max(int(pages[number].colours.max()) for number in range(n_pages))
        white = pages.stated_white if largest <= pages.stated_white else white

    def read(number: int) -> np.ndarray:
        return in_unit_range(pages[number]._replace(white=white), extremes)[0]

    return LazyStack(pages.path, (n_pages, *first.colours.shape[1:]), pages.layout, read)
