"""Splitting one leaf: draw the classes to separate, learn a filter for them, cut its responses, [Laptev15] sec. 3.3.

Differs from [Laptev15]: the threshold may be that of the largest information gain, since with unbalanced nodes a
threshold of zero leaves nearly all samples on one side; a filter may be learned for two groups of all classes instead
of two classes, which uses every sample of the node.
"""

from typing import NamedTuple

import numpy as np

from invariance.jungles import _jit
from invariance.jungles.filters import Geometry, learn_filter
from invariance.jungles.orbits import Orbits


class Growth(NamedTuple):
    """The parameters of an estimator that concern one jungle; `max_width` None grows a tree."""

    max_depth: int
    max_width: int | None
    threshold: str
    targets: str
    smoothness: float
    relaxation: str
    min_samples_leaf: int
    max_steps: int
    n_init: int
    patience: int


class Samples(NamedTuple):
    """The samples a jungle is grown on.

    Attributes
    ----------
    orbits : Orbits
        Their n orbits under Φ.
    codes : ndarray of shape (n,)
        Class codes from 0 to n_classes - 1.
    weights : ndarray of shape (n,)
        Sample weights.
    held_out : ndarray of shape (n,), bool
        Which samples serve for validation.
    n_classes : int
        Number of classes.
    """

    orbits: Orbits
    codes: np.ndarray
    weights: np.ndarray
    held_out: np.ndarray
    n_classes: int


class Split(NamedTuple):
    """The split of a leaf.

    Attributes
    ----------
    node : int
        The leaf.
    coordinates : ndarray of shape (r,)
        Its filter in the reduced basis.
    threshold : float
        Samples whose response is larger go right.
    below, above : ndarray
        The rows that go left and right, validation samples included.
    """

    node: int
    coordinates: np.ndarray
    threshold: float
    below: np.ndarray
    above: np.ndarray


def split_leaf(
    samples: Samples, leaf: int, rows, training, geometry: Geometry, growth: Growth, smoothness: float, rng
) -> Split | None:
    """Try to split a leaf once; None if one side would get fewer than `min_samples_leaf` training samples."""
    chosen, targets = draw_targets(samples, training, growth.targets, rng)
    learned = learn_filter(
        samples.orbits.take(chosen),
        targets,
        samples.weights[chosen],
        geometry,
        smoothness,
        growth.max_steps,
        growth.n_init,
        rng,
    )
    responses = samples.orbits.take(rows).largest_responses(learned.coordinates[None])[:, 0]
    trained_on = ~samples.held_out[rows]
    if growth.threshold == "zero":
        threshold = -learned.bias
    else:
        threshold = gain_threshold(
            responses[trained_on], samples.codes[training], samples.weights[training], samples.n_classes, growth
        )
    # As in routing: a Python float would first be rounded to the single precision of the responses.
    above = responses > np.float64(threshold)
    n_above = np.count_nonzero(above[trained_on])
    if not growth.min_samples_leaf <= n_above <= len(training) - growth.min_samples_leaf:
        return None
    return Split(leaf, learned.coordinates, float(threshold), rows[~above], rows[above])


def draw_targets(samples: Samples, rows: np.ndarray, targets: str, rng) -> tuple[np.ndarray, np.ndarray]:
    """Draw what a filter is to separate: the rows to learn from, and their targets in {-1, +1}.

    "pairs" draws two classes with probability proportional to their weight among the rows, as in [Laptev15]; "groups"
    divides all classes among the rows at random into two groups of about the same number of classes; "rest" draws one
    class in the same way as a pair and separates it from the rest.
    """
    presence = np.bincount(samples.codes[rows], weights=samples.weights[rows], minlength=samples.n_classes)
    if targets == "pairs":
        first, second = rng.choice(samples.n_classes, size=2, replace=False, p=presence / presence.sum())
        rows = rows[np.isin(samples.codes[rows], (first, second))]
        return rows, np.where(samples.codes[rows] == second, 1.0, -1.0)
    if targets == "rest":
        first = rng.choice(samples.n_classes, p=presence / presence.sum())
        return rows, np.where(samples.codes[rows] == first, 1.0, -1.0)
    present = rng.permutation(np.flatnonzero(presence))
    return rows, np.where(np.isin(samples.codes[rows], present[: len(present) // 2]), 1.0, -1.0)


def gain_threshold(responses, codes, weights, n_classes: int, growth: Growth) -> float:
    """Find the cut of largest information gain, midway between two responses; infinite if no cut gains any."""
    order = np.argsort(responses, kind="stable")
    threshold, gain = _jit.best_threshold(
        responses[order].astype(np.float64), codes[order], weights[order], n_classes, growth.min_samples_leaf
    )
    return threshold if gain > 0 else np.inf
