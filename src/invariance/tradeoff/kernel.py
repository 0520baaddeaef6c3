"""A weighted sum of kernels as one kernel, for any kernel method."""

from typing import Any

import numpy as np
from sklearn.base import clone

from invariance._core.kernels import LearnedKernel


class TradeoffKernel(LearnedKernel):
    """k(X, Y) = Σ_k d_k K_k(X, Y) of kernels with `diag`; `fit` fits copies of those that learn something.

    weights None means equal ones that sum to 1.
    """

    def __init__(self, kernels, weights=None):
        self.kernels = kernels
        self.weights = weights

    def fit(self, X, y=None) -> "TradeoffKernel":
        """Fit the kernels that learn something from images."""
        copies = [clone(kernel) for kernel in self.kernels]
        self.kernels_ = [kernel.fit(X, y) if hasattr(kernel, "fit") else kernel for kernel in copies]
        return self

    def __call__(self, X, Y=None) -> np.ndarray:
        """The Gram matrix (n, m) float64."""
        return _weighted_sum(self._weights(), [kernel(X, Y) for kernel in self._kernels()])

    def diag(self, X) -> np.ndarray:
        """The diagonal (n,) of the Gram matrix of X, without the matrix."""
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
