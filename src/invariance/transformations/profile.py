"""How invariant is a representation? Distances within orbits beside distances between images, [Wibisono10] sec. 6.2.

Every image is transformed by every member of Φ. A representation that ignores Φ puts the versions of one image close
together, and those of different images apart.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from scipy.stats import rankdata

from invariance.transformations.sets import TransformationSet

MAX_VERSIONS = 4000


@dataclass(frozen=True)
class InvarianceProfile:
    """Distances between versions of one image (`within`) and between versions of different images (`between`).

    Both are sorted. For a representation they are Euclidean, for a kernel √(2 - 2 k) of the normalised kernel k.
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
        """`n` equally spaced quantiles of `within` and of `between`: the two axes of a Q-Q plot."""
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
    """Compare distances within the orbits of images (n, h, w[, c]) under Φ with those between images.

    `representation` is a fitted transformer, a kernel of the library (it has `diag`), or a function from images to
    vectors. `phi` is a set of transformations, or a function from images to orbits (n, T, h, w[, c]).
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
    """Distances (m, m) of all versions."""
    if hasattr(representation, "distances"):
        return representation.distances(versions)
    if hasattr(representation, "diag"):
        K = representation(versions)
        lengths = np.sqrt(np.diag(K))
        return np.sqrt(np.maximum(2 - 2 * K / np.maximum(np.outer(lengths, lengths), np.finfo(float).tiny), 0))
    vectors = representation.transform(versions) if hasattr(representation, "transform") else representation(versions)
    vectors = np.asarray(vectors, np.float64).reshape(len(versions), -1)
    return cdist(vectors, vectors)
