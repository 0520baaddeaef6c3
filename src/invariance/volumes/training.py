"""Training data from volumes: the sections that have labels, found without reading those that have none."""

import dataclasses
import math
import os
from pathlib import Path

import numpy as np

from invariance.images import MaskedImages, read_mask, read_mask_stack
from invariance.images.listing import image_paths
from invariance.images.pages import stack_pages
from invariance.volumes.opening import is_store, open_volume
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
        What `open_volume` opens: a volume, and integers of the same shape; labels in an image file or a folder of
        images are read as they are stored, all at once.
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
    volume = open_volume(source, level, channel)
    masks = open_volume(labels) if is_store(Path(labels)) else _read_masks(Path(labels), volume)
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


def _read_masks(path: Path, volume: Volume) -> Volume:
    """Read the labels of a volume from an image file, or from a folder of images in the order of their names."""
    if path.is_dir():
        files = image_paths(path)
        if not files:
            raise VolumeError(f"the folder '{path}' holds no image. Name labels of '{volume.path}'.")
        pages = stack_pages(path, [read_mask(file) for file in files])
    else:
        pages = read_mask_stack(path)
    n_sections = math.prod(volume.shape[:-2])
    values = pages.reshape(*volume.shape[:-2], *pages.shape[1:]) if len(pages) == n_sections else pages
    return dataclasses.replace(
        volume,
        path=path,
        shape=values.shape,
        n_channels=None,
        dtype=values.dtype,
        _read=lambda index, rows, cols: values[index][rows, cols],
        _is_stored=lambda index: True,
    )


def _check_pair(volume: Volume, masks: Volume) -> None:
    """Refuse labels that are no integers, or of another shape."""
    if masks.dtype.kind not in "biu":
        raise VolumeError(f"the labels '{masks.path}' must be whole numbers; got {masks.dtype}.")
    if masks.n_channels is not None or masks.shape != volume.shape:
        raise VolumeError(
            f"the labels '{masks.path}' have shape {masks.shape}, but '{volume.path}' has {volume.shape}. Labels "
            f"must be as large as the volume, without channels."
        )
