"""Opening a volume: which reader knows a path."""

import os
from pathlib import Path

from invariance.volumes.hdf5 import is_hdf5, open_hdf5
from invariance.volumes.stacks import open_folder, open_stack_file
from invariance.volumes.volume import Volume, VolumeError
from invariance.volumes.zarr_stores import is_zarr, open_zarr


def open_volume(path: str | os.PathLike, level: int = 0, channel: int | None = None) -> Volume:
    """Open sections that are read when they are needed.

    Parameters
    ----------
    path : str or path-like
        An OME-Zarr (0.4 or 0.5) or plain Zarr store, an HDF5 file or a dataset in it (`labels.h5/exported_data`), a
        TIFF or other image file, or a folder of images of one size, which are the sections in the order of their names.
    level : int, default=0
        The resolution level of an OME-Zarr store or of a TIFF with a pyramid; 0 is full resolution.
    channel : int or None, default=None
        The one channel to read; None reads all.

    Returns
    -------
    volume : Volume

    Raises
    ------
    VolumeError
        If the path cannot be read as a volume, or has no such level or channel.
    """
    path = Path(path)
    if is_hdf5(path):
        return open_hdf5(path, level, channel)
    if not path.exists():
        raise FileNotFoundError(f"the volume '{path}' does not exist. Check the path.")
    if is_zarr(path):
        return open_zarr(path, level, channel)
    if not path.is_dir():
        return open_stack_file(path, level, channel)
    if level != 0:
        raise VolumeError(f"the folder '{path}' has one resolution level, 0; got {level}. Omit it.")
    return open_folder(path, channel)


def is_store(path: Path) -> bool:
    """Tell whether a path is a Zarr store or an HDF5 file, whose numbers are read as they are stored."""
    return is_zarr(path) or is_hdf5(path)
