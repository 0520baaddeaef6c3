"""Opening a volume: which reader knows a path."""

import os
from pathlib import Path

from invariance.volumes.stacks import open_folder, open_stack_file
from invariance.volumes.volume import Volume, VolumeError
from invariance.volumes.zarr_stores import is_zarr, open_zarr


def open_volume(path: str | os.PathLike, level: int = 0, channel: int | None = None) -> Volume:
    """Open sections that are read when they are needed.

    Parameters
    ----------
    path : str or path-like
        An OME-Zarr (0.4 or 0.5) or plain Zarr store, a TIFF or other image file, or a folder of images of one size,
        which are the sections in the order of their names.
    level : int, default=0
        The resolution level of an OME-Zarr store; 0 is full resolution.
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
    if not path.exists():
        raise FileNotFoundError(f"the volume '{path}' does not exist. Check the path.")
    if is_zarr(path):
        return open_zarr(path, level, channel)
    if level != 0:
        raise VolumeError(f"'{path}' has one resolution level, 0; got {level}. Omit it, or name an OME-Zarr store.")
    return open_folder(path, channel) if path.is_dir() else open_stack_file(path, channel)
