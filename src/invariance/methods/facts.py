"""What is known of a set of images before anything is learned, and how images are brought to one form."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from invariance.images import as_float32, resize_all, shrink, to_grey

MAX_SIDE = 320  # pixels of the longer side that any method looks at
SIDE = 32  # of methods that compare whole images


class Facts(NamedTuple):
    """How many images and classes there are, images of the smallest class, channels, and the median sides."""

    n_images: int
    n_classes: int
    n_least: int
    n_channels: int
    height: int
    width: int

    @property
    def side(self) -> int:
        """The shorter of the median sides."""
        return min(self.height, self.width)

    @property
    def sentence(self) -> str:
        """The facts in words."""
        kind = "grey" if self.n_channels == 1 else "colour"
        return (
            f"{self.n_images} {kind} images of {self.n_classes} classes, at least {self.n_least} a class, "
            f"mostly {self.height} x {self.width} pixels"
        )


def learn_facts(images: Sequence[np.ndarray], codes: np.ndarray) -> Facts:
    """The facts of images (h, w) or (h, w, c) and the codes (n,) of their classes."""
    counts = np.bincount(codes)
    height, width = np.median([np.shape(image)[:2] for image in images], axis=0).astype(int)
    n_channels = 3 if any(has_colour(image) for image in images) else 1
    return Facts(len(images), len(counts), int(counts.min()), n_channels, int(height), int(width))


def has_colour(image: np.ndarray) -> bool:
    """Whether an image has colour channels that differ."""
    if np.ndim(image) != 3 or image.shape[2] < 3:
        return False
    return bool((image[..., 0] != image[..., 1]).any() or (image[..., 1] != image[..., 2]).any())


def as_one_kind(images: Sequence[np.ndarray], n_channels: int, max_side: int | None = MAX_SIDE) -> list[np.ndarray]:
    """Images as float32 (h, w) or (h, w, 3), all alike, those with a longer side than `max_side` made smaller."""
    return [shrink(_with_channels(image, n_channels), max_side) for image in images]


def as_squares(images: Sequence[np.ndarray], side: int, n_channels: int) -> np.ndarray:
    """Images as one float32 array (n, side, side) or (n, side, side, 3); what is longer loses its ends."""
    return resize_all([_with_channels(image, n_channels) for image in images], (side, side))


def _with_channels(image: Any, n_channels: int) -> np.ndarray:
    """An image as grey (h, w), or as (h, w, 3) without its alpha."""
    if n_channels == 1:
        return to_grey(image)
    if np.ndim(image) == 2 or image.shape[2] < 3:
        return np.repeat(to_grey(image)[..., None], 3, axis=2)
    return np.ascontiguousarray(as_float32(image)[..., :3])
