"""How invariant is a representation? Distances within orbits against distances between images, [Wibisono10] sec. 6.2.

Every image is transformed by every member of Φ. A representation that ignores Φ puts the versions of one image close
together, and the versions of different images apart.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from scipy.stats import rankdata

from invariance.transformations.sets import TransformationSet

# All pairs of this many versions are 8 million distances, which take 64 MB.
MAX_VERSIONS = 4000


@dataclass(frozen=True)
class InvarianceProfile:
    """Distances between versions of one image and between versions of different images.

    They are Euclidean for a representation, √(2 - 2 k) for a kernel, where k is the normalized kernel.

    Attributes
    ----------
    within : ndarray
        Sorted distances between versions of one image.
    between : ndarray
        Sorted distances between versions of different images.
    """

    within: np.ndarray
    between: np.ndarray

    @property
    def ratio(self) -> float:
        """Mean distance within over mean distance between: 0 for exact invariance, about 1 for none."""
        mean = float(self.between.mean())
        return float(self.within.mean()) / mean if mean > 0 else float("nan")

    @property
    def separation(self) -> float:
        """How often two versions of one image are nearer than two of different images: 0.5 is chance."""
        ranks = rankdata(np.concatenate([self.within, self.between]))[: len(self.within)]
        n_smaller = ranks.sum() - len(self.within) * (len(self.within) + 1) / 2
        return float(1 - n_smaller / (len(self.within) * len(self.between)))

    def quantiles(self, n: int = 101) -> tuple[np.ndarray, np.ndarray]:
        """Compute equally spaced quantiles of both kinds of distances, the two axes of a Q-Q plot.

        Parameters
        ----------
        n : int, default=101
            The number of quantiles.

        Returns
        -------
        within, between : ndarray of shape (n,)
        """
        levels = np.linspace(0, 1, n)
        return np.quantile(self.within, levels), np.quantile(self.between, levels)

    @property
    def sentence(self) -> str:
        """The summary in words."""
        return (
            f"Versions of one image are {self.ratio:.2f} times as far apart as different images on average, "
            f"and nearer than those in {self.separation:.0%} of the comparisons."
        )


def invariance_profile(
    representation: Callable | Any, images: np.ndarray, phi: TransformationSet | Callable
) -> InvarianceProfile:
    """Compare distances within the orbits of images under Φ with distances between images.

    Parameters
    ----------
    representation : transformer, kernel or callable
        A fitted transformer, a kernel with `diag`, or a function from images to vectors.
    images : ndarray of shape (n, h, w) or (n, h, w, c)
        At least two images.
    phi : TransformationSet or callable
        A set with at least two members, or a function from images to orbits of shape (n, T, h, w) or (n, T, h, w, c).

    Returns
    -------
    profile : InvarianceProfile
        With both kinds of distances, their `ratio` and `separation`, and a `sentence` that explains them.
    """
    images = np.asarray(images)
    if images.ndim not in (3, 4) or len(images) < 2:
        raise ValueError(f"images must be at least two, (n, h, w) or (n, h, w, c); got shape {images.shape}.")
    orbits = phi.operators(images.shape[1:]).apply(images) if isinstance(phi, TransformationSet) else phi(images)
    n_images, n_members = orbits.shape[:2]
    if n_members < 2:
        raise ValueError(f"phi must have at least two members, or there is nothing to compare; got {n_members}.")
    if n_images * n_members > MAX_VERSIONS:
        raise ValueError(
            f"{n_images} images in {n_members} versions are more than {MAX_VERSIONS} in all. Give fewer of either."
        )
    distances = _distances(representation, orbits.reshape(-1, *images.shape[1:]))
    owner = np.repeat(np.arange(n_images), n_members)
    first, second = np.triu_indices(len(owner), k=1)
    pairs = distances[first, second]
    is_within = owner[first] == owner[second]
    return InvarianceProfile(np.sort(pairs[is_within]), np.sort(pairs[~is_within]))


def _distances(representation: Any, versions: np.ndarray) -> np.ndarray:
    """Compute the distances (m, m) of all versions."""
    if hasattr(representation, "distances"):
        return representation.distances(versions)
    if hasattr(representation, "diag"):
        K = representation(versions)
        lengths = np.sqrt(np.diag(K))
        return np.sqrt(np.maximum(2 - 2 * K / np.maximum(np.outer(lengths, lengths), np.finfo(float).tiny), 0))
    vectors = representation.transform(versions) if hasattr(representation, "transform") else representation(versions)
    vectors = np.asarray(vectors, np.float64).reshape(len(versions), -1)
    return cdist(vectors, vectors)
