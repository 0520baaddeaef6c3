"""The pages of whatever the studio opens: an image file, or a Zarr store if the packages for volumes are installed."""

import os
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from invariance.images import ImageError, Layout, LazyStack, as_float32, image_paths, open_stack
from invariance.volumes import VolumeError, open_volume
from invariance.volumes.zarr_stores import is_zarr

DTYPES = ("bool", "uint8", "uint16", "float32", "float64")  # whose black and white are agreed
MAX_PAGE_BYTES = 2**31  # as for other images; larger sections are for `invariance segment`


def list_pages(folder: Path) -> list[Path]:
    """List the image files and Zarr stores of a folder and its sub-folders, sorted; without what is inside a store."""
    stores = list(_find_stores(folder)) if find_spec("zarr") is not None else []
    files = [path for path in image_paths(folder, recursive=True) if not set(path.parents) & set(stores)]
    return sorted([*files, *stores])


def open_pages(path: Path) -> LazyStack:
    """Open the pages of a file or store, each read when it is indexed; raise ImageError if it cannot be read."""
    if not is_zarr(path):
        return open_stack(path)
    try:
        volume = open_volume(path)
    except VolumeError as error:
        raise ImageError(str(error)) from error
    if volume.dtype.name not in DTYPES:
        raise ImageError(f"'{path}' holds {volume.dtype}; the studio shows {', '.join(DTYPES)}. Convert it.")
    if 4 * int(np.prod(volume.section_shape)) > MAX_PAGE_BYTES:
        raise ImageError(
            f"the sections of '{path}' are too large for the studio, {volume.section_shape}. Cut out a part."
        )
    lengths = volume.shape[:-2]
    layout = Layout(axes=volume.axes[:-2].upper(), lengths=lengths)

    def read(number: int) -> np.ndarray:
        index = tuple(int(one) for one in np.unravel_index(number, lengths)) if lengths else ()
        return as_float32(np.asarray(volume.section(index)))

    return LazyStack(path, (max(1, int(np.prod(lengths))), *volume.section_shape), layout, read)


def _find_stores(folder: Path):
    """Yield the Zarr stores below a folder; links are not followed, and hidden folders not entered."""
    for parent, names, _ in os.walk(folder):
        for name in sorted(names):
            if is_zarr(Path(parent, name)):
                yield Path(parent, name)
        names[:] = [name for name in names if not name.startswith(".") and not is_zarr(Path(parent, name))]
