"""Zarr stores as volumes: OME-Zarr 0.4 and 0.5 with their axes and levels, and plain arrays.

The metadata of a store come from a stranger: what they say is checked before it is used, with one sentence each.
"""

import json
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from invariance.volumes.volume import Volume, VolumeError

AXES = "tczyx"
MARKERS = (".zarray", ".zgroup", "zarr.json")
# Axes of plain arrays by their number, if the store does not name them; channels last are red, green, blue (and alpha).
GUESSED_AXES = {2: "yx", 3: "zyx", 4: "tzyx", 5: "tczyx"}
COLOUR_CHANNELS = (3, 4)
CURE = "Convert it to OME-Zarr 0.4 or 0.5, or name one of its arrays."


class Stored(NamedTuple):
    """An array of a store, the letters of its axes, and the size and unit of a pixel along each."""

    array: Any
    axes: str
    pixel_size: tuple[float, ...]
    units: tuple[str | None, ...]


def is_zarr(path: Path) -> bool:
    """Tell whether a folder is a Zarr array or group."""
    return path.is_dir() and any((path / name).is_file() for name in MARKERS)


def open_zarr(path: Path, level: int, channel: int | None) -> Volume:
    """Open an image of a store at one of its levels."""
    stored = _find_array(path, level)
    lengths = dict(zip(stored.axes, stored.array.shape, strict=True))
    n_channels = lengths.get("c")
    if channel is not None and not 0 <= channel < (n_channels or 1):
        raise VolumeError(f"'{path}' has {n_channels or 1} channels, counted from 0; got channel {channel}.")
    if stored.array.dtype.kind not in "biuf":
        raise VolumeError(f"'{path}' holds {stored.array.dtype}; images hold real numbers.")
    is_one = n_channels is not None and (channel is not None or n_channels == 1)
    kept = [place for place, axis in enumerate(stored.axes) if axis != "c"]
    axes = "".join(stored.axes[place] for place in kept)
    if axes[-2:] != "yx":
        raise VolumeError(f"the axes of '{path}' are {stored.axes}; y and x must be the last ones besides channels.")

    channel_place = "".join(axis for axis in stored.axes if axis in "cyx").find("c")

    def read(index: tuple[int, ...], rows: slice, cols: slice) -> np.ndarray:
        place: dict[str, Any] = dict(zip(axes, (*index, rows, cols), strict=True))
        if n_channels is not None:
            place["c"] = (channel or 0) if is_one else slice(None)
        part = np.asarray(stored.array[tuple(place[axis] for axis in stored.axes)])
        return np.moveaxis(part, channel_place, -1) if part.ndim == 3 else part

    def is_stored(index: tuple[int, ...]) -> bool:
        sides = dict(zip(stored.axes, stored.array.shards or stored.array.chunks, strict=True))
        fixed = {axis: (one // sides[axis],) for axis, one in zip(axes, index, strict=False)}
        ranges = [fixed.get(axis, range(-(-lengths[axis] // sides[axis]))) for axis in stored.axes]
        keys = map(stored.array.metadata.encode_chunk_key, product(*ranges))
        return any((path / stored.array.path / key).exists() for key in keys)

    return Volume(
        path=path,
        axes=axes,
        shape=tuple(lengths[axis] for axis in axes),
        n_channels=None if n_channels is None or is_one else n_channels,
        dtype=stored.array.dtype,
        pixel_size=tuple(stored.pixel_size[place] for place in kept),
        units=tuple(stored.units[place] for place in kept),
        level=level,
        channel=channel,
        identity=json.dumps([stored.axes, stored.array.shape, str(stored.array.dtype), str(stored.array.path)]),
        _read=read,
        _is_stored=is_stored if stored.array.fill_value == 0 else lambda index: True,
    )


def _find_array(path: Path, level: int) -> Stored:
    """Find the array of a level, by the metadata of OME if there are any."""
    import zarr

    try:
        node: Any = zarr.open(path, mode="r")
    except Exception as error:  # zarr raises errors of many kinds for damaged metadata
        raise VolumeError(f"'{path}' cannot be read as a Zarr store ({_first_line(error)}).") from error
    if isinstance(node, zarr.Array):
        if level != 0:
            raise VolumeError(f"'{path}' is a single array, with level 0 only; got {level}. Omit it.")
        return _as_plain(path, node)
    attributes = dict(node.attrs)
    if "bioformats2raw.layout" in attributes and "0" in node:
        node = node["0"]
        attributes = dict(node.attrs)
    ome = attributes.get("ome", attributes)
    multiscales = ome.get("multiscales") if isinstance(ome, dict) else None
    if not isinstance(multiscales, list) or not multiscales or not isinstance(multiscales[0], dict):
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
    if ".." in name.split("/") or name.startswith("/") or name not in group:
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
    if len(named) != n_axes or len(set(letters)) != n_axes or not set("yx") <= set(letters) <= set(AXES):
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
    if len(axes) != n_axes or len(set(axes)) != n_axes or not set("yx") <= set(axes) <= set(AXES):
        axes = GUESSED_AXES.get(n_axes, "")
        if n_axes in (3, 4) and array.shape[-1] in COLOUR_CHANNELS:
            axes = "zyxc"[4 - n_axes :]
    if not axes:
        raise VolumeError(f"'{path}' is an array of {n_axes} axes; a volume has 2 to 5, of {AXES}. {CURE}")
    return Stored(array, axes, (1.0,) * n_axes, (None,) * n_axes)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0] or type(error).__name__
