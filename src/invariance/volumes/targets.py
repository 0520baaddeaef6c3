"""The store of a result: groups and arrays of OME-Zarr, made before any work, into which blocks are written once."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

ZARR_FORMATS: dict[str, Literal[2, 3]] = {"0.4": 2, "0.5": 3}


class Levels(NamedTuple):
    """The arrays of a pyramid.

    Attributes
    ----------
    group : str
        Its group in the store, "" for the root.
    shapes : list of tuple of int
        The shape of every level.
    chunks, block : tuple of int
        Of all levels; with shards, a block is a shard.
    dtype : str
    """

    group: str
    shapes: list[tuple[int, ...]]
    chunks: tuple[int, ...]
    block: tuple[int, ...]
    dtype: str

    def path(self, level: int) -> str:
        """Return the name of a level in the store."""
        return f"{self.group}/{level}" if self.group else str(level)


def halve_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the shape of the next level: half as high and wide; other axes stay, as sections are far apart."""
    return (*shape[:-2], *(-(-length // 2) for length in shape[-2:]))


def plan_levels(shape: tuple[int, ...], smallest: int) -> list[tuple[int, ...]]:
    """Return the shapes of all levels, until one fits into a square of so many pixels per side."""
    shapes = [tuple(shape)]
    while max(shapes[-1][-2:]) > smallest:
        shapes.append(halve_shape(shapes[-1]))
    return shapes


def make_group(store: Path, group: str, attributes: dict[str, Any], version: str) -> None:
    """Make a group in a store, or open it, and add attributes."""
    import zarr

    zarr.open_group(store, path=group, mode="a", zarr_format=ZARR_FORMATS[version]).attrs.update(attributes)


def make_arrays(store: Path, levels: Levels, axes: str, version: str) -> None:
    """Make the arrays of a pyramid that do not exist; nothing is ever emptied."""
    import zarr
    from numcodecs import Blosc

    for level, shape in enumerate(levels.shapes):
        if any((store / levels.path(level) / name).is_file() for name in (".zarray", "zarr.json")):
            continue
        is_old = version == "0.4"
        zarr.create_array(
            store,
            name=levels.path(level),
            shape=shape,
            dtype=levels.dtype,
            chunks=levels.chunks,
            shards=None if is_old else levels.block,
            zarr_format=ZARR_FORMATS[version],
            # The compression that programs for Zarr 2 read without further packages.
            compressors=[Blosc(cname="lz4", clevel=5, shuffle=Blosc.NOSHUFFLE)] if is_old else "auto",
            chunk_key_encoding={"name": "v2", "separator": "/"} if is_old else None,
            dimension_names=None if is_old else tuple(axes),
            fill_value=0,
        )


def write_block(store: Path, name: str, place: tuple[slice, ...], values: np.ndarray) -> None:
    """Write a block of whole chunks, and wait until it is on the disk."""
    import zarr

    array = zarr.open_array(store, path=name, mode="r+")
    array[place] = values
    stored = array.shards or array.chunks
    for number in np.ndindex(
        *(-(-part.stop // side) - part.start // side for part, side in zip(place, stored, strict=True))
    ):
        chunk = tuple(part.start // side + one for part, side, one in zip(place, stored, number, strict=True))
        _flush(store / name / array.metadata.encode_chunk_key(chunk))


def read_block(store: Path, name: str, place: tuple[slice, ...]) -> np.ndarray:
    """Read a block of an array of the store."""
    import zarr

    return np.asarray(zarr.open_array(store, path=name, mode="r")[place])


def _flush(file: Path) -> None:
    """Wait until a chunk is on the disk; a chunk of zeros is not stored."""
    try:
        handle = os.open(file, os.O_RDONLY)
    except FileNotFoundError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
