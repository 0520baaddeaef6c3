"""Images before any method sees them: read from a folder, what is known of them, and brought to one form."""

import os
from collections.abc import Sequence
from math import isqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from invariance._core import loaded
from invariance.images import (
    as_float32,
    image_paths,
    read_class_folder,
    rescale,
    resize,
    shrink,
    to_grey,
    without_alpha,
)
from invariance.images.resizing import SIDE as SIDE
from invariance.transformations import normalize_illumination
from invariance.transformations.photometric import as_intensities

MAX_SIDE = 320  # pixels of the longer side that any method looks at
MAX_BYTES = 8_000_000_000  # that all images of a folder together may take, most of them in a temporary file
BYTES_PER_PIXEL = 3
MAX_FLOAT_BYTES = 1_000_000_000  # of images as float32, above which each is converted when it is asked for


class ImageFolder(NamedTuple):
    """A folder with one sub-folder per class, as it was read.

    Attributes
    ----------
    images : sequence of ndarray
        As `read_class_folder` keeps them.
    labels : ndarray of shape (n,)
        The names of the sub-folders.
    paths : list of Path
    skipped : list of (Path, str)
        Files that could not be read, and why.
    max_side : int
        Images with a longer side were shrunk to this.
    """

    images: Sequence[np.ndarray]
    labels: np.ndarray
    paths: list[Path]
    skipped: list[tuple[Path, str]]
    max_side: int


