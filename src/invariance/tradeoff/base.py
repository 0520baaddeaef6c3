"""Base kernels, which the trade-off weighs: each is fitted to training images and then compares images with them.

Anything with `fit_gram(X, y) -> (n, n)`, the Gram matrix of the training images, and `rows(X) -> (m, n)` can be one.
Features of training images are computed once and kept.
"""

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.metrics.pairwise import additive_chi2_kernel, euclidean_distances
from sklearn.utils.validation import check_is_fitted

from invariance._core import loaded
from invariance._core.checks import check_choice
from invariance.images import resize_all
from invariance.tangents.psd import PsdCorrection
from invariance.tradeoff.inputs import check_images

DISTANCES = ("chi2", "euclidean")
MAX_NAME_LENGTH = 60  # characters of a kernel's repr that fit beside a bar of a figure


class BaseKernel(BaseEstimator):
    """A kernel between images and the training images that it was fitted to, by `fit_gram`."""

    @abstractmethod
    def fit_gram(self, X, y=None) -> np.ndarray:
        """Fit the kernel; return the Gram matrix (n, n) of the training images."""

    def fit(self, X, y=None) -> Self:
        """Fit the kernel as `fit_gram` does.

        Parameters
        ----------
        X : array-like of shape (n, h, w) or (n, h, w, c), list of images, or flat rows of shape (n, d)
            Training images.
        y : array-like of shape (n,), default=None
            Their labels, for kernels that learn from them.

        Returns
        -------
        BaseKernel
            The fitted kernel.
        """
        self.fit_gram(X, y)
        return self


class FeatureKernel(BaseKernel):
    """The kernel exp(-γ f(x, y)) of features of images, [Varma07] sec. 3.

    γ is one over the mean distance between the training images.

    Parameters
    ----------
    transformer : transformer
        Turns images into vectors. A clone of it is fitted to the training images.
    distance : {"chi2", "euclidean"}, default="chi2"
        The distance f: "chi2" is ½ Σ (x - y)² / (x + y), for histograms; "euclidean" is the squared one.
    side : int, default=None
        Images are resized to this many pixels per side first. None leaves them as they are.
    name : str, default=None
        Name of the kernel, for showing its weight. None takes that of the transformer.
    labelled : bool, default=True
        Whether the transformer is given the labels. If so, `sigma="cv"` of the classifier fits it again without the
        images held out.
    cost : float, default=1.0
        Factor of the classifier's `sigma`. Features learned from the labels separate the training images better than
        others, whatever they are worth on new images: let them cost more.

    Attributes
    ----------
    transformer_ : transformer
        The fitted transformer.
    features_ : ndarray of shape (n, d)
        Features of the training images.
    gamma_ : float
        The factor γ.
    """

    def __init__(self, transformer, distance="chi2", side=None, name=None, labelled=True, cost=1.0):
        self.transformer = transformer
        self.distance = distance
        self.side = side
        self.name = name
        self.labelled = labelled
        self.cost = cost

    def fit_gram(self, X, y=None) -> np.ndarray:
        """Fit the transformer and γ.

        Parameters
        ----------
        X : array-like of shape (n, h, w) or (n, h, w, c), list of images, or flat rows of shape (n, d)
            Training images.
        y : array-like of shape (n,), default=None
            Their labels, for the transformer if `labelled`.

        Returns
        -------
        ndarray of shape (n, n)
            The Gram matrix of the training images.
        """
        X = check_images(self, X, reset=True)
        check_choice("distance", self.distance, DISTANCES)
        self.transformer_ = clone(self.transformer)
        labels = y if self.labelled else None
        self.features_ = np.asarray(self.transformer_.fit_transform(_resized(X, self.side), labels), np.float64)
        distances = self._distances(self.features_)
        self.gamma_ = inverse_mean(distances)
        return np.exp(-self.gamma_ * distances)

    def check_loaded(self) -> None:
        """Raise ValueError if features and γ, read from a file, are not those of a kernel."""
        loaded.check_values(
            self,
            distance=loaded.one_of(*DISTANCES),
            side=loaded.optional(loaded.whole(1, loaded.MAX_SIDE)),
            transformer=loaded.able("transform"),
        )
        if loaded.is_fitted(self, "transformer_", "features_", "gamma_"):
            low = 0.0 if self.distance == "chi2" else -loaded.LARGEST
            loaded.check_values(
                self,
                transformer_=loaded.able("transform"),
                features_=loaded.array((None, None), np.float64, low),
                gamma_=loaded.number(0, 1e12),
            )

    def rows(self, X) -> np.ndarray:
        """Compare images with the training images.

        Parameters
        ----------
        X : array-like of shape (m, h, w) or (m, h, w, c), list of images, or flat rows of shape (m, d)
            Images.

        Returns
        -------
        ndarray of shape (m, n)
            Kernel values.
        """
        check_is_fitted(self)
        X = check_images(self, X, reset=False)
        features = np.asarray(self.transformer_.transform(_resized(X, self.side)), np.float64)
        return np.exp(-self.gamma_ * self._distances(features))

    def _distances(self, features: np.ndarray) -> np.ndarray:
        if features.shape[1] == 0:  # as of jungles that find nothing to tell the classes apart by
            return np.zeros((len(features), len(self.features_)))
        if self.distance == "chi2":
            return -0.5 * additive_chi2_kernel(features, self.features_)
        return euclidean_distances(features, self.features_, squared=True)


