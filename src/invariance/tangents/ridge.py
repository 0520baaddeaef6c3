"""Ridge regression of class indicators, from sums over blocks of images, its penalty chosen by images left out."""

from functools import partial
from typing import NamedTuple

import numpy as np

from invariance._core.parallel import map_jobs, one_blas_thread

# What is compared, relative to the mean eigenvalue of the products of the features.
PENALTIES = 10.0 ** np.arange(-5, 2.1, 0.5)
N_ROWS = 2048  # images in double precision at a time
N_COLUMNS = 512  # features whose products one thread computes at a time
MIN_REST = 1e-6  # of one minus a leverage, which rounding can make 0


class Sums:
    """Sums over images from which a regression is fitted; nothing else of the images is kept.

    Memory is 8 bytes per pair of features, whatever the number of images.

    Parameters
    ----------
    n_features, n_classes : int

    Attributes
    ----------
    products : ndarray of shape (m, m)
        Products of features with each other; only the lower triangle is filled.
    totals : ndarray of shape (n_classes, m)
        Sums of the features of every class.
    counts : ndarray of shape (n_classes,)
        Number of images of every class.
    """

    def __init__(self, n_features: int, n_classes: int):
        self.products = np.zeros((n_features, n_features))
        self.totals = np.zeros((n_classes, n_features))
        self.counts = np.zeros(n_classes)

    def add(self, features: np.ndarray, codes: np.ndarray, n_jobs: int | None = None) -> None:
        """Add images.

        Parameters
        ----------
        features : ndarray of shape (n, m), float32
        codes : ndarray of shape (n,)
            Classes as indices.
        n_jobs : int or None, default=None
            Number of threads, which does not change the sums.
        """
        stripes = range(0, len(self.products), N_COLUMNS)
        for start in range(0, len(features), N_ROWS):
            block, some = features[start : start + N_ROWS].astype(np.float64), codes[start : start + N_ROWS]
            map_jobs(partial(self._add_stripe, block), stripes, n_jobs)
            for code in np.unique(some):
                self.totals[code] += block[some == code].sum(axis=0)
            self.counts += np.bincount(some, minlength=len(self.counts))

    def _add_stripe(self, block: np.ndarray, start: int) -> None:
        stop = start + N_COLUMNS
        self.products[start:stop, :stop] += block[:, start:stop].T @ block[:, :stop]


class Ridge(NamedTuple):
    """Scores of K classes: (features - means) @ weights + offsets.

    `held_out` are the scores (n, K) of images by the machines that were trained without each of them.
    """

    means: np.ndarray
    weights: np.ndarray
    offsets: np.ndarray
    penalty: float
    held_out: np.ndarray


def fit_ridge(sums: Sums, features: np.ndarray, codes: np.ndarray) -> Ridge:
    """Fit scores of 1 for the class of an image and -1 for the others.

    Parameters
    ----------
    sums : Sums
        Of all images.
    features : ndarray of shape (n, m), float32
        Of all images or of some of them, by which the penalty is chosen.
    codes : ndarray of shape (n,)
        Their classes as indices.

    Returns
    -------
    ridge : Ridge
        With the penalty of `PENALTIES` for which these images, each left out, have the smallest squared error. This
        error is exact and takes no further fits: the residual of an image divided by one minus its leverage.
    """
    n_images = sums.counts.sum()
    means, offsets = sums.totals.sum(axis=0) / n_images, 2 * sums.counts / n_images - 1
    products = 2 * (sums.totals - sums.counts[:, None] * means).T
    with one_blas_thread():
        centred = np.outer(means, -n_images * means)
        centred += sums.products
        values, vectors = np.linalg.eigh(centred, UPLO="L")
        values = np.maximum(values, 0)
        penalties = PENALTIES * max(values.mean(), np.finfo(float).tiny)
        shrunk = 1 / (values + penalties[:, None])
        coefficients = (vectors.T @ products) * shrunk[..., None]
        targets = np.where(codes[:, None] == np.arange(len(offsets)), 1.0, -1.0)
        held_out = _leave_out(features, targets, (means, offsets), vectors, shrunk, coefficients, n_images)
        best = int(np.square(held_out - targets[:, None]).mean(axis=(0, 2)).argmin())
        weights = vectors @ coefficients[best]
    return Ridge(means, weights, offsets, float(penalties[best]), held_out[:, best])


def _leave_out(features, targets, centre, vectors, shrunk, coefficients, n_images) -> np.ndarray:
    """Scores (n, P, K) of every image by the machines of P penalties that were trained without it."""
    means, offsets = centre
    n_penalties, n_classes = len(shrunk), targets.shape[1]
    flat = coefficients.transpose(1, 0, 2).reshape(len(means), -1)
    held_out = np.empty((len(features), n_penalties, n_classes))
    for start in range(0, len(features), N_ROWS):
        rows = slice(start, start + N_ROWS)
        rotated = (features[rows] - means) @ vectors
        leverages = np.square(rotated) @ shrunk.T + 1 / n_images
        residuals = targets[rows, None] - offsets - (rotated @ flat).reshape(-1, n_penalties, n_classes)
        held_out[rows] = targets[rows, None] - residuals / np.maximum(1 - leverages, MIN_REST)[..., None]
    return held_out
