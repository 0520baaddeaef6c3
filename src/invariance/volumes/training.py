"""Training data from volumes: the sections that have labels, found without reading those that have none."""

import os
from pathlib import Path

import numpy as np

from invariance.images import MaskedImages
from invariance.volumes.opening import open_volume
from invariance.volumes.volume import Volume, VolumeError


def read_labelled_sections(
    source: str | os.PathLike,
    labels: str | os.PathLike,
    unlabelled: int | None = None,
    level: int = 0,
    channel: int | None = None,
) -> MaskedImages:
    """Read the sections of a volume in which pixels are labelled.

    Parameters
    ----------
    source, labels : path-like
        What `open_volume` opens: a volume, and integers of the same shape.
    unlabelled : int or None, default=None
        The value of pixels without a label; None means that all pixels are labelled. With 0, sections of a Zarr store
        of which nothing is stored are not read.
    level, channel : int, default=0 and None
        As in `open_volume`, for the source; labels are at their own full resolution.

    Returns
    -------
    data : MaskedImages
        The sections in order, as they are stored, with their masks.
    """
    volume, masks = open_volume(source, level, channel), open_volume(labels)
    _check_pair(volume, masks)
    found, images, paths = [], [], []
    for index in volume.indices():
        if unlabelled == 0 and not masks.is_stored(index):
            continue
        mask = np.asarray(masks.section(index))
        if unlabelled is not None and (mask == unlabelled).all():
            continue
        found.append(mask)
        images.append(np.asarray(volume.section(index)))
        paths.append(Path(volume.path, *map(str, index)))
    if not found:
        raise VolumeError(f"no pixel of '{masks.path}' is labelled: all are {unlabelled}. Label some.")
    return MaskedImages(images, found, paths, [])


def _check_pair(volume: Volume, masks: Volume) -> None:
    """Refuse labels that are no integers, or of another shape."""
    if masks.dtype.kind not in "biu":
        raise VolumeError(f"the labels '{masks.path}' must be whole numbers in a Zarr store; got {masks.dtype}.")
    if masks.n_channels is not None or masks.shape != volume.shape:
        raise VolumeError(
            f"the labels '{masks.path}' have shape {masks.shape}, but '{volume.path}' has {volume.shape}. Labels "
            f"must be as large as the volume, without channels."
        )
