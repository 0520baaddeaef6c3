"""A weighted sum of kernels as one kernel, for any kernel method."""

from typing import Any

import numpy as np
from sklearn.base import clone

from invariance._core import loaded
from invariance._core.kernels import LearnedKernel
from invariance.tradeoff.inputs import check_images


class TradeoffKernel(LearnedKernel):
    """The kernel k(X, Y) = Σ_k d_k K_k(X, Y), a weighted sum of kernels.

    Parameters
    ----------
    kernels : list of k kernels
        Callables `k(X, Y)` with `diag(X)`, such as `TangentDistance()`. Clones of those with `fit` are fitted.
    weights : array-like of shape (k,), default=None
        The weights d, none of them negative. None is 1 / k for each.

    Attributes
    ----------
    kernels_ : list of k kernels
        The fitted kernels.
    n_features_in_ : int
        Number of values per row, where `fit` was given flat rows.
    """

    def __init__(self, kernels, weights=None):
        self.kernels = kernels
        self.weights = weights

    def fit(self, X, y=None) -> "TradeoffKernel":
        """Fit the kernels that learn something from images.

        Parameters
        ----------
        X : array-like of shape (n, h, w) or (n, h, w, c), or flat rows of shape (n, d)
            Images.
        y : array-like of shape (n,), default=None
            Their labels, for kernels that learn from them.

        Returns
        -------
        TradeoffKernel
            The fitted kernel.
        """
        X = check_images(self, X, reset=True)
        copies = [clone(kernel) for kernel in self.kernels]
        self.kernels_ = [kernel.fit(X, y) if hasattr(kernel, "fit") else kernel for kernel in copies]
        return self

    def check_loaded(self) -> None:
        """Raise ValueError if the kernels, read from a file, are none."""
        kernel = loaded.able("__call__", "diag")
        loaded.check_values(self, kernels=loaded.list_of(kernel, at_least=1))
        if hasattr(self, "kernels_"):
            loaded.check_values(self, kernels_=loaded.list_of(kernel, len(self.kernels)))
        self._weights()

    def __call__(self, X, Y=None) -> np.ndarray:
        """Compute a Gram matrix.

        Parameters
        ----------
        X : array-like of n images or flat rows
            Images.
        Y : array-like of m images or flat rows, default=None
            Images to compare with; None is X.

        Returns
        -------
        ndarray of shape (n, m), float64
            The Gram matrix.
        """
        return _weighted_sum(self._weights(), [kernel(X, Y) for kernel in self._kernels()])

    def diag(self, X) -> np.ndarray:
        """Compute the diagonal of the Gram matrix of X, without the matrix.

        Parameters
        ----------
        X : array-like of n images or flat rows
            Images.

        Returns
        -------
        ndarray of shape (n,)
            The diagonal.
        """
        return _weighted_sum(self._weights(), [kernel.diag(X) for kernel in self._kernels()])

    def _kernels(self) -> list[Any]:
        return getattr(self, "kernels_", self.kernels)

    def _weights(self) -> np.ndarray:
        n = len(self.kernels)
        if n == 0:
            raise ValueError("kernels must hold at least one kernel; got none.")
        weights = np.full(n, 1 / n) if self.weights is None else np.asarray(self.weights, np.float64)
        if weights.shape != (n,) or not np.isfinite(weights).all() or (weights < 0).any():
            raise ValueError(f"weights must be {n} numbers that are not negative; got {self.weights!r}.")
        return weights


def _weighted_sum(weights: np.ndarray, parts: list[Any]) -> np.ndarray:
    total = weights[0] * parts[0]
    for weight, part in zip(weights[1:], parts[1:], strict=True):
        total += weight * part
    return total
