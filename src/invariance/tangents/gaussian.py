"""The kernel exp(-d² / (2 sigma²)) of any distance between images, and how its width is found."""

from abc import abstractmethod

import numpy as np
from sklearn.utils.validation import check_is_fitted

from invariance._core.checks import check_number
from invariance._core.kernels import LearnedKernel

N_FOR_MEDIAN = 500


class DistanceKernel(LearnedKernel):
    """k(X, Y) = exp(-d² / (2 sigma²)) for subclasses that say what d² is and have a parameter sigma."""

    sigma: float | str

    @abstractmethod
    def squared(self, X, Y=None) -> np.ndarray:
        """Squared distances (n, m) of images."""

    def fit(self, X, y=None):
        """Find the width of the kernel if it is "auto": half the median distance of at most 500 of the images."""
        if self.sigma == "auto":
            self.sigma_ = 0.5 * median_distance(self.distances, X)
        else:
            self.sigma_ = check_number("sigma", self.sigma, 1e-300)
        return self

    def __call__(self, X, Y=None) -> np.ndarray:
        """The Gram matrix (n, m) float64."""
        sigma = self._width()
        squared = self.squared(X, Y)
        return np.exp(squared / (-2 * sigma**2), out=squared)

    def diag(self, X) -> np.ndarray:
        """The diagonal (n,) of the Gram matrix of X: 1."""
        return np.ones(len(X))

    def distances(self, X, Y=None) -> np.ndarray:
        """Distances (n, m), for nearest neighbours: `KNeighborsClassifier(metric="precomputed")`."""
        return np.sqrt(self.squared(X, Y))

    def _width(self) -> float:
        if self.sigma != "auto":
            return check_number("sigma", self.sigma, 1e-300)
        check_is_fitted(self, "sigma_", msg="sigma='auto' is found by fit(X); call it first, or give a number.")
        return self.sigma_


def median_distance(distances, X) -> float:
    """The median of the distances between at most `N_FOR_MEDIAN` images, evenly taken; 1 if all are the same."""
    X = np.asarray(X)
    some = X[:: -(-len(X) // N_FOR_MEDIAN)]
    between = distances(some, some)[np.triu_indices(len(some), k=1)]
    median = float(np.median(between)) if len(between) else 0.0
    return median if median > 0 else 1.0