class ImageKernel(BaseKernel):
    """A kernel of images, such as `TangentDistance`, as a base kernel, normalized to k(x, x) = 1.

    A kernel exp(-d² / 2 sigma²) of distances d with `sigma="auto"` is scaled here: it becomes exp(-γ d²), γ being one
    over the mean d² between the training images, as for all other base kernels, because learned weights favour the
    narrower of two kernels, whatever it is worth. A `sigma` given as a number is kept.

    Negative eigenvalues of the Gram matrix of the training images are set to 0, and kernel values of other images are
    changed accordingly.

    Parameters
    ----------
    kernel : kernel
        A callable `k(X, Y)` with `diag(X)`; one with `fit` is fitted to the training images.
    side : int, default=None
        Images are resized to this many pixels per side first. None leaves them as they are.
    name : str, default=None
        Name of the kernel, for showing its weight. None takes that of `kernel`.
    cost : float, default=1.0
        Factor of the classifier's `sigma`.

    Attributes
    ----------
    kernel_ : kernel
        The fitted kernel.
    images_ : array-like of n images
        The training images, resized.
    gamma_ : float or None
        The factor γ, where the kernel is scaled here.
    """

    def __init__(self, kernel, side=None, name=None, cost=1.0):
        self.kernel = kernel
        self.side = side
        self.name = name
        self.cost = cost

    def fit_gram(self, X, y=None) -> np.ndarray:
        """Fit the kernel.

        Parameters
        ----------
        X : array-like of shape (n, h, w) or (n, h, w, c), list of images, or flat rows of shape (n, d)
            Training images.
        y : array-like of shape (n,), default=None
            Ignored.

        Returns
        -------
        ndarray of shape (n, n)
            The Gram matrix of the training images.
        """
        X = check_images(self, X, reset=True)
        self.images_ = _resized(X, self.side)
        self.__dict__.pop("_kept_points", None)  # of images that it was fitted to before
        self.kernel_ = clone(self.kernel)
        self.gram_ = PsdCorrection("clip")
        if _is_scaled_here(self.kernel_):
            squared = self.kernel_.squared(self.images_)
            self.gamma_: float | None = inverse_mean(squared)
            return self.gram_.fit_transform(np.exp(-self.gamma_ * squared))
        if hasattr(self.kernel_, "fit"):
            self.kernel_.fit(self.images_)
        K = self.kernel_(self.images_)
        self.gamma_, self.lengths_ = None, _lengths(np.diag(K))
        return self.gram_.fit_transform(K / np.outer(self.lengths_, self.lengths_))

    def check_loaded(self) -> None:
        """Raise ValueError if images and their correction, read from a file, do not go together."""
        loaded.check_values(
            self, side=loaded.optional(loaded.whole(1, loaded.MAX_SIDE)), kernel=loaded.able("__call__", "diag")
        )
        if not loaded.is_fitted(self, "images_", "kernel_", "gram_", "gamma_"):
            return
        stacks = [loaded.array((None,) * n_axes) for n_axes in (2, 3, 4)]
        single = [loaded.array((None,) * n_axes) for n_axes in (2, 3)]
        loaded.check_values(
            self,
            kernel_=loaded.able("__call__", "diag"),
            images_=loaded.either(*stacks, loaded.list_of(loaded.either(*single), at_least=1)),
            gram_=loaded.instance(PsdCorrection),
            gamma_=loaded.optional(loaded.number(0, 1e12)),
        )
        n = len(self.images_)
        loaded.check_values(self.gram_, projection_=loaded.optional(loaded.array((n, n))))
        if self.gamma_ is None:
            loaded.check_values(self, lengths_=loaded.array((n,), np.float64, 1e-200))
        else:
            loaded.check_values(self.kernel_, squared=loaded.able("__call__"))

    def rows(self, X) -> np.ndarray:
        """Compare images with the training images.

        Parameters
        ----------
        X : array-like of shape (m, h, w) or (m, h, w, c), list of images, or flat rows of shape (m, d)
            Images.

        Returns
        -------
        ndarray of shape (m, n)
            Kernel values.
        """
        check_is_fitted(self)
        X = check_images(self, X, reset=False)
        images = _resized(X, self.side)
        if self.gamma_ is not None:
            return self.gram_.transform(np.exp(-self.gamma_ * self._squared(images)))
        lengths = np.outer(_lengths(self.kernel_.diag(images)), self.lengths_)
        return self.gram_.transform(self.kernel_(images, self.images_) / lengths)

    def _squared(self, images: Any) -> np.ndarray:
        """Squared distances (m, n) of images to the training images, of which all that can be is computed once."""
        if not hasattr(self.kernel_, "squared_to"):
            return self.kernel_.squared(images, self.images_)
        if not hasattr(self, "_kept_points"):
            self._kept_points = self.kernel_.points(self.images_)
        return self.kernel_.squared_to(images, self._kept_points)

    def __getstate__(self):
        """Leave out what can be computed again."""
        return {name: value for name, value in super().__getstate__().items() if name != "_kept_points"}


def as_base_kernel(part: Any) -> Any:
    """A copy of a base kernel; a kernel of images or a transformer wrapped as one."""
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
    return text if len(text) <= MAX_NAME_LENGTH else f"{type(inner).__name__} {place + 1}"


def inverse_mean(distances: np.ndarray) -> float:
    """One over the mean of the distances between different samples (n, n); 1 where all are the same."""
    n = len(distances)
    mean = (distances.sum() - np.trace(distances)) / max(n * (n - 1), 1)
    return float(1 / mean) if mean > 0 else 1.0


def _is_scaled_here(kernel: Any) -> bool:
    """Whether a kernel is made of squared distances whose scale was left open."""
    sigma = getattr(kernel, "sigma", "auto")
    return hasattr(kernel, "squared") and isinstance(sigma, str) and sigma == "auto"


def _resized(X: Any, side: int | None) -> Any:
    return X if side is None else resize_all(X, (side, side))


def _lengths(diagonal: np.ndarray) -> np.ndarray:
    return np.sqrt(np.maximum(diagonal, np.finfo(float).tiny))
