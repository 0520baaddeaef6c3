"""Scores made probabilities by one learned factor, which leaves the most probable class where the scores put it."""

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

LEAST, GREATEST = 1e-3, 1e3


def learn_sharpness(scores: np.ndarray, codes: np.ndarray) -> float:
    """The factor a that makes softmax(a scores) most likely, for held-out scores (n, K) or decisions (n,)."""
    columns, rows = _as_columns(scores), np.arange(len(codes))

    def loss(logarithm: float) -> float:
        # The squared logarithm, as if a had been seen near 1 once, keeps perfect scores from an infinite factor.
        return -log_softmax(np.exp(logarithm) * columns, axis=1)[rows, codes].sum() + 0.5 * logarithm**2

    found = minimize_scalar(loss, bounds=(np.log(LEAST), np.log(GREATEST)), method="bounded")
    return float(np.exp(found.x))


def scores_to_probabilities(scores: np.ndarray, sharpness: float) -> np.ndarray:
    """Probabilities (n, K) from scores (n, K), or (n, 2) from decisions (n,)."""
    return softmax(sharpness * _as_columns(scores), axis=1)


def _as_columns(scores: np.ndarray) -> np.ndarray:
    """Decisions for the second of two classes as a score of each; scores as they are."""
    if scores.ndim == 2 and scores.shape[1] > 1:
        return scores
    return np.stack([-scores.ravel(), scores.ravel()], axis=1) / 2
