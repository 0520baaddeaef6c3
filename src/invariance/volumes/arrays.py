"""Stored arrays with named axes as volumes: what Zarr and HDF5 have in common."""

from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from invariance.volumes.volume import Volume, VolumeError, check_size

AXES = "tczyx"
# Axes of plain arrays by their number, if the file does not name them; channels last are red, green, blue (and alpha).
GUESSED_AXES = {2: "yx", 3: "zyx", 4: "tzyx", 5: "tczyx"}
COLOUR_CHANNELS = (3, 4)
# What one chunk may unpack to (our choice); a whole one is in memory for every pixel that is read of it.
MAX_CHUNK_BYTES, MAX_CHANNELS = 2**28, 4096


class Stored(NamedTuple):
    """An array (with `shape` and `dtype`), the letters of its axes, and the size and unit of a pixel along each."""

    array: Any
    axes: str
    pixel_size: tuple[float, ...]
    units: tuple[str | None, ...]


def are_axes(letters: str, n_axes: int) -> bool:
    """Tell whether letters name the axes of an array: y, x, and others at most once."""
    return len(letters) == len(set(letters)) == n_axes and set("yx") <= set(letters) <= set(AXES)


def guess_axes(shape: tuple[int, ...]) -> str:
    """Name the axes of an array by their number; "" if it has no image."""
    if len(shape) in (3, 4) and shape[-1] in COLOUR_CHANNELS:
        return "zyxc"[4 - len(shape) :]
    return GUESSED_AXES.get(len(shape), "")


def chunks_of(place: tuple[Any, ...], shape: tuple[int, ...], chunks: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield the numbers of the chunks that a part of an array meets; `place` has an int or a slice per axis."""
    ranges = []
    for part, length, side in zip(place, shape, chunks, strict=True):
        start, stop = part.indices(length)[:2] if isinstance(part, slice) else (part, part + 1)
        ranges.append(range(start // side, -(-stop // side)))
    return product(*ranges)


def volume_of_array(
    path: Path,
    stored: Stored,
    level: int,
    channel: int | None,
    identity: str,
    read: Callable[[tuple[Any, ...]], np.ndarray],
    chunks: tuple[int, ...] | None,
    files: tuple[int, ...] | None,
    is_file_stored: Callable[[tuple[int, ...]], bool] | None,
) -> Volume:
    """Make the volume of an array, after checking what its metadata say.

    Parameters
    ----------
    path : Path
    stored : Stored
    level : int
    channel : int or None
    identity : str
    read : callable (place) -> ndarray
        Reads a part of the array; `place` has an int or a slice per axis.
    chunks : tuple of int or None
        Shape of what is read and unpacked at once; None if any part can be read by itself.
    files : tuple of int or None
        Shape of what is stored or left out together: a chunk, or a shard of several.
    is_file_stored : callable (number) -> bool or None
        Tells whether such a part is stored, by its number along every axis; pixels of others are 0. None if all are.
    """
    lengths = dict(zip(stored.axes, stored.array.shape, strict=True))
    n_channels = lengths.get("c")
    _check_array(path, stored, chunks)
    if channel is not None and not 0 <= channel < (n_channels or 1):
        raise VolumeError(f"'{path}' has {n_channels or 1} channels, counted from 0; got channel {channel}.")
    is_one = n_channels is not None and (channel is not None or n_channels == 1)
    kept = [place for place, axis in enumerate(stored.axes) if axis != "c"]
    axes = "".join(stored.axes[place] for place in kept)
    native = stored.array.dtype.newbyteorder("=")
    channel_place = "".join(axis for axis in stored.axes if axis in "cyx").find("c")

    def read_part(index: tuple[int, ...], rows: slice, cols: slice) -> np.ndarray:
        place: dict[str, Any] = dict(zip(axes, (*index, rows, cols), strict=True))
        if n_channels is not None:
            place["c"] = (channel or 0) if is_one else slice(None)
        part = read(tuple(place[axis] for axis in stored.axes)).astype(native, copy=False)
        return np.moveaxis(part, channel_place, -1) if part.ndim == 3 else part

    def is_stored(index: tuple[int, ...]) -> bool:
        if is_file_stored is None or files is None:
            return True
        sides = dict(zip(stored.axes, files, strict=True))
        fixed = {axis: (one // sides[axis],) for axis, one in zip(axes, index, strict=False)}
        ranges = [fixed.get(axis, range(-(-lengths[axis] // sides[axis]))) for axis in stored.axes]
        return any(map(is_file_stored, product(*ranges)))

    return Volume(
        path=path,
        axes=axes,
        shape=tuple(lengths[axis] for axis in axes),
        n_channels=None if n_channels is None or is_one else n_channels,
        dtype=native,
        pixel_size=tuple(stored.pixel_size[place] for place in kept),
        units=tuple(stored.units[place] for place in kept),
        level=level,
        channel=channel,
        identity=identity,
        _read=read_part,
        _is_stored=is_stored,
    )


def _check_array(path: Path, stored: Stored, chunks: tuple[int, ...] | None) -> None:
    """Refuse arrays that are no images, and chunks that are too large to read."""
    if stored.array.dtype.kind not in "biuf":
        raise VolumeError(f"'{path}' holds {stored.array.dtype}; images hold real numbers.")
    if stored.axes.replace("c", "")[-2:] != "yx":
        raise VolumeError(f"the axes of '{path}' are {stored.axes}; y and x must be the last ones besides channels.")
    lengths = dict(zip(stored.axes, stored.array.shape, strict=True))
    check_size(path, tuple(lengths[axis] for axis in stored.axes if axis != "c"))
    if not 0 < lengths.get("c", 1) <= MAX_CHANNELS:
        raise VolumeError(f"'{path}' has {lengths['c']} channels; a volume has 1 to {MAX_CHANNELS}.")
    n_bytes = stored.array.dtype.itemsize
    for side in chunks or (0,):
        n_bytes *= int(side)
    if n_bytes > MAX_CHUNK_BYTES:
        raise VolumeError(
            f"'{path}' has chunks of {n_bytes / 1e9:.1f} GB, which must be read whole; the limit is "
            f"{MAX_CHUNK_BYTES / 1e9:.1f} GB. Store it in smaller ones."
        )
