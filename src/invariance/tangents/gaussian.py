"""The kernel exp(-d² / (2 sigma²)) of any distance d between images."""

from abc import abstractmethod

import numpy as np
from sklearn.utils.validation import check_is_fitted

from invariance._core import loaded
from invariance._core.kernels import LearnedKernel
from invariance.images import validate_images
from invariance.tangents.widths import FACTORS, WidthSearch, given_width, median_distance, spread_evenly
from invariance.transformations import TransformationSet


class DistanceKernel(LearnedKernel):
    """Base of the kernels k(X, Y) = exp(-d² / (2 sigma²)); a subclass defines `squared` and has a parameter sigma."""

    sigma: float | str
    image_shape: tuple[int, ...] | None

    @abstractmethod
    def squared(self, X, Y=None) -> np.ndarray:
        """Return the squared distances (n, m) of images X and Y, or of X and X."""

    def check_loaded(self) -> None:
        """Raise ValueError if the width, read from a file, is none."""
        width = loaded.number(1e-12, 1e12)
        loaded.check_values(
            self,
            transformations=loaded.optional(loaded.instance(TransformationSet)),
            sigma=loaded.either(loaded.one_of("auto", "median"), width),
            image_shape=loaded.SHAPE,
        )
        if hasattr(self, "n_features_in_"):
            loaded.check_values(self, n_features_in_=loaded.N_VALUES)
            loaded.check_values(self, image_shape_=loaded.image_shape(self.n_features_in_))
        if hasattr(self, "sigma_"):
            loaded.check_values(self, sigma_=width)

    def fit(self, X, y=None):
        """Find the width of the kernel if it is not a number: half the median distance of at most 500 images.

        Parameters
        ----------
        X : array-like of shape (n, h, w), (n, h, w, c) or (n, d)
            Training images.
        y : None
            Ignored. Support vector machines of the library choose the width by cross-validation instead.

        Returns
        -------
        self : object
        """
        validate_images(self, X, self.image_shape, reset=True)
        given = given_width("sigma", self.sigma, ("auto", "median"))
        X = np.asarray(X)
        self.sigma_ = usual_width(self.squared(X[spread_evenly(len(X))])) if given is None else given
        return self

    def fit_matrix(self, X: np.ndarray, search: WidthSearch | None = None) -> np.ndarray:
        """Fit the kernel and return the Gram matrix (n, n) of images X; the distances are computed once.

        With a `search`, sigma="auto" is chosen by it.
        """
        given = given_width("sigma", self.sigma, ("auto", "median"))
        squared = self.squared(X)
        some = spread_evenly(len(squared))
        self.sigma_ = usual_width(squared[some, some]) if given is None else given
        if search is not None and self.sigma == "auto":
            widths = [factor * self.sigma_ for factor in FACTORS]
            searched = squared[np.ix_(search.images, search.images)]
            self.sigma_ = widths[search.best(gaussian(searched, width) for width in widths)]
        return gaussian(squared, self.sigma_)

    def __call__(self, X, Y=None) -> np.ndarray:
        """Return the Gram matrix (n, m) float64 of images X and Y, or of X and X."""
        sigma = self._width()
        return gaussian(self.squared(X, Y), sigma)

    def diag(self, X) -> np.ndarray:
        """Return the diagonal (n,) of the Gram matrix of X: 1."""
        return np.ones(len(X))

    def distances(self, X, Y=None) -> np.ndarray:
        """Return the distances (n, m), for example for ``KNeighborsClassifier(metric="precomputed")``."""
        return np.sqrt(self.squared(X, Y))

    def _width(self) -> float:
        given = given_width("sigma", self.sigma, ("auto", "median"))
        if given is not None:
            return given
        check_is_fitted(
            self, "sigma_", msg=f"sigma={self.sigma!r} is found by fit(X); call it first, or give a number."
        )
        return self.sigma_


def gaussian(squared: np.ndarray, sigma: float) -> np.ndarray:
    """Kernel values exp(-d² / (2 sigma²)) of squared distances."""
    exponents = squared / (-2 * sigma**2)
    return np.exp(exponents, out=exponents)


def usual_width(squared: np.ndarray) -> float:
    """Half the median distance between different images, from squared distances (n, n)."""
    return 0.5 * median_distance(squared)
