"""Positive semi-definite correction of Gram matrices.

A support vector machine may find no optimum with an indefinite Gram matrix K = U Λ Uᵀ. "clip" sets negative eigenvalues
to 0, "flip" takes their absolute values. Both are K P with P = U f(Λ) Uᵀ, where f is 0 or -1 for negative eigenvalues
and 1 otherwise. Rows of test images are multiplied by the same P, so that training and test images are treated alike.
"""

import numpy as np
from scipy.linalg import eigh, eigvalsh
from sklearn.base import BaseEstimator

from invariance._core import loaded
from invariance._core.checks import check_choice


class PsdCorrection(BaseEstimator):
    """Make Gram matrices positive semi-definite.

    Parameters
    ----------
    how : {"clip", "flip"} or None, default=None
        Set negative eigenvalues to 0, take their absolute values, or leave matrices unchanged.

    Attributes
    ----------
    projection_ : ndarray of shape (n, n) or None
        Factor of the rows of other images; None if the training matrix needed no correction.
    """

    def __init__(self, how=None):
        self.how = how

    def fit_transform(self, K: np.ndarray) -> np.ndarray:
        """Return the corrected training matrix (n, n)."""
        self.projection_ = None
        if check_psd_correction(self.how) is None:
            return K
        values, vectors = eigh(K)
        if values[0] >= 0:
            return K
        signs = np.where(values < 0, 0.0 if self.how == "clip" else -1.0, 1.0)
        self.projection_ = (vectors * signs) @ vectors.T
        corrected = (vectors * (signs * values)) @ vectors.T
        return (corrected + corrected.T) / 2

    def check_loaded(self) -> None:
        """Raise ValueError if the factor, read from a file, is none."""
        loaded.check_values(self, how=loaded.one_of(None, "clip", "flip"))
        if hasattr(self, "projection_") and self.projection_ is not None:
            # A projection or reflection: no value is above 1 but for rounding.
            loaded.check_values(self, projection_=loaded.array((None, None), np.float64, -2, 2))
            loaded.check_values(self, projection_=loaded.array((len(self.projection_),) * 2))

    def transform(self, K: np.ndarray) -> np.ndarray:
        """Return rows (m, n) of other images against the training images, changed as the training matrix was."""
        return K if self.projection_ is None else K @ self.projection_


def check_psd_correction(how: str | None) -> str | None:
    """Return the correction if it is known."""
    return None if how is None else check_choice("psd_correction", how, ("clip", "flip"))


def negative_share(K: np.ndarray) -> float:
    """Share of negative eigenvalues in the sum of absolute eigenvalues: 0 for a positive semi-definite matrix."""
    values = eigvalsh(K)
    # Eigenvalues are exact up to about n times the rounding of the largest one.
    tolerance = len(K) * np.finfo(float).eps * max(np.abs(values).max(), np.finfo(float).tiny)
    negative = values[values < -tolerance]
    return float(-negative.sum() / np.abs(values).sum()) if len(negative) else 0.0
