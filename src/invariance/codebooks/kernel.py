"""How similar two images are by the words they share: kernels and distances of bags, for the trade-off to weigh."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics.pairwise import additive_chi2_kernel

from invariance._core import loaded
from invariance._core.checks import check_choice, check_number

KINDS = ("chi2", "intersection")
# Bytes of a block of minima, to bound the memory of the intersection.
BLOCK_BYTES = 64 * 2**20


class BagKernel(BaseEstimator):
    """Kernel of non-negative bags X (n, d) and Y (m, d), positive definite in both kinds.

    Parameters
    ----------
    kind : {"chi2", "intersection"}, default="chi2"
        "intersection" is the sum over i of `min(x_i, y_i)`, "chi2" is `exp(-gamma Σ_i (x_i - y_i)² / (x_i + y_i))`.
    gamma : float, default=1.0
        Factor of the exponent of "chi2".
    """

    def __init__(self, kind="chi2", gamma=1.0):
        self.kind = kind
        self.gamma = gamma

    def check_loaded(self) -> None:
        """Raise ValueError if the parameters, read from a file, are not those of a kernel."""
        loaded.check_values(self, kind=loaded.one_of(*KINDS), gamma=loaded.number(0, 1e6))

    def __call__(self, X: Any, Y: Any = None) -> np.ndarray:
        """The Gram matrix.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Bags.
        Y : array-like of shape (m, d) or None, default=None
            Other bags; None means X.

        Returns
        -------
        ndarray of shape (n, m), float64
        """
        X = _check_bags("X", X)
        Y = X if Y is None else _check_bags("Y", Y)
        if X.shape[1] != Y.shape[1]:
            raise ValueError(f"X and Y must have the same number of words; got {X.shape[1]} and {Y.shape[1]}.")
        if check_choice("kind", self.kind, KINDS) == "chi2":
            return np.exp(check_number("gamma", self.gamma, 0) * additive_chi2_kernel(X, Y))
        K = np.empty((len(X), len(Y)))
        n_block = max(1, BLOCK_BYTES // (8 * Y.size))
        for start in range(0, len(X), n_block):
            K[start : start + n_block] = np.minimum(X[start : start + n_block, None], Y).sum(axis=2)
        return K

    def diag(self, X: Any) -> np.ndarray:
        """The diagonal (n,) of the Gram matrix of X, without the matrix."""
        X = _check_bags("X", X)
        return np.ones(len(X)) if self.kind == "chi2" else X.sum(axis=1)


def histogram_distances(X: Any, Y: Any = None, kind: str = "chi2") -> np.ndarray:
    """Distances of histograms, from 0 to 1 for those that sum to 1.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Histograms.
    Y : array-like of shape (m, d) or None, default=None
        Other histograms; None means X.
    kind : {"chi2", "intersection"}, default="chi2"
        "chi2" is `½ Σ_i (x_i - y_i)² / (x_i + y_i)`, "intersection" the larger sum minus `Σ_i min(x_i, y_i)`.

    Returns
    -------
    ndarray of shape (n, m), float64
    """
    if check_choice("kind", kind, KINDS) == "chi2":
        return -0.5 * additive_chi2_kernel(X, Y)
    kernel = BagKernel("intersection")
    other = X if Y is None else Y
    return np.maximum.outer(kernel.diag(X), kernel.diag(other)) - kernel(X, Y)


def _check_bags(name: str, bags: Any) -> np.ndarray:
    bags = np.asarray(bags, np.float64)
    if bags.ndim != 2 or not np.isfinite(bags).all() or (bags < 0).any():
        raise ValueError(f"{name} must be (n, d) of finite numbers that are not negative; got shape {bags.shape}.")
    return bags
