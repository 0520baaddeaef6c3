"""Gram matrices that users give: are they symmetric and positive semi-definite, and what is done if not.

The machines are convex problems, and their gaps are bounds, only for positive semi-definite matrices; [Varma07] sec. 3
takes care that all of them are.
"""

import warnings
from collections.abc import Sequence

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigvalsh

from invariance.tangents.psd import PsdCorrection

# Share of the largest eigenvalue. Matrices kept in single precision have eigenvalues that are wrong by a tenth of it.
NEGLIGIBLE = 1e-6
MAX_ASYMMETRY = 1e-3  # share of the largest entry: more than rounding explains, even in single precision


def correct_grams(
    Ks: np.ndarray, names: Sequence[str], how: str | None
) -> tuple[np.ndarray, list[PsdCorrection], np.ndarray]:
    """Check a stack of Gram matrices, and make them positive semi-definite if asked to.

    Parameters
    ----------
    Ks : ndarray of shape (k, n, n)
        Gram matrices of the training samples.
    names : sequence of k str
        Their names, for the error and the warning.
    how : {"clip", "flip"} or None
        The correction; without one, matrices that are not positive semi-definite cause a warning.

    Returns
    -------
    Ks : ndarray of shape (k, n, n)
        The matrices, corrected.
    corrections : list of k PsdCorrection
        What was done, to be applied to rows of other samples.
    most_negative : ndarray of shape (k,)
        `most_negative_eigenvalue` of each matrix as it was given.
    """
    for K, name in zip(Ks, names, strict=True):
        _check_symmetry(K, name)
    most_negative = np.array([most_negative_eigenvalue(K) for K in Ks])
    if how is None:
        _warn_of_indefinite(most_negative, names)
    corrections = [PsdCorrection(how) for _ in Ks]
    corrected = [correction.fit_transform(K) for correction, K in zip(corrections, Ks, strict=True)]
    return Ks if how is None else np.stack(corrected), corrections, most_negative


def correct_rows(rows: np.ndarray, corrections: Sequence[PsdCorrection]) -> np.ndarray:
    """Rows (k, m, n) of other samples against the training samples, changed as the matrices of the latter were."""
    if all(correction.projection_ is None for correction in corrections):
        return rows
    return np.stack([correction.transform(K) for correction, K in zip(corrections, rows, strict=True)])


def most_negative_eigenvalue(K: np.ndarray) -> float:
    """The most negative eigenvalue of a symmetric matrix (n, n) as a share of the largest absolute one.

    0 where it is negligible. Most matrices are found positive semi-definite by a Cholesky factorization, which is many
    times as fast as finding their eigenvalues.
    """
    n = len(K)
    # Both are at most the largest eigenvalue, so that the shift is at most what is negligible.
    scale = max(float(np.diag(K).max()), float(K.sum()) / n)
    if scale > 0:
        try:
            cholesky(K + NEGLIGIBLE * scale * np.eye(n), lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            pass
        else:
            return 0.0
    values = eigvalsh(K)
    largest = float(np.abs(values).max())
    return float(values[0]) / largest if values[0] < -NEGLIGIBLE * largest else 0.0


def _check_symmetry(K: np.ndarray, name: str) -> None:
    apart = float(np.abs(K - K.T).max())
    if apart > MAX_ASYMMETRY * float(np.abs(K).max()):
        raise ValueError(
            f"training matrices must be symmetric; '{name}' differs from its transpose by up to {apart:.2g}. "
            "Give (K + K.T) / 2, and likewise for the rows of predict."
        )


def _warn_of_indefinite(most_negative: np.ndarray, names: Sequence[str]) -> None:
    found = [f"'{name}' ({share:.2g})" for name, share in zip(names, most_negative, strict=True) if share < 0]
    if found:
        warnings.warn(
            f"{len(found)} of {len(names)} Gram matrices are not positive semi-definite; most negative eigenvalue as a "
            f"share of the largest: {', '.join(found)}. The machines may not find an optimum, and gaps are no bounds. "
            "Try psd_correction='clip'.",
            UserWarning,
            stacklevel=5,
        )
