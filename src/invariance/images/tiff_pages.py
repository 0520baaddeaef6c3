"""Single pages of a TIFF, read without reading the whole file."""

import math
import threading
from pathlib import Path

import numpy as np

from invariance.images.decoding import decoding_errors
from invariance.images.layout import read_layout
from invariance.images.pages import Pages
from invariance.images.tiff import find_series, find_stated_white, page_axes, reads_by_itself, upright_pages


class TiffPages:
    """The pages of one TIFF as stored, turned upright; the file is open only while a page is read.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path):
        import tifffile

        self.path = path
        self._one_reader = threading.Lock()
        with tifffile.TiffFile(path) as self.file:
            self.series = find_series(path, self.file)
            self.layout = read_layout(self.file, self.series)
            self.stated_white = find_stated_white(self.file, self.series)
            self._offset = self.series.dataoffset  # None unless all values lie in the file as in memory

    @property
    def are_separable(self) -> bool:
        """Whether a page can be read by itself; if not, only `decode` reads the file."""
        decodable = reads_by_itself(self.series.keyframe) and self.series.transform is None
        return decodable and (self._offset is not None or self._n_outer_axes is not None)

    def __getitem__(self, number: int) -> Pages:
        """One page, with a leading axis of 1."""
        with decoding_errors(self.path, "TIFF"), self._one_reader, self.file.filehandle as handle:
            handle.open()
            index = self._index_of(number)
            values = self._decoded(index) if self._offset is None else self._copied(index, self._offset)
            return upright_pages(values, self.series, stored=False)

    def _index_of(self, number: int) -> tuple[slice, ...]:
        """Return the index of a page in the array of the series."""
        counted = page_axes(self.series.axes)
        places = np.unravel_index(number, [self.series.shape[axis] for axis in counted])
        index = [slice(None)] * self.series.ndim
        for axis, place in zip(counted, places, strict=True):
            index[axis] = slice(place, place + 1)
        return tuple(index)

    def _copied(self, index: tuple[slice, ...], offset: int) -> np.ndarray:
        """Copy a page out of a file whose values lie on disk as in memory."""
        stored = np.dtype(self.series.dtype).newbyteorder(self.file.byteorder)
        values = np.memmap(self.path, stored, "r", offset, self.series.shape)
        return np.array(values[index], self.series.dtype)

    def _decoded(self, index: tuple[slice, ...]) -> np.ndarray:
        """Decode the frames (what TIFF calls pages) that hold a page, and cut the page out of them.

        Usually one frame; one per channel if channels are stored separately.
        """
        n_outer, shape = self._n_outer_axes, self.series.shape
        numbers = np.arange(len(self.series)).reshape(shape[:n_outer])[index[:n_outer]]
        frames = [self._frame(int(number)) for number in numbers.flat]
        within = (*(slice(None) for _ in range(numbers.ndim)), *index[n_outer:])
        return np.stack(frames).reshape(*numbers.shape, *shape[n_outer:])[within]

    def _frame(self, number: int) -> np.ndarray:
        """Decode one frame."""
        frame = self.series[number]
        if frame is None:  # an OME file may lack some; tifffile makes them black
            return np.zeros(self.series.keyframe.shape, self.series.dtype)
        return frame.asarray()

    @property
    def _n_outer_axes(self) -> int | None:
        """The number of leading axes of the series that count frames; None if frames do not make up the array."""
        shape, n_frames = self.series.shape, len(self.series)
        if n_frames * self.series.keyframe.size != self.series.size:
            return None
        return next((n for n in range(len(shape)) if math.prod(shape[:n]) == n_frames), None)
