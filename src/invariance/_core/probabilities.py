"""Probabilities from scores by one learned factor, which keeps the class with the largest score the most probable."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

# Bounds of the search, three orders of magnitude around 1; worthless scores run into the lower one.
MIN_SHARPNESS, MAX_SHARPNESS = 1e-3, 1e3


def learn_sharpness(scores: np.ndarray, codes: np.ndarray) -> float:
    """Find the factor a for which softmax(a scores) is most likely.

    Parameters
    ----------
    scores : ndarray of shape (n, K) or (n,)
        Scores of samples that were not trained on, or the decisions of two classes.
    codes : ndarray of shape (n,)
        Their classes as indices.

    Returns
    -------
    sharpness : float
    """
    columns, rows = _as_columns(scores), np.arange(len(codes))

    def loss(logarithm: float) -> float:
        # The squared logarithm, as if a had been seen near 1 once, keeps perfect scores from an infinite factor.
        return -log_softmax(np.exp(logarithm) * columns, axis=1)[rows, codes].sum() + 0.5 * logarithm**2

    found = minimize_scalar(loss, bounds=(np.log(MIN_SHARPNESS), np.log(MAX_SHARPNESS)), method="bounded")
    return float(np.exp(found.x))


def scores_to_probabilities(scores: np.ndarray, sharpness: float) -> np.ndarray:
    """Convert scores to probabilities.

    Parameters
    ----------
    scores : ndarray of shape (n, K) or (n,)
        Scores, or the decisions of two classes.
    sharpness : float
        The factor that `learn_sharpness` found.

    Returns
    -------
    probabilities : ndarray of shape (n, K)
    """
    return softmax(sharpness * _as_columns(scores), axis=1)


def _as_columns(scores: np.ndarray) -> np.ndarray:
    """Return a score for each of two classes from decisions for the second; scores are returned as they are."""
    if scores.ndim == 2 and scores.shape[1] > 1:
        return scores
    return np.stack([-scores.ravel(), scores.ravel()], axis=1) / 2


@contextmanager
def few_samples_per_class() -> Iterator[None]:
    """Silence scikit-learn's warning that labels of few samples per class could be a regression problem.

    Folds of a few images per class are usual here; the labels were checked before.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The number of unique classes is greater than 50%")
        yield