def read_images(folder: str | os.PathLike, strict: bool = False, min_classes: int = 2) -> ImageFolder:
    """Read `folder/<class>/<image>`.

    Images are shrunk to at most 320 pixels per side, or to fewer where there are more than 26,000 files, so that all
    together take less than eight gigabytes, of which one is in memory and the others are in a temporary file.

    Parameters
    ----------
    folder : path-like
    strict : bool, default=False
        Whether an unreadable image is an error; otherwise it is listed in `skipped`.
    min_classes : int, default=2
        Fewer sub-folders with images are an error.
    """
    n_files = max(1, len(image_paths(folder, recursive=True)))
    max_side = min(MAX_SIDE, isqrt(MAX_BYTES // (n_files * BYTES_PER_PIXEL)))
    rule = "raise" if strict else "skip"
    found = read_class_folder(folder, max_side=max_side, on_error=rule, min_classes=min_classes)
    return ImageFolder(found.images, found.labels, found.paths, found.skipped, max_side)


class Facts(NamedTuple):
    """What is known of a set of images before training.

    Attributes
    ----------
    n_images, n_classes : int
    n_smallest : int
        Number of images of the smallest class.
    n_channels : int
        1 if no image has colour, otherwise 3.
    height, width : int
        Medians, in pixels.
    """

    n_images: int
    n_classes: int
    n_smallest: int
    n_channels: int
    height: int
    width: int

    def check_loaded(self) -> None:
        """Raise ValueError if the facts, read from a file, are no counts and sizes."""
        count = loaded.whole(1)
        side = loaded.whole(1, loaded.MAX_SIDE)
        loaded.check_values(self, n_images=count, n_classes=count, n_smallest=count, n_channels=loaded.one_of(1, 3))
        loaded.check_values(self, height=side, width=side)

    @property
    def side(self) -> int:
        """The smaller of the median sides."""
        return min(self.height, self.width)

    @property
    def sentence(self) -> str:
        """The facts in words."""
        kind = "grey" if self.n_channels == 1 else "colour"
        return (
            f"{self.n_images} {kind} images of {self.n_classes} classes, at least {self.n_smallest} per class, "
            f"median size {self.height} x {self.width} pixels"
        )


def learn_facts(images: Sequence[np.ndarray], codes: np.ndarray) -> Facts:
    """Return the facts of images (h, w) or (h, w, c) and the codes (n,) of their classes."""
    counts = np.bincount(codes)
    height, width = np.median([np.shape(image)[:2] for image in images], axis=0).astype(int)
    n_channels = 3 if any(has_colour(image) for image in images) else 1
    return Facts(len(images), len(counts), int(counts.min()), n_channels, int(height), int(width))


def has_colour(image: np.ndarray) -> bool:
    """Return whether an image has colour channels that differ."""
    if np.ndim(image) != 3 or image.shape[2] < 3:
        return False
    return bool((image[..., 0] != image[..., 1]).any() or (image[..., 1] != image[..., 2]).any())


def as_one_kind(
    images: Sequence[np.ndarray],
    n_channels: int,
    max_side: int | None = MAX_SIDE,
    scale: str = "dtype",
    illumination_width: float | None = None,
) -> Sequence[np.ndarray]:
    """Return images as float32 (h, w) or (h, w, 3), scaled and shrunk to at most `max_side` pixels per side.

    If they take more than a gigabyte, each is converted whenever it is asked for.

    Parameters
    ----------
    images : sequence of ndarray of shape (h, w) or (h, w, c)
    n_channels : int
        1 or 3.
    max_side : int or None, default=320
    scale : str, default="dtype"
        See `rescale`.
    illumination_width : float or None, default=None
        Width of the blur that every image is divided by, see `remove_illumination`.
    """
    converted = _OneKind(images, n_channels, max_side, scale, illumination_width)
    return converted if converted.count_bytes() > MAX_FLOAT_BYTES else list(converted)


class _OneKind(Sequence[np.ndarray]):
    """Images, each converted as `as_one_kind` says when it is asked for."""

    def __init__(self, images: Sequence[np.ndarray], *settings: Any):
        self._images, self._settings = images, settings

    def count_bytes(self) -> int:
        n_channels, max_side = self._settings[:2]
        return sum(4 * n_channels * _count_pixels(np.shape(image), max_side) for image in self._images)

    def __len__(self) -> int:
        return len(self._images)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return _OneKind(self._images[index], *self._settings)
        n_channels, max_side, scale, width = self._settings
        image = shrink(_with_channels(rescale(self._images[index], scale), n_channels), max_side)
        return image if width is None else remove_illumination(image, width)


def _count_pixels(shape: tuple[int, ...], max_side: int | None) -> int:
    """Number of pixels of an image of this shape after shrinking."""
    scale = 1.0 if max_side is None else min(1.0, max_side / max(shape[:2]))
    return int(shape[0] * shape[1] * scale**2)


def as_squares(
    images: Sequence[np.ndarray],
    side: int,
    n_channels: int,
    scale: str = "dtype",
    illumination_width: float | None = None,
) -> np.ndarray:
    """Return images as one float32 array (n, side, side) or (n, side, side, 3), scaled and cut from the middle."""
    squares = np.empty((len(images), side, side, n_channels)[: 3 if n_channels == 1 else 4], np.float32)
    for square, image in zip(squares, images, strict=True):
        square[:] = resize(_with_channels(rescale(image, scale), n_channels), (side, side))
        if illumination_width is not None:
            square[:] = remove_illumination(square, illumination_width)
    return squares


def _with_channels(image: Any, n_channels: int) -> np.ndarray:
    """Return an image as grey (h, w), or as (h, w, 3); transparent images are laid over white."""
    if n_channels == 1:
        return to_grey(image)
    if np.ndim(image) == 2 or image.shape[2] < 3:
        return np.repeat(to_grey(image)[..., None], 3, axis=2)
    return np.ascontiguousarray(without_alpha(as_float32(image))[..., :3])


def remove_illumination(image: np.ndarray, width: float) -> np.ndarray:
    """Normalize the illumination of an image (h, w) or (h, w, c), and bring it to [0, 1].

    All images are normalized, so that normalized images are compared with normalized ones.

    Parameters
    ----------
    image : ndarray
    width : float
        Standard deviation of the blur, in 32nds of the shorter side.
    """
    scaled = width * min(image.shape[:2]) / SIDE
    return as_intensities(normalize_illumination(np.asarray(image)[None], scaled)[0])
