"""The metadata of OME-Zarr 0.4 and 0.5: axes, levels, sizes of pixels, and the classes of a label image."""

from collections.abc import Sequence
from typing import Any

VERSIONS = ("0.4", "0.5")
TYPES = {"t": "time", "c": "channel", "z": "space", "y": "space", "x": "space"}
# Colours that colour-blind people can tell apart [Wong11], from the second class on; the first is often background.
COLOURS = ((0, 114, 178), (230, 159, 0), (0, 158, 115), (204, 121, 167), (86, 180, 233), (213, 94, 0), (240, 228, 66))


def describe_levels(
    axes: str,
    units: Sequence[str | None],
    paths: Sequence[str],
    scales: Sequence[Sequence[float]],
    translations: Sequence[Sequence[float]],
    name: str,
    version: str,
) -> dict[str, Any]:
    """Return the metadata `multiscales` of an image, in a dict.

    Parameters
    ----------
    axes : str
        One letter per axis.
    units : sequence of (str or None)
        The unit of every axis.
    paths : sequence of str
        The arrays, full resolution first.
    scales, translations : sequence of sequences of float
        Of every array: the size of a pixel along every axis, and the place of the first one.
    name : str
    version : {"0.4", "0.5"}
    """
    described = [
        {"name": axis, "type": TYPES[axis], **({} if unit is None else {"unit": unit})}
        for axis, unit in zip(axes, units, strict=True)
    ]
    datasets = [
        {
            "path": path,
            "coordinateTransformations": [
                {"type": "scale", "scale": list(scale)},
                {"type": "translation", "translation": list(translation)},
            ],
        }
        for path, scale, translation in zip(paths, scales, translations, strict=True)
    ]
    multiscale = {"name": name, "axes": described, "datasets": datasets}
    return {"multiscales": [{"version": version, **multiscale} if version == "0.4" else multiscale]}


def describe_labels(values: Sequence[int], names: Sequence[str], version: str) -> dict[str, Any]:
    """Return the metadata `image-label` of a label image, in a dict: a colour and the class of every value."""
    colours = [
        {"label-value": value, "rgba": [*COLOURS[(number - 1) % len(COLOURS)], 255 if number else 0]}
        for number, value in enumerate(values)
    ]
    properties = [{"label-value": value, "class": name} for value, name in zip(values, names, strict=True)]
    described = {"colors": colours, "properties": properties}
    return {"image-label": {"version": version, **described} if version == "0.4" else described}


def as_attributes(metadata: dict[str, Any], version: str) -> dict[str, Any]:
    """Return metadata as the attributes of a group: 0.5 has them under a name of their own."""
    return metadata if version == "0.4" else {"ome": {"version": version, **metadata}}
