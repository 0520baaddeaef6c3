"""What every descriptor is: vectors at places of an image, and the transformations that leave the vectors unchanged.

There are two kinds. A `WindowDescriptor` describes the windows it is given, and without them a regular grid of windows.
A `GridDescriptor` describes places of its own: those of a grid, points of the image, or the image as a whole, which is
one vector at the centre of the image.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Protocol

import numpy as np
from sklearn.base import BaseEstimator

from invariance._core import loaded
from invariance._core.checks import check_count
from invariance.images import check_boxes, check_image
from invariance.transformations import Identity, TransformationSet
from invariance.transformations.sets import parts_of

# Sides of the windows of a regular grid, as shares of the shorter side of the image. Neighbours overlap by one half.
WINDOW_SHARES = (1 / 8, 1 / 4, 1 / 2)

Extracted = tuple[np.ndarray, np.ndarray]


class Descriptor(Protocol):
    """What a bag of features asks of a descriptor; any class with these two members will do."""

    @property
    def invariances(self) -> tuple[type[TransformationSet], ...]:
        """The kinds of transformations that leave the vectors unchanged if their places follow.

        `Rotations` stands for the full circle. Two images that differ by such a transformation have the same vectors
        at corresponding places, up to rounding, interpolation and what crosses the border of the image.
        """
        ...

    def extract(self, image: np.ndarray, windows: np.ndarray | None = None) -> Extracted:
        """Extract vectors and their places.

        Parameters
        ----------
        image : ndarray of shape (h, w), (h, w, 3) or (h, w, 4)
            An image of any dtype.
        windows : ndarray of shape (n, 3) or None, default=None
            Top, left and side of the windows to describe. Only descriptors of windows take them.

        Returns
        -------
        vectors : ndarray of shape (n, n_values), float32
        places : ndarray of shape (n, 3) or (n, 2)
            Top, left and side of the windows, or row and column of the places.
        """
        ...


class WindowDescriptor(BaseEstimator):
    """Base of descriptors of windows; a subclass defines `_describe` and `invariances`."""

    @property
    @abstractmethod
    def invariances(self) -> tuple[type[TransformationSet], ...]:
        """The kinds of transformations that leave a vector unchanged if its window follows."""

    @abstractmethod
    def _describe(self, image: np.ndarray, windows: np.ndarray) -> np.ndarray:
        """The vectors (n, n_values) float32 of windows (n, 3) inside a float32 image (h, w) or (h, w, 3)."""

    def extract(self, image: np.ndarray, windows: np.ndarray | None = None) -> Extracted:
        """Describe windows of an image.

        Parameters
        ----------
        image : ndarray of shape (h, w), (h, w, 3) or (h, w, 4)
            An image of any dtype.
        windows : ndarray of shape (n, 3), int, or None, default=None
            Top, left and side of every window; None describes a regular grid of windows of three sizes.

        Returns
        -------
        vectors : ndarray of shape (n, n_values), float32
        windows : ndarray of shape (n, 3), int64
        """
        image = check_image(image)
        windows = regular_windows(image.shape) if windows is None else check_boxes(windows, image.shape)
        return self._describe(image, windows), windows

    def check_loaded(self) -> None:
        """Raise ValueError if the size, read from a file, is none."""
        if "size" in self._get_param_names():
            loaded.check_values(self, size=loaded.whole(1, 256))


class GridDescriptor(BaseEstimator):
    """Base of descriptors of places of their own; a subclass defines `_extract` and `invariances`."""

    @property
    @abstractmethod
    def invariances(self) -> tuple[type[TransformationSet], ...]:
        """The kinds of transformations that leave the vectors unchanged if their places follow."""

    def check_loaded(self) -> None:
        """Raise ValueError if the parameters, read from a file, are not sizes and counts that an image has."""
        small = loaded.number(0, 1024)
        kinds = {
            "step": loaded.whole(1, 1024),
            "levels": loaded.whole(1, 6),
            "n_jobs": loaded.JOBS,
            "random_state": loaded.SEED,
            "n_points": loaded.whole(1, 10**5),
        }
        simple = loaded.either(loaded.TEXT, loaded.FLAG, small, loaded.list_of(small))
        loaded.check_values(self, **{name: kinds.get(name, simple) for name in self._get_param_names()})

    @abstractmethod
    def _extract(self, image: np.ndarray) -> Extracted:
        """The vectors (n, n_values) float32 of an image and their rows and columns (n, 2)."""

    def extract(self, image: np.ndarray, windows: None = None) -> Extracted:
        """Describe an image.

        Parameters
        ----------
        image : ndarray of shape (h, w), (h, w, 3) or (h, w, 4)
            An image of any dtype.
        windows : None
            Part of the protocol; places are those of the descriptor.

        Returns
        -------
        vectors : ndarray of shape (n, n_values), float32
        places : ndarray of shape (n, 2), float64
            Row and column of every vector.
        """
        if windows is not None:
            raise ValueError(
                f"{type(self).__name__} describes places of its own and takes no windows; got {len(windows)} of them. "
                f"Leave them out, or use HaarPatches, HslPatches or SiftWindows."
            )
        return self._extract(image)


class RegularDescriptor(GridDescriptor):
    """Base of descriptors whose places follow from the shape of the image; a subclass defines `_describe`, `_places`.

    Attributes
    ----------
    kept_version : int or None
        Descriptions by a class that states one are kept, see `descriptors.kept`; another number forgets them, and goes
        with every change of what the class computes.
    """

    kept_version: ClassVar[int | None] = None

    @abstractmethod
    def _describe(self, image: np.ndarray) -> np.ndarray:
        """The values (n, n_values) of an image in the form in which they are kept."""

    @abstractmethod
    def _places(self, shape: Sequence[int]) -> np.ndarray:
        """Rows and columns (n, 2) of the vectors of an image (h, w, ...)."""

    def _expand(self, values: np.ndarray) -> np.ndarray:
        """The vectors (n, n_values) float32 of values that were kept."""
        return values

    def _extract(self, image):
        return self._expand(self._describe(image)), self._places(np.shape(image))


def uncovered_parts(descriptor: Descriptor, phi: TransformationSet) -> tuple[TransformationSet, ...]:
    """The simple parts of Φ that a descriptor does not ignore.

    Parameters
    ----------
    descriptor : Descriptor
        Its `invariances` are compared with the parts of Φ by type.
    phi : TransformationSet
        Products, unions, closures and samples of sets are taken apart.

    Returns
    -------
    tuple of TransformationSet
        Empty if the descriptor ignores all of Φ.
    """
    covered: tuple[type[TransformationSet], ...] = (Identity, *descriptor.invariances)
    return tuple(part for part in parts_of(phi) if not isinstance(part, covered))


def regular_windows(shape: Sequence[int]) -> np.ndarray:
    """Overlapping windows (n, 3) of top, left and side, of three sizes, all over an image (h, w, ...)."""
    shorter = check_count("the shorter side of the image", min(shape[:2]))
    sides = sorted({max(1, round(share * shorter)) for share in WINDOW_SHARES})
    return np.concatenate([grid_windows(shape, side, max(1, side // 2)) for side in sides])


def grid_windows(shape: Sequence[int], side: int, step: int) -> np.ndarray:
    """Windows of one side, every `step` pixels, centred in an image (h, w, ...): (n, 3) of top, left and side.

    There are none if the image is smaller than a window.
    """
    step = check_count("step", step)
    tops, lefts = (spread(length - side, step) for length in shape[:2])
    corners = np.stack(np.meshgrid(tops, lefts, indexing="ij"), axis=-1).reshape(-1, 2)
    return np.column_stack([corners, np.full(len(corners), side)])


def window_centres(windows: np.ndarray) -> np.ndarray:
    """Row and column (n, 2) of the centres of windows (n, 3)."""
    return windows[:, :2] + (windows[:, 2:] - 1) / 2


def spread(room: int, step: int) -> np.ndarray:
    """Positions from 0 to `room`, `step` apart, with equal margins at both ends."""
    if room < 0:
        return np.empty(0, np.int64)
    return np.arange(room % step // 2, room + 1, step)
