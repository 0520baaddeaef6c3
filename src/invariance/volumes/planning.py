"""The plan of a segmentation: which region, arrays and blocks, all checked before anything is written."""

import math
import os
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from invariance.segmentation import JungleSegmenter
from invariance.transformations.sets import split_normalizing
from invariance.volumes import ome
from invariance.volumes.blocks import MAX_BLOCK_SIDE, Grid, check_chunks, check_roi, choose_block, choose_chunks
from invariance.volumes.memory import block_bytes
from invariance.volumes.opening import open_volume
from invariance.volumes.targets import Levels, plan_levels
from invariance.volumes.volume import Volume, VolumeError

PROBABILITIES = "probabilities"  # the group of the store


class Plan(NamedTuple):
    """What will be done, before anything is written.

    Attributes
    ----------
    volume : Volume
    roi : tuple of slices
    labels, probabilities : Levels or None
    grid : Grid
        The blocks of the region.
    measures_first : bool
        Whether sections are measured before, since they have several blocks.
    version : str
    """

    volume: Volume
    roi: tuple[slice, ...]
    labels: Levels | None
    probabilities: Levels | None
    grid: Grid
    measures_first: bool
    version: str


def plan_segmentation(
    model: JungleSegmenter,
    source: str | os.PathLike,
    level: int = 0,
    channel: int | None = None,
    roi: Sequence[slice] | None = None,
    labels: bool = True,
    probabilities: bool = False,
    chunks: Sequence[int] | None = None,
    version: str = "0.4",
    max_bytes: int | None = None,
) -> Plan:
    """Check what `segment_volume` is given and plan the blocks; nothing is written. The parameters are its own."""
    if version not in ome.VERSIONS:
        raise ValueError(f"version must be one of {', '.join(ome.VERSIONS)}; got {version!r}.")
    if not (labels or probabilities):
        raise ValueError("labels or probabilities must be written; got neither.")
    volume = open_volume(source, level, channel)
    n_channels = volume.n_channels or 1
    if n_channels != model.n_channels_:
        raise VolumeError(
            f"'{volume.path}' has {n_channels} channels, but the model was trained on {model.n_channels_}. "
            f"Choose one with channel (--channel), or train on such images."
        )
    region = check_roi(roi, volume.shape)
    shape = tuple(part.stop - part.start for part in region)
    chosen = choose_chunks(shape) if chunks is None else check_chunks(chunks, shape)
    block = _fit_block(model, shape, chosen, max_bytes)
    shapes = plan_levels(shape, min(chosen[-2:]) if min(chosen[-2:]) > 1 else max(shape[-2:]))
    dtype = label_dtype(model.classes_).name
    n_classes = len(model.classes_)
    maps = Levels(PROBABILITIES, [(n_classes, *one) for one in shapes], (1, *chosen), (n_classes, *block), "uint8")
    grid = Grid(shape, block)
    return Plan(
        volume=volume,
        roi=region,
        labels=Levels("", shapes, chosen, block, dtype) if labels else None,
        probabilities=maps if probabilities else None,
        grid=grid,
        measures_first=math.prod(grid.counts[-2:]) > 1 and split_normalizing(model._phi())[0] is None,
        version=version,
    )


def _fit_block(model: JungleSegmenter, shape, chunks, max_bytes: int | None) -> tuple[int, ...]:
    """Choose the largest block that fits into the memory of a worker."""
    # What normalizes whole images needs them whole.
    is_whole = split_normalizing(model._phi())[0] is not None
    sides = [MAX_BLOCK_SIDE >> shift for shift in range(5)]
    blocks = [choose_block(shape, chunks, is_whole, side) for side in sides]
    fitting = [block for block in blocks if max_bytes is None or block_bytes(model, block) <= max_bytes]
    if not fitting:
        least = min(block_bytes(model, block) for block in blocks)
        raise ValueError(
            f"a block of {' x '.join(map(str, blocks[-1]))} pixels needs {least / 1e9:.2g} GB, more than the memory of "
            f"a worker. Give it more (--memory), or store the volume in smaller chunks."
        )
    return fitting[0]


def label_dtype(classes: np.ndarray) -> np.dtype:
    """Return the smallest integer dtype that holds all classes, unsigned if possible: programs read these."""
    if classes.dtype.kind not in "biu":
        raise ValueError(f"labels must be whole numbers to be written as an image; got {classes.dtype}.")
    return np.result_type(np.min_scalar_type(int(classes.min())), np.min_scalar_type(int(classes.max())))
