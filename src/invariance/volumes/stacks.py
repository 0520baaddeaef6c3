"""Image files as volumes: the pages of one file, or the images of a folder.

Of pages that are read whole one is kept, the one read last; of large tiled or striped TIFFs only regions are read.
"""

import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np

from invariance.images import LazyStack, open_stack
from invariance.images.listing import image_paths
from invariance.volumes.volume import Volume, VolumeError, check_size, identify

# Units of length in OME-TIFF, by their names in OME-Zarr.
OME_UNITS = {"nm": "nanometer", "µm": "micrometer", "um": "micrometer", "mm": "millimeter", "cm": "centimeter"}


def open_stack_file(path: Path, level: int, channel: int | None) -> Volume:
    """Open the pages of an image file; with more than one axis of pages, as it is stored."""
    stack = open_stack(path, level=level, regions=True)
    lengths = stack.layout.lengths if len(stack) > 1 else ()
    axes = _name_axes(stack.layout.axes, len(lengths))

    def number_of(index: tuple[int, ...]) -> int:
        return int(np.ravel_multi_index(index, lengths)) if lengths else 0

    def read_region(index: tuple[int, ...], rows: slice, cols: slice) -> np.ndarray:
        return stack.region(number_of(index), rows, cols)

    read = read_region if stack.is_by_region else _LastPage(lambda index: stack[number_of(index)]).region
    scale = 1.0
    if level:
        full = open_stack(path, regions=True)
        scale = full.shape[2] / stack.shape[2]
    return _volume_of(path, stack, axes, lengths, channel, identify(path), read, scale)


def open_folder(path: Path, channel: int | None) -> Volume:
    """Open the images of a folder as the sections of one volume, in the order of their names."""
    files = image_paths(path)
    if not files:
        raise VolumeError(f"the folder '{path}' holds no image. Name a volume, or a folder of images of one size.")
    first = open_stack(files[0])

    def read_page(index: tuple[int, ...]) -> np.ndarray:
        stack = open_stack(files[index[0]])  # some decoders keep the whole image: one at a time
        if stack.shape != (1, *first.shape[1:]):
            raise VolumeError(
                f"'{stack.path}' has {_describe(stack)}, but '{first.path}' has {_describe(first)}. The images of a "
                f"folder must be single sections of one size."
            )
        return stack[0]

    identity = "\n".join(identify(file) for file in files)
    return _volume_of(path, first, "z", (len(files),), channel, identity, _LastPage(read_page).region)


def _name_axes(axes: str, n_axes: int) -> str:
    """Name axes of pages by the letters of OME: t and z; what is neither, or stands twice, is depth or time."""
    named = axes.lower()
    if len(named) == n_axes and set(named) <= set("tz") and len(set(named)) == n_axes:
        return named
    if n_axes > 2:
        raise VolumeError(f"a volume has at most the axes t, z, y, x and channels; got {n_axes} axes of pages.")
    return "tz"[2 - n_axes :]


def _volume_of(
    path, stack: LazyStack, axes: str, lengths, channel: int | None, identity: str, read_region, scale: float = 1.0
) -> Volume:
    """Make the volume of pages like those of a stack, whose pixels are so many of full resolution wide."""
    height, width, *channels = stack.shape[1:]
    check_size(path, (*lengths, height, width))
    n_channels = channels[0] if channels else None
    if channel is not None and not 0 <= channel < (n_channels or 1):
        raise VolumeError(f"'{path}' has {n_channels or 1} channels, counted from 0; got channel {channel}.")
    is_one = channel is not None or n_channels is None
    details = dict(stack.layout.details)
    sizes = {axis: float(details.get(f"PhysicalSize{axis.upper()}") or 1) for axis in f"{axes}yx"}

    def read(index: tuple[int, ...], rows: slice, cols: slice) -> np.ndarray:
        part = read_region(index, rows, cols)
        return part[..., channel or 0] if is_one and n_channels is not None else part

    return Volume(
        path=path,
        axes=f"{axes}yx",
        shape=(*lengths, height, width),
        n_channels=None if is_one else n_channels,
        dtype=stack.dtype,
        pixel_size=tuple(size * scale if axis in "yx" else size for axis, size in sizes.items()),
        units=tuple(OME_UNITS.get(str(details.get(f"PhysicalSize{axis.upper()}Unit"))) for axis in f"{axes}yx"),
        level=stack.level,
        channel=channel,
        identity=identity,
        _read=read,
    )


class _LastPage:
    """A function of pages that keeps its last result: the parts of a page are read one after the other."""

    def __init__(self, read_page: Callable[[tuple[int, ...]], np.ndarray]):
        self._read_page, self._lock = read_page, threading.Lock()
        self._kept: tuple[tuple[int, ...], np.ndarray] | None = None

    def region(self, index: tuple[int, ...], rows: slice, cols: slice) -> np.ndarray:
        """Return a part of a page."""
        with self._lock:
            if self._kept is None or self._kept[0] != index:
                self._kept = index, self._read_page(index)
            return self._kept[1][rows, cols]


def _describe(stack: LazyStack) -> str:
    return f"{len(stack)} sections of {' x '.join(map(str, stack.shape[1:]))}"
