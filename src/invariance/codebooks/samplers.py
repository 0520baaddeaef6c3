"""Where a bag of features looks: at random windows of an image, or at every place of a grid.

A sampler answers two questions for one image, given as its orbit under Φ: a few vectors to learn a codebook from, and
all vectors to count, with the same windows or grid in every transformed copy.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from invariance._core import loaded
from invariance._core.checks import check_count, check_number
from invariance.codebooks.masks import lie_on_object
from invariance.descriptors import Descriptor, WindowDescriptor
from invariance.descriptors.protocol import Extracted
from invariance.images import draw_boxes
from invariance.transformations.copies import Orbit

# Windows that every transformed copy has at least, however many copies there are.
MIN_WINDOWS = 100
# Transformed copies of one image that training vectors are drawn from: making a copy costs more than its few vectors.
MAX_TRAINING_COPIES = 4


class Drawn(NamedTuple):
    """What a codebook learns from one image.

    Attributes
    ----------
    vectors : ndarray of shape (n, n_values), float32
    on_object : ndarray of shape (n,), bool
        Which vectors lie on the object of the image; all of them without a mask.
    whole : list of (vectors, places) or None
        All vectors of every transformed copy, if they were computed.
    """

    vectors: np.ndarray
    on_object: np.ndarray
    whole: list[Extracted] | None = None


class RandomWindows(BaseEstimator):
    """Random square windows of random position and size, [Moosmann06] sec. 4.

    Parameters
    ----------
    n_windows : int, default=8000
        Windows per image that are counted. With transformations they are divided among the transformed copies of the
        image, at least 100 each, so that invariance takes about the same time as none.
    n_training_windows : int, default=67
        Windows per image that the codebook is learned from.
    min_scale, max_scale : float, default=0.1 and 1.0
        Sides of the windows, as shares of the shorter side of the image.
    """

    def __init__(self, n_windows=8000, n_training_windows=67, min_scale=0.1, max_scale=1.0):
        self.n_windows = n_windows
        self.n_training_windows = n_training_windows
        self.min_scale = min_scale
        self.max_scale = max_scale

    def check_loaded(self) -> None:
        """Raise ValueError if the parameters, read from a file, are no numbers and sizes of windows."""
        count = loaded.whole(1, 10**6)
        loaded.check_values(self, n_windows=count, n_training_windows=count, max_scale=loaded.number(1e-6, 1))
        loaded.check_values(self, min_scale=loaded.number(0, self.max_scale))

    def draw_seeds(self, rng: np.random.Generator, n_images: int) -> tuple[list[Any], Any]:
        """One seed per image, and the seed of the codebook."""
        return rng.integers(2**63, size=n_images).tolist(), int(rng.integers(2**31))

    def max_training(self, n_images: int) -> int:
        """Maximum number of training vectors per image, of this number of images."""
        return check_count("n_training_windows", self.n_training_windows)

    def draw_training(
        self,
        descriptor: Descriptor,
        orbit: Orbit,
        n_images: int,
        rng: np.random.Generator,
        mask: Orbit | None = None,
    ) -> Drawn:
        """The vectors of the training windows of one image, divided among some of its transformed copies."""
        windows = self._draw(orbit, self.max_training(n_images), rng)
        owners = _draw_copies(len(orbit), len(windows), rng)
        parts, on_object = [], []
        for owner in np.unique(owners).tolist():
            of_copy = windows[owners == owner]
            parts.append(descriptor.extract(orbit[owner], of_copy)[0])
            on_object.append(_on_object(mask, owner, of_copy))
        return Drawn(np.concatenate(parts), np.concatenate(on_object))

    def extract(self, descriptor: Descriptor, orbit: Orbit, rng: np.random.Generator) -> Iterator[Extracted]:
        """The vectors and windows of every transformed copy of one image; windows are the same in all of them."""
        n_windows = check_count("n_windows", self.n_windows)
        if len(orbit) > 1:
            n_windows = max(n_windows // len(orbit), min(n_windows, MIN_WINDOWS))
        windows = self._draw(orbit, n_windows, rng)
        return (descriptor.extract(image, windows) for image in orbit)

    def _draw(self, orbit: Orbit, n_windows: int, rng: np.random.Generator) -> np.ndarray:
        """Windows (n, 3) of top, left and side."""
        max_scale = check_number("max_scale", self.max_scale, 0, 1)
        min_scale = check_number("min_scale", self.min_scale, 0, max_scale)
        return draw_boxes(orbit.image.shape, n_windows, rng, min_scale, max_scale)


class Grid(BaseEstimator):
    """All places of the descriptor: those of its grid, or a regular grid of windows.

    Parameters
    ----------
    n_descriptors : int, default=100_000
        Vectors that the codebook is learned from, drawn from all training images, the same number from each.
    """

    def __init__(self, n_descriptors=100_000):
        self.n_descriptors = n_descriptors

    def check_loaded(self) -> None:
        """Raise ValueError if the parameter, read from a file, is no number of vectors."""
        loaded.check_values(self, n_descriptors=loaded.whole(1, 10**9))

    def draw_seeds(self, rng: np.random.Generator, n_images: int) -> tuple[list[Any], Any]:
        """One seed per image, and the seed of the codebook."""
        return [child.bit_generator.seed_seq for child in rng.spawn(n_images)], rng

    def max_training(self, n_images: int) -> int:
        """Maximum number of training vectors per image, of this number of images."""
        return -(-check_count("n_descriptors", self.n_descriptors) // n_images)

    def draw_training(
        self,
        descriptor: Descriptor,
        orbit: Orbit,
        n_images: int,
        rng: np.random.Generator,
        mask: Orbit | None = None,
    ) -> Drawn:
        """Some vectors of one image, drawn from some transformed copies, and all if these are all copies."""
        n_drawn = self.max_training(n_images)
        owners = _draw_copies(len(orbit), n_drawn, rng)
        parts: list[np.ndarray] = []
        on_object: list[np.ndarray] = []
        whole: list[Extracted] = []
        for owner, n_rows in enumerate(np.bincount(owners, minlength=len(orbit)).tolist()):
            if n_rows:
                vectors, places = descriptor.extract(orbit[owner])
                rows = _draw_rows(n_rows, rng, len(vectors))
                parts.append(np.asarray(vectors[rows], np.float32))
                on_object.append(_on_object(mask, owner, places[rows]))
                whole.append((vectors, places))
        return Drawn(np.concatenate(parts), np.concatenate(on_object), whole if len(whole) == len(orbit) else None)

    def extract(self, descriptor: Descriptor, orbit: Orbit, rng: np.random.Generator) -> Iterator[Extracted]:
        """The vectors and places of every transformed copy of one image."""
        return (descriptor.extract(image) for image in orbit)


def default_sampler(descriptor: Descriptor) -> RandomWindows | Grid:
    """Random windows for a descriptor that takes windows, all places for one that has its own."""
    return RandomWindows() if isinstance(descriptor, WindowDescriptor) else Grid()


def _draw_copies(n_copies: int, n_drawn: int, rng: np.random.Generator) -> np.ndarray:
    """The transformed copy that each of `n_drawn` vectors is of; all copies are seen over many images."""
    if n_copies == 1:
        return np.zeros(n_drawn, int)
    return np.resize(rng.permutation(n_copies)[:MAX_TRAINING_COPIES], n_drawn)


def _on_object(mask: Orbit | None, copy: int, places: np.ndarray) -> np.ndarray:
    """Which places of a transformed copy lie on the object; all without a mask."""
    return np.ones(len(places), bool) if mask is None else lie_on_object(mask[copy], places)


def _draw_rows(n_drawn: int, rng: np.random.Generator, n_rows: int) -> np.ndarray:
    """The numbers of `n_drawn` rows in order, or of all if there are fewer."""
    return np.sort(rng.choice(n_rows, n_drawn, replace=False)) if n_rows > n_drawn else np.arange(n_rows)
