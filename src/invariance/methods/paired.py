"""Two classifiers on the same images: by how much one is better, and whether that could be chance."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import binom, norm, t

LEVEL = 0.05


class Difference(NamedTuple):
    """Difference in accuracy to another classifier.

    Attributes
    ----------
    share : float
    low, high : float
        Bounds of the 95 % confidence interval.
    p : float
        Of McNemar's exact test.
    n_gained, n_lost : int
        Numbers of images that only this classifier, and that only the other one, classifies correctly.
    """

    share: float
    low: float
    high: float
    p: float
    n_gained: int
    n_lost: int


def compare_paired(is_right: np.ndarray, is_other_right: np.ndarray) -> Difference:
    """Return the difference of two classifiers that are right or not about the same images (n,).

    The p-value is that of McNemar's exact test. The interval is Wald's with half an image added to each of the four
    cells, after Agresti and Min (2005): it stays valid where the two differ on few images or none.
    """
    n = len(is_right)
    n_gained = int(np.count_nonzero(is_right & ~is_other_right))
    n_lost = int(np.count_nonzero(~is_right & is_other_right))
    centre = (n_gained - n_lost) / (n + 2)
    variance = ((n_gained + n_lost + 1) / (n + 2) - centre**2) / (n + 2)
    reach = norm.ppf(1 - LEVEL / 2) * np.sqrt(variance)
    p = min(1.0, 2 * float(binom.cdf(min(n_gained, n_lost), n_gained + n_lost, 0.5)))
    low, high = max(-1.0, centre - reach), min(1.0, centre + reach)
    return Difference((n_gained - n_lost) / n, float(low), float(high), p, n_gained, n_lost)


def mean_gain(gains: np.ndarray) -> tuple[float, float]:
    """Return the mean of gains (n,) between -1 and 1 on the same images, and its standard error.

    Half an image is added to each of the four cells, as in `compare_paired`: the error is never 0.
    """
    n = len(gains) + 2
    mean = float(gains.sum()) / n
    return mean, float(np.sqrt(((np.square(gains).sum() + 1) / n - mean**2) / n))


def quadratic_losses(probabilities: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the squared distances (n,) of probabilities (n, K) from certainty of the true classes (n,), 0 to 2."""
    return ((probabilities - np.eye(probabilities.shape[1])[codes]) ** 2).sum(axis=1)


def lead_in_errors(losses: np.ndarray, other_losses: np.ndarray) -> float:
    """Return by how many standard errors the mean of the losses (n,) is below that of others on the same images."""
    gains = other_losses - losses
    deviation = float(gains.std(ddof=1))
    return float(gains.mean()) * np.sqrt(len(gains)) / deviation if deviation > 0 else 0.0


def chance_of_lead(errors: float, n_images: int) -> float:
    """Return the p-value of a lead of so many standard errors either way, by the paired t-test."""
    return float(2 * t.sf(abs(errors), n_images - 1))


def correct_for_many(p_values: Sequence[float]) -> np.ndarray:
    """Return Holm's p-values (k,), corrected for the number of comparisons."""
    p = np.asarray(p_values, float)
    order = np.argsort(p, kind="stable")
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(1, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return corrected
