"""The derived kernel: how alike two images are by their neural responses, [Wibisono10] def. 2.1."""

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from invariance._core.kernels import LearnedKernel
from invariance.hierarchies.response import NeuralResponse


class DerivedKernel(LearnedKernel):
    """k(X, Y) of images: the product of their normalised neural responses, positive semi-definite.

    response : a `NeuralResponse`, fitted or not; `fit` fits a copy of it. None means the default one. Usable as
    `SVC(kernel=k)` with flat rows if the response has an `image_shape`.
    """

    def __init__(self, response=None):
        self.response = response

    def fit(self, X, y=None) -> "DerivedKernel":
        """Learn the templates from images."""
        self.response_ = (NeuralResponse() if self.response is None else clone(self.response)).fit(X)
        return self

    def __call__(self, X, Y=None) -> np.ndarray:
        """The Gram matrix (n, m) float64."""
        rows = self._fitted().transform(X)
        return rows @ (rows if Y is None else self._fitted().transform(Y)).T

    def diag(self, X) -> np.ndarray:
        """The diagonal (n,) of the Gram matrix of X, without the matrix: 1, or 0 where nothing responds."""
        rows = self._fitted().transform(X)
        return np.einsum("ij,ij->i", rows, rows)

    def __sklearn_clone__(self) -> "DerivedKernel":
        """A response that was fitted before it was given must survive as well."""
        copied = super().__sklearn_clone__()
        if hasattr(self.response, "stages_") and not hasattr(copied, "response_"):
            copied.response_ = self.response
        return copied

    def distances(self, X, Y=None) -> np.ndarray:
        """Distances (n, m) induced by the kernel, √(k(x, x) + k(y, y) - 2 k(x, y)), for nearest neighbours.

        From the differences of the responses, not from 1 - k, which hardly differs from 0.
        """
        rows = self._fitted().transform(X)
        return cdist(rows, rows if Y is None else self._fitted().transform(Y))

    def _fitted(self) -> NeuralResponse:
        response = getattr(self, "response_", self.response)
        if response is None:
            check_is_fitted(self, "response_")
        check_is_fitted(response)
        return response
