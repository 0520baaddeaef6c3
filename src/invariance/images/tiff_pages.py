"""Single pages of a TIFF, and regions of large ones, read without reading the whole file."""

import math
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from invariance.images.decoding import decoding_errors
from invariance.images.layout import read_layout
from invariance.images.pages import Pages
from invariance.images.tiff import (
    check_unpacked_size,
    find_series,
    find_stated_white,
    orientation_of,
    page_axes,
    reads_by_itself,
    upright_pages,
)
from invariance.images.tiff_regions import has_regions, read_region, region_shape

# A page of more bytes as stored is read by regions where that is possible; it is passed through in bands of so many.
MAX_WHOLE_BYTES = 2**25


class TiffPages:
    """The pages of one TIFF as stored, turned upright; the file is open only while a page is read.

    Parameters
    ----------
    path : Path
    level : int, default=0
        The level of a pyramid; 0 is full resolution.
    regions : bool, default=False
        Whether pages may be larger than memory, as far as regions of them can be read.

    Attributes
    ----------
    by_region : bool
        Whether pages are read by regions, because they are large.
    """

    def __init__(self, path: Path, level: int = 0, regions: bool = False):
        import tifffile

        self.path = path
        self._one_reader = threading.Lock()
        with tifffile.TiffFile(path) as self.file:
            self.series = find_series(path, self.file, level)
            self.layout = read_layout(self.file, self.series)
            self.stated_white = find_stated_white(self.file, self.series)
            self._offset = self.series.dataoffset  # None unless all values lie in the file as in memory
            self.by_region = regions and self._are_large and self._have_regions
            if not self.by_region:
                check_unpacked_size(path, self.series)

    @property
    def are_separable(self) -> bool:
        """Whether a page can be read by itself; if not, only `decode` reads the file."""
        decodable = reads_by_itself(self.series.keyframe) and self.series.transform is None
        return decodable and (self._offset is not None or self._n_outer_axes is not None)

    @property
    def size(self) -> tuple[int, int]:
        """The height and width of a page as stored."""
        return self.series.keyframe.imagelength, self.series.keyframe.imagewidth

    @property
    def _are_large(self) -> bool:
        return self.series.nbytes // max(1, self.layout.n_pages) > MAX_WHOLE_BYTES

    @property
    def _have_regions(self) -> bool:
        """Whether regions equal those of whole pages, in the plain cases: upright, with frames as the series says."""
        page, axes = self.series.keyframe, self.series.axes
        if not self.are_separable or orientation_of(page) != 1 or axes.count("Y") != 1 or axes.count("X") != 1:
            return False
        if self._offset is not None:
            return True
        return has_regions(page) and self.series.shape[self._n_outer_axes :] == page.shape

    def __getitem__(self, number: int) -> Pages:
        """One page, with a leading axis of 1."""
        return self.region(number, None, None)

    def region(self, number: int, rows: slice | None, cols: slice | None) -> Pages:
        """Read a region of a page, with a leading axis of 1.

        Parameters
        ----------
        number : int
            The page.
        rows, cols : slice or None
            With starts and stops inside the page, if pages are read `by_region`; None for all.

        Returns
        -------
        pages : Pages
        """
        with decoding_errors(self.path, "TIFF"), self._one_reader, self.file.filehandle as handle:
            handle.open()
            index = self._index_of(number, rows or slice(None), cols or slice(None))
            values = self._decoded(index) if self._offset is None else self._copied(index, self._offset)
            return upright_pages(values, self.series, stored=False)

    def bands(self, number: int) -> Iterator[Pages]:
        """Yield a page in bands of rows that are small, or whole if pages are not read by region."""
        if not self.by_region:
            yield self[number]
            return
        height, width = self.size
        n_rows = max(1, MAX_WHOLE_BYTES * height * self.layout.n_pages // self.series.nbytes)
        for top in range(0, height, n_rows):
            yield self.region(number, slice(top, min(top + n_rows, height)), slice(0, width))

    def _index_of(self, number: int, rows: slice, cols: slice) -> tuple[slice, ...]:
        """Return the index of a region of a page in the array of the series."""
        counted = page_axes(self.series.axes)
        places = np.unravel_index(number, [self.series.shape[axis] for axis in counted])
        index = [slice(None)] * self.series.ndim
        for axis, place in zip(counted, places, strict=True):
            index[axis] = slice(place, place + 1)
        index[self.series.axes.rindex("Y")], index[self.series.axes.rindex("X")] = rows, cols
        return tuple(index)

    def _copied(self, index: tuple[slice, ...], offset: int) -> np.ndarray:
        """Copy a page out of a file whose values lie on disk as in memory."""
        stored = np.dtype(self.series.dtype).newbyteorder(self.file.byteorder)
        values = np.memmap(self.path, stored, "r", offset, self.series.shape)
        return np.array(values[index], self.series.dtype)

    def _decoded(self, index: tuple[slice, ...]) -> np.ndarray:
        """Decode the frames (what TIFF calls pages) that hold a page, and cut the region out of them.

        Usually one frame; one per channel if channels are stored separately. Of large ones, only the region is decoded.
        """
        n_outer = self._n_outer_axes
        numbers = np.arange(len(self.series)).reshape(self.series.shape[:n_outer])[index[:n_outer]]
        inner = index[n_outer:]
        frames = [
            self._frame_region(int(number), inner) if self.by_region else self._frame(int(number))[inner]
            for number in numbers.flat
        ]
        return np.stack(frames).reshape(*numbers.shape, *frames[0].shape)

    def _frame(self, number: int) -> np.ndarray:
        """Decode one frame."""
        frame, shape = self.series[number], self.series.shape[self._n_outer_axes :]
        if frame is None:  # an OME file may lack some; tifffile makes them black
            return np.zeros(shape, self.series.dtype)
        return frame.asarray().reshape(shape)

    def _frame_region(self, number: int, index: tuple[slice, ...]) -> np.ndarray:
        """Decode a region of one frame."""
        frame, page = self.series[number], self.series.keyframe
        rows, cols = (
            slice(*index[page.axes.index(axis)].indices(length)[:2])
            for axis, length in zip("YX", self.size, strict=True)
        )
        if frame is None:
            region = np.zeros(
                (page.shaped[0], rows.stop - rows.start, cols.stop - cols.start, page.shaped[4]), page.dtype
            )
        else:
            region = read_region(self.path, frame, rows, cols)
        return region.reshape(region_shape(page, region))

    @property
    def _n_outer_axes(self) -> int | None:
        """The number of leading axes of the series that count frames; None if frames do not make up the array."""
        shape, n_frames = self.series.shape, len(self.series)
        if n_frames * self.series.keyframe.size != self.series.size:
            return None
        return next((n for n in range(len(shape)) if math.prod(shape[:n]) == n_frames), None)
