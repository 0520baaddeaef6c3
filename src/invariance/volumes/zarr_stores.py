"""Zarr stores as volumes: OME-Zarr 0.4 and 0.5 with their axes and levels, and plain arrays.

The metadata of a store come from a stranger: what they say is checked before it is used, with one sentence each.
"""

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from invariance.volumes.arrays import AXES, GUESSED_AXES, Stored, are_axes, chunks_of, guess_axes, volume_of_array
from invariance.volumes.volume import Volume, VolumeError
from invariance.volumes.zarr_checks import check_children, check_chunk, check_codecs, check_metadata

MARKERS = (".zarray", ".zgroup", "zarr.json")
CURE = "Convert it to OME-Zarr 0.4 or 0.5, or name one of its arrays."


def is_zarr(path: Path) -> bool:
    """Tell whether a folder is a Zarr array or group."""
    return path.is_dir() and any((path / name).is_file() for name in MARKERS)


def open_zarr(path: Path, level: int, channel: int | None) -> Volume:
    """Open an image of a store at one of its levels."""
    with _one_line(path):
        stored = _find_array(path, level)
        check_codecs(path, stored.array)
    array = stored.array
    folder, files = path / array.path, array.shards or array.chunks

    def file_of(number: tuple[int, ...]) -> Path:
        return folder / array.metadata.encode_chunk_key(number)

    def read(place: tuple[Any, ...]) -> np.ndarray:
        with _one_line(path):
            for number in chunks_of(place, array.shape, files):
                n_bytes = math.prod(files) * array.dtype.itemsize
                check_chunk(file_of(number), n_bytes, is_shard=array.shards is not None)
            return np.asarray(array[place])

    return volume_of_array(
        path,
        stored,
        level,
        channel,
        identity=json.dumps([stored.axes, array.shape, str(array.dtype), str(array.path)]),
        read=read,
        chunks=array.chunks,
        files=files,
        is_file_stored=(lambda number: file_of(number).exists()) if array.fill_value == 0 else None,
    )


def _find_array(path: Path, level: int) -> Stored:
    """Find the array of a level, by the metadata of OME if there are any."""
    import zarr

    check_metadata(path)
    node: Any = zarr.open(path, mode="r")
    if isinstance(node, zarr.Array):
        if level != 0:
            raise VolumeError(f"'{path}' is a single array, with level 0 only; got {level}. Omit it.")
        return _as_plain(path, node)
    attributes = dict(node.attrs)
    if "bioformats2raw.layout" in attributes and (path / "0").is_dir():
        check_metadata(path / "0")
        node = node["0"]
        attributes = dict(node.attrs)
    ome = attributes.get("ome", attributes)
    multiscales = ome.get("multiscales") if isinstance(ome, dict) else None
    if not isinstance(multiscales, list) or not multiscales or not isinstance(multiscales[0], dict):
        check_children(path / node.path)
        arrays = sorted(name for name, _ in node.arrays())
        if len(arrays) == 1 and level == 0:
            return _as_plain(path, node[arrays[0]])
        raise VolumeError(f"'{path}' has no metadata of OME-Zarr and {len(arrays)} arrays. {CURE}")
    return _read_level(path, node, multiscales[0], level)


def _read_level(path: Path, group: Any, multiscale: dict, level: int) -> Stored:
    """Read the array of a level and its scale."""
    datasets = multiscale.get("datasets")
    if not isinstance(datasets, list) or not all(isinstance(one, dict) and "path" in one for one in datasets):
        raise VolumeError(f"the metadata of '{path}' list no datasets. {CURE}")
    if not 0 <= level < len(datasets):
        raise VolumeError(f"'{path}' has the levels 0 to {len(datasets) - 1}; got {level}.")
    name = str(datasets[level]["path"])
    parts = name.split("/")
    if ".." in parts or "\0" in name or name.startswith("/"):
        raise VolumeError(f"the metadata of '{path}' name the dataset '{name}', which is not in it. {CURE}")
    for n_parts in range(len(parts)):
        check_metadata(Path(path, group.path, *parts[: n_parts + 1]))
    if name not in group or not hasattr(group[name], "shape"):
        raise VolumeError(f"the metadata of '{path}' name the dataset '{name}', which is not in it. {CURE}")
    array = group[name]
    axes, units = _read_axes(path, multiscale.get("axes"), len(array.shape))
    scale = np.ones(len(axes))
    for part in (multiscale, datasets[level]):
        scale = scale * _read_scale(part.get("coordinateTransformations"), len(axes))
    return Stored(array, axes, tuple(scale.tolist()), units)


def _read_axes(path: Path, stated: Any, n_axes: int) -> tuple[str, tuple[str | None, ...]]:
    """Read the letters and units of the axes."""
    if not isinstance(stated, list):
        return GUESSED_AXES.get(n_axes, ""), (None,) * n_axes
    named = [axis if isinstance(axis, dict) else {"name": axis} for axis in stated]
    letters = "".join(str(axis.get("name", "?")).lower() for axis in named)
    if len(named) != n_axes or not are_axes(letters, n_axes):
        raise VolumeError(f"the axes of '{path}' are {letters}, for an array of {n_axes}; they must be among {AXES}.")
    units = tuple(unit if isinstance(unit := axis.get("unit"), str) else None for axis in named)
    return letters, units


def _read_scale(stated: Any, n_axes: int) -> np.ndarray:
    """Read the size of a pixel; 1 where it is not stated or not plausible."""
    for transformation in stated if isinstance(stated, list) else ():
        scale = transformation.get("scale") if isinstance(transformation, dict) else None
        if not isinstance(scale, list) or len(scale) != n_axes:
            continue
        if all(isinstance(one, int | float) and 0 < one < float("inf") for one in scale):
            return np.array(scale, float)
    return np.ones(n_axes)


def _as_plain(path: Path, array: Any) -> Stored:
    """Name the axes of an array without metadata of OME."""
    n_axes = len(array.shape)
    names = getattr(array.metadata, "dimension_names", None)
    axes = "".join(name or "?" for name in names).lower() if names else ""
    if not are_axes(axes, n_axes):
        axes = guess_axes(array.shape)
    if not axes:
        raise VolumeError(f"'{path}' is an array of {n_axes} axes; a volume has 2 to 5, of {AXES}. {CURE}")
    return Stored(array, axes, (1.0,) * n_axes, (None,) * n_axes)


@contextmanager
def _one_line(path: Path) -> Iterator[None]:
    """Turn what zarr and its codecs raise for damaged stores, errors of many kinds, into one sentence."""
    try:
        yield
    except VolumeError:
        raise
    except Exception as error:
        detail = str(error).partition("\n")[0] or type(error).__name__
        raise VolumeError(f"'{path}' cannot be read as a Zarr store ({detail}).") from error
