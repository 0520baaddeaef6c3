"""Base kernels: what the trade-off weighs. Each is fitted to the training images and then compares others with them.

A base kernel has `fit_gram(X, y) -> (n, n)`, the Gram matrix of the training images, and `rows(X) -> (m, n)`.
Features of training images are computed once and kept.
"""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.metrics.pairwise import additive_chi2_kernel, euclidean_distances

from invariance._core.checks import check_choice
from invariance.images import resize_all
from invariance.tangents.psd import PsdCorrection

DISTANCES = ("chi2", "euclidean")
LONGEST_NAME = 60


class FeatureKernel(BaseEstimator):
    """exp(-γ f(x, y)) of the features of images, [Varma07] sec. 3.

    Parameters
    ----------
    transformer : turns images into vectors; it is fitted to the training images and their labels.
    distance : f, "chi2" (½ Σ (x - y)² / (x + y), for histograms) or "euclidean" (squared).
    side : images are resized to this many pixels per side first; None leaves them.
    name : what the weights are called; None takes the transformer's name.
    labelled : whether the transformer is given the labels.
    cost : factor of the classifier's sigma. Features learned from the labels fit the training images better than any
        others, whatever they are worth: let them cost more.

    γ is one over the mean distance of the training images.
    """

    def __init__(self, transformer, distance="chi2", side=None, name=None, labelled=True, cost=1.0):
        self.transformer = transformer
        self.distance = distance
        self.side = side
        self.name = name
        self.labelled = labelled
        self.cost = cost

    def fit_gram(self, X, y=None) -> np.ndarray:
        """Fit the transformer and γ; the Gram matrix (n, n) of the training images."""
        check_choice("distance", self.distance, DISTANCES)
        self.transformer_ = clone(self.transformer)
        labels = y if self.labelled else None
        self.features_ = np.asarray(self.transformer_.fit_transform(_resized(X, self.side), labels), np.float64)
        distances = self._distances(self.features_)
        self.gamma_ = inverse_mean(distances)
        return np.exp(-self.gamma_ * distances)

    def rows(self, X) -> np.ndarray:
        """Kernel values (m, n) between images and the training images."""
        features = np.asarray(self.transformer_.transform(_resized(X, self.side)), np.float64)
        return np.exp(-self.gamma_ * self._distances(features))

    def _distances(self, features: np.ndarray) -> np.ndarray:
        if self.distance == "chi2":
            return -0.5 * additive_chi2_kernel(features, self.features_)
        return euclidean_distances(features, self.features_, squared=True)


class ImageKernel(BaseEstimator):
    """A kernel k(X, Y) of the library, with `fit` and `diag`, as a base kernel; normalised to k(x, x) = 1.

    One made of distances, such as `TangentDistance`, is exp(-γ d²) with γ one over the mean of the training images, as
    all base kernels are: weights favour the narrower of two kernels, whatever it is worth. Negative eigenvalues of the
    training matrix are set to 0, for the training and for other images alike.
    """

    def __init__(self, kernel, side=None, name=None, cost=1.0):
        self.kernel = kernel
        self.side = side
        self.name = name
        self.cost = cost

    def fit_gram(self, X, y=None) -> np.ndarray:
        """Fit the kernel; the Gram matrix (n, n) of the training images."""
        self.images_ = _resized(X, self.side)
        self.kernel_ = clone(self.kernel)
        self.gram_ = PsdCorrection("clip")
        if hasattr(self.kernel_, "squared"):
            squared = self.kernel_.squared(self.images_)
            self.gamma_ = inverse_mean(squared)
            return self.gram_.fit_transform(np.exp(-self.gamma_ * squared))
        if hasattr(self.kernel_, "fit"):
            self.kernel_.fit(self.images_)
        K = self.kernel_(self.images_)
        self.lengths_ = _lengths(np.diag(K))
        return self.gram_.fit_transform(K / np.outer(self.lengths_, self.lengths_))

    def rows(self, X) -> np.ndarray:
        """Kernel values (m, n) between images and the training images."""
        images = _resized(X, self.side)
        if hasattr(self.kernel_, "squared"):
            return self.gram_.transform(np.exp(-self.gamma_ * self.kernel_.squared(images, self.images_)))
        lengths = np.outer(_lengths(self.kernel_.diag(images)), self.lengths_)
        return self.gram_.transform(self.kernel_(images, self.images_) / lengths)


def as_base_kernel(part: Any) -> Any:
    """A base kernel as it is; a kernel of the library or a transformer wrapped as one."""
    if hasattr(part, "fit_gram"):
        return clone(part)
    if callable(part) and hasattr(part, "diag"):
        return ImageKernel(part)
    if hasattr(part, "transform"):
        return FeatureKernel(part)
    raise ValueError(f"kernels must hold base kernels, kernels with diag, or transformers; got {part!r}.")


def name_of(part: Any, place: int) -> str:
    """The name under which a base kernel's weight is shown."""
    if getattr(part, "name", None):
        return str(part.name)
    inner = getattr(part, "transformer", getattr(part, "kernel", part))
    text = " ".join(repr(inner).split())
    return text if len(text) <= LONGEST_NAME else f"{type(inner).__name__} {place + 1}"


def inverse_mean(distances: np.ndarray) -> float:
    """One over the mean of the distances between different samples (n, n); 1 where all are the same."""
    n = len(distances)
    mean = (distances.sum() - np.trace(distances)) / max(n * (n - 1), 1)
    return float(1 / mean) if mean > 0 else 1.0


def _resized(X: Any, side: int | None) -> Any:
    return X if side is None else resize_all(X, (side, side))


def _lengths(diagonal: np.ndarray) -> np.ndarray:
    return np.sqrt(np.maximum(diagonal, np.finfo(float).tiny))
