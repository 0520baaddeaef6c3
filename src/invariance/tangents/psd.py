"""Kernels that are not positive definite: how far they are from it, and how to make their matrices so.

A support vector machine may find no optimum with an indefinite Gram matrix K = U Λ Uᵀ. "clip" sets negative eigenvalues
to 0, "flip" takes their absolute values. Both are K P with P = U f(Λ) Uᵀ, f being 0 or -1 where Λ is negative and 1
elsewhere; test rows are multiplied by the same P, so training and test images are changed alike.
"""

import numpy as np
from scipy.linalg import eigh, eigvalsh
from sklearn.base import BaseEstimator

from invariance._core.checks import check_choice


class PsdCorrection(BaseEstimator):
    """Gram matrices made positive semi-definite; how="clip" or "flip", None leaves them as they are."""

    def __init__(self, how=None):
        self.how = how

    def fit_transform(self, K: np.ndarray) -> np.ndarray:
        """The training matrix (n, n), repaired."""
        self.projection_ = None
        if self.how is None:
            return K
        check_choice("psd_correction", self.how, ("clip", "flip"))
        values, vectors = eigh(K)
        if values[0] >= 0:
            return K
        signs = np.where(values < 0, 0.0 if self.how == "clip" else -1.0, 1.0)
        self.projection_ = (vectors * signs) @ vectors.T
        repaired = (vectors * (signs * values)) @ vectors.T
        return (repaired + repaired.T) / 2

    def transform(self, K: np.ndarray) -> np.ndarray:
        """Rows (m, n) of test images against the training images, changed as the training matrix was."""
        return K if self.projection_ is None else K @ self.projection_


def negative_share(K: np.ndarray) -> float:
    """The share of negative eigenvalues in the sum of all eigenvalues' sizes: 0 for a positive semi-definite matrix."""
    values = eigvalsh(K)
    tolerance = len(K) * np.finfo(float).eps * max(np.abs(values).max(), np.finfo(float).tiny)
    negative = values[values < -tolerance]
    return float(-negative.sum() / np.abs(values).sum()) if len(negative) else 0.0
