"""The derived kernel: the similarity of two images by their neural responses, [Wibisono10] def. 2.1."""

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from invariance._core import loaded
from invariance._core.kernels import LearnedKernel
from invariance.hierarchies.response import NeuralResponse


class DerivedKernel(LearnedKernel):
    """Kernel k(X, Y) of images: the product of their normalised neural responses, positive semi-definite.

    Usable as ``SVC(kernel=k)`` with flat rows if the response has an `image_shape`. It is invariant to whatever its
    response is invariant to, see the parameter `transformations` of `NeuralResponse`.

    Parameters
    ----------
    response : NeuralResponse or None, default=None
        Fitted or not; `fit` fits a copy of it. None means the default one.

    Attributes
    ----------
    response_ : NeuralResponse
        Fitted response.
    n_features_in_ : int
        Number of values of an image.
    """

    def __init__(self, response=None):
        self.response = response

    def fit(self, X, y=None) -> "DerivedKernel":
        """Learn the templates from images.

        Parameters
        ----------
        X : array-like of shape (n, h, w), (n, h, w, c) or (n, d)
            Training images.
        y : None
            Ignored.

        Returns
        -------
        self : DerivedKernel
        """
        self.response_ = (NeuralResponse() if self.response is None else clone(self.response)).fit(X)
        self.n_features_in_ = self.response_.n_features_in_
        return self

    def check_loaded(self) -> None:
        """Raise ValueError if the response, read from a file, is none."""
        loaded.check_values(self, response=loaded.optional(loaded.instance(NeuralResponse)))
        if hasattr(self, "response_"):
            loaded.check_values(self, response_=loaded.instance(NeuralResponse))

    def __call__(self, X, Y=None) -> np.ndarray:
        """Return the Gram matrix (n, m) float64 of images X and Y, or of X and X."""
        rows = self._fitted().transform(X)
        return rows @ (rows if Y is None else self._fitted().transform(Y)).T

    def diag(self, X) -> np.ndarray:
        """Return the diagonal (n,) of the Gram matrix of X without computing it: 1, or 0 without any response."""
        rows = self._fitted().transform(X)
        return np.einsum("ij,ij->i", rows, rows)

    def distances(self, X, Y=None) -> np.ndarray:
        """Return the distances (n, m) induced by the kernel, √(k(x, x) + k(y, y) - 2 k(x, y)), for nearest neighbours.

        They are computed from the differences of the responses, because 1 - k loses its digits where k is near 1.
        """
        rows = self._fitted().transform(X)
        return cdist(rows, rows if Y is None else self._fitted().transform(Y))

    def __sklearn_clone__(self) -> "DerivedKernel":
        """Copy the kernel and keep a response that was fitted before it was passed."""
        copied = super().__sklearn_clone__()
        if hasattr(self.response, "stages_") and not hasattr(copied, "response_"):
            copied.response_ = self.response
        return copied

    def _fitted(self) -> NeuralResponse:
        response = getattr(self, "response_", self.response)
        if response is None:
            check_is_fitted(self, "response_")
        check_is_fitted(response)
        return response
