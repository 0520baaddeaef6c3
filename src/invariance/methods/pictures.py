"""What is known of a set of pictures before anything is learned, and how pictures are brought to one form."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from invariance.images import as_float32, resize_all, shrink, to_grey

LONGEST = 320  # pixels of the longer side that any method looks at
SIDE = 32  # of methods that compare whole pictures


class Facts(NamedTuple):
    """How many pictures and classes there are, pictures of the smallest class, channels, and the median sides."""

    n_pictures: int
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
            f"{self.n_pictures} {kind} pictures of {self.n_classes} classes, at least {self.n_least} a class, "
            f"mostly {self.height} x {self.width} pixels"
        )


def learn_facts(pictures: Sequence[np.ndarray], codes: np.ndarray) -> Facts:
    """The facts of pictures (h, w) or (h, w, c) and the codes (n,) of their classes."""
    counts = np.bincount(codes)
    height, width = np.median([np.shape(picture)[:2] for picture in pictures], axis=0).astype(int)
    n_channels = 3 if any(has_colour(picture) for picture in pictures) else 1
    return Facts(len(pictures), len(counts), int(counts.min()), n_channels, int(height), int(width))


def has_colour(picture: np.ndarray) -> bool:
    """Whether a picture has colour channels that differ."""
    if np.ndim(picture) != 3 or picture.shape[2] < 3:
        return False
    return bool((picture[..., 0] != picture[..., 1]).any() or (picture[..., 1] != picture[..., 2]).any())


def as_one_kind(pictures: Sequence[np.ndarray], n_channels: int, longest: int | None = LONGEST) -> list[np.ndarray]:
    """Pictures as float32 (h, w) or (h, w, 3), all alike, those with a longer side than `longest` made smaller."""
    return [shrink(_with_channels(picture, n_channels), longest) for picture in pictures]


def as_squares(pictures: Sequence[np.ndarray], side: int, n_channels: int) -> np.ndarray:
    """Pictures as one float32 array (n, side, side) or (n, side, side, 3); what is longer loses its ends."""
    return resize_all([_with_channels(picture, n_channels) for picture in pictures], (side, side))


def _with_channels(picture: Any, n_channels: int) -> np.ndarray:
    """A picture as grey (h, w), or as (h, w, 3) without its alpha."""
    if n_channels == 1:
        return to_grey(picture)
    if np.ndim(picture) == 2 or picture.shape[2] < 3:
        return np.repeat(to_grey(picture)[..., None], 3, axis=2)
    return np.ascontiguousarray(as_float32(picture)[..., :3])
