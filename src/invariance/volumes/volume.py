"""What a volume is: sections of one size along further axes, any part of which can be read by itself."""

import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import numpy as np

# What a section and a volume may have, far beyond any microscope: larger ones are forged, and would never end.
MAX_SECTION_PIXELS, MAX_PIXELS = 2**36, 2**50


class VolumeError(ValueError):
    """A file or folder that cannot be read as a volume."""


def check_size(path: Path, shape: tuple[int, ...]) -> None:
    """Refuse a shape (..., y, x) that no volume has."""
    if min(shape) < 1:
        raise VolumeError(f"'{path}' has no pixels: its shape is {tuple(shape)}.")
    if math.prod(shape[-2:]) > MAX_SECTION_PIXELS or math.prod(shape) > MAX_PIXELS:
        raise VolumeError(f"'{path}' states the shape {tuple(shape)}, which no volume has. It is damaged or hostile.")


@dataclass(frozen=True, eq=False)
class Volume:
    """Sections of an image file, a folder or a Zarr store, read when they are needed. Made by `open_volume`.

    Attributes
    ----------
    path : Path
        The file, folder or store.
    axes : str
        The axes without channels: "yx" for one image, "zyx" for a stack, "tzyx" for stacks over time.
    shape : tuple of int
        Their lengths.
    n_channels : int or None
        The number of channels; None if the sections have no axis for them.
    dtype : dtype
    pixel_size : tuple of float
        Distance of neighbouring pixels along every axis, in its unit.
    units : tuple of (str or None)
        The unit of every axis, by its name in OME: "nanometer".
    level : int
        The resolution level; 0 is full resolution.
    channel : int or None
        The one channel that is read; None reads all.
    identity : str
        Changes when the pixels may have changed: sizes and times of files, or the metadata of a store.
    """

    path: Path
    axes: str
    shape: tuple[int, ...]
    n_channels: int | None
    dtype: np.dtype
    pixel_size: tuple[float, ...]
    units: tuple[str | None, ...]
    level: int
    channel: int | None
    identity: str
    _read: Callable[[tuple[int, ...], slice, slice], np.ndarray] = field(repr=False)
    _is_stored: Callable[[tuple[int, ...]], bool] = field(repr=False, default=lambda index: True)

    @property
    def section_shape(self) -> tuple[int, ...]:
        """The shape of a section, (h, w) or (h, w, c)."""
        return self.shape[-2:] if self.n_channels is None else (*self.shape[-2:], self.n_channels)

    def indices(self) -> Iterator[tuple[int, ...]]:
        """Yield the index of every section along the axes before y."""
        return product(*map(range, self.shape[:-2]))

    def section(self, index: tuple[int, ...]) -> "Section":
        """Return a section, of which only what is sliced is read."""
        return Section(self, index)

    def is_stored(self, index: tuple[int, ...]) -> bool:
        """Tell whether any pixel of a section is stored; pixels that are not stored are 0."""
        return self._is_stored(index)

    def __reduce__(self):
        from invariance.volumes.opening import open_volume

        return open_volume, (self.path, self.level, self.channel)  # another process opens the file by itself


class Section:
    """One section of a volume, (h, w) or (h, w, c), as an array that is read in parts."""

    def __init__(self, volume: Volume, index: tuple[int, ...]):
        self._volume, self._index = volume, index
        self.shape, self.dtype = volume.section_shape, volume.dtype

    def __getitem__(self, place: tuple[slice, slice]) -> np.ndarray:
        rows, cols = place
        return self._volume._read(self._index, rows, cols)

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        return np.array(self[:, :], dtype)


def identify(path: Path) -> str:
    """Return the name, size and time of a file, as far as they show that it has changed."""
    status = os.stat(path)
    return f"{path.name} {status.st_size} {status.st_mtime_ns}"


class ReadOnce:
    """A section of which a part is read at once and kept, since tiles overlap; the rest is read when it is needed.

    Parameters
    ----------
    section : Section
    rows, cols : slice
        The part, with starts and stops; what lies outside of the section is left out.
    """

    def __init__(self, section: Section, rows: slice, cols: slice):
        self._section = section
        self.shape, self.dtype = section.shape, section.dtype
        self._rows, self._cols = (
            slice(max(0, part.start), min(part.stop, length))
            for part, length in zip((rows, cols), self.shape, strict=False)
        )
        self._part = np.asarray(section[self._rows, self._cols])

    def __getitem__(self, place: tuple[slice, slice]) -> np.ndarray:
        rows, cols = (slice(*part.indices(length)[:2]) for part, length in zip(place, self.shape, strict=False))
        if _holds(self._rows, rows) and _holds(self._cols, cols):
            top, left = self._rows.start, self._cols.start
            return self._part[rows.start - top : rows.stop - top, cols.start - left : cols.stop - left]
        return self._section[rows, cols]

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        return np.array(self[:, :], dtype)


def _holds(outer: slice, inner: slice) -> bool:
    return outer.start <= inner.start and inner.stop <= outer.stop
