"""Ridge regression of class indicators, whose penalty is chosen by the errors of images that are left out."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

# What is compared, relative to the mean eigenvalue of the products of the features.
PENALTIES = 10.0 ** np.arange(-5, 2.1, 0.5)
N_ROWS = 2048  # images in double precision at a time
MIN_REST = 1e-6  # of one minus a leverage, which rounding can make 0


class Ridge(NamedTuple):
    """Scores of K classes: (features - means) @ weights + offsets.

    `held_out` are the scores (n, K) of every training image by the machine that was trained without it.
    """

    means: np.ndarray
    weights: np.ndarray
    offsets: np.ndarray
    penalty: float
    held_out: np.ndarray


def fit_ridge(features: np.ndarray, codes: np.ndarray, n_classes: int) -> Ridge:
    """Fit scores of 1 for the class of an image and -1 for the others.

    Parameters
    ----------
    features : ndarray of shape (n, m), float32
    codes : ndarray of shape (n,)
        Classes as indices.
    n_classes : int

    Returns
    -------
    ridge : Ridge
        With the penalty of `PENALTIES` that has the smallest squared error of left-out images. This error is exact and
        takes no further fits: an image's residual divided by one minus its leverage.
    """
    targets = np.full((len(features), n_classes), -1.0)
    targets[np.arange(len(targets)), codes] = 1.0
    means, offsets = features.mean(axis=0, dtype=np.float64), targets.mean(axis=0)
    gram, products = _sum_products(features, means, targets - offsets)
    values, vectors = np.linalg.eigh(gram)
    values = np.maximum(values, 0)
    penalties = PENALTIES * max(values.mean(), np.finfo(float).tiny)
    coefficients = (vectors.T @ products) / (values + penalties[:, None])[..., None]
    held_out = _leave_out(features, means, targets, offsets, vectors, 1 / (values + penalties[:, None]), coefficients)
    best = int(np.square(held_out - targets[:, None]).mean(axis=(0, 2)).argmin())
    return Ridge(means, vectors @ coefficients[best], offsets, float(penalties[best]), held_out[:, best])


def _blocks(features: np.ndarray, means: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield slices of rows with their centred features in double precision."""
    for start in range(0, len(features), N_ROWS):
        rows = slice(start, start + N_ROWS)
        yield rows, features[rows] - means


def _sum_products(features: np.ndarray, means: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Products of centred features with themselves (m, m) and with targets (m, K)."""
    gram, products = np.zeros((len(means),) * 2), np.zeros((len(means), targets.shape[1]))
    for rows, block in _blocks(features, means):
        gram += block.T @ block
        products += block.T @ targets[rows]
    return gram, products


def _leave_out(features, means, targets, offsets, vectors, shrunk, coefficients) -> np.ndarray:
    """Scores (n, P, K) of every image by the machines of P penalties that were trained without it."""
    n, n_penalties, n_classes = len(features), len(shrunk), targets.shape[1]
    flat = coefficients.transpose(1, 0, 2).reshape(len(means), -1)
    held_out = np.empty((n, n_penalties, n_classes))
    for rows, block in _blocks(features, means):
        rotated = block @ vectors
        leverages = np.square(rotated) @ shrunk.T + 1 / n
        residuals = targets[rows, None] - offsets - (rotated @ flat).reshape(-1, n_penalties, n_classes)
        held_out[rows] = targets[rows, None] - residuals / np.maximum(1 - leverages, MIN_REST)[..., None]
    return held_out
