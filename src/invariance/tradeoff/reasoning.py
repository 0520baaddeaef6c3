"""What the weights say, [Varma07] sec. 1 and 4.

How they change with the size of the training set, which tasks are alike, and what to expect of another task.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from invariance._core.checks import check_count, check_number
from invariance._core.progress import track
from invariance._core.randomness import RandomState, make_rng
from invariance.images import encode_labels
from invariance.tradeoff.inputs import check_stack


def weights_by_size(
    classifier: Any, stack: np.ndarray, y: Any, sizes: Sequence[int], n_draws: int = 5, random_state: RandomState = 0
) -> np.ndarray:
    """Mean shares (sizes, tasks, k) of the weights learned from so many samples per class, over several draws.

    `classifier` takes stacks of matrices; `stack` (k, n, n) and labels y (n,) are those of all samples.
    """
    stack, rng = check_stack(stack), make_rng(random_state)
    classes, codes = encode_labels(y, stack.shape[1])
    least = int(np.bincount(codes).min())
    for size in sizes:
        check_count("sizes", size, at_most=least)
    shares = []
    for size in track(sizes, "learning weights"):
        learned = []
        for _ in range(check_count("n_draws", n_draws)):
            drawn = [rng.permutation(np.flatnonzero(codes == code))[:size] for code in range(len(classes))]
            some = np.sort(np.concatenate(drawn))
            learned.append(clone(classifier).fit(stack[:, some[:, None], some], classes[codes[some]]).shares_)
        shares.append(np.mean(learned, axis=0))
    return np.array(shares)


def task_similarity(classifier: Any) -> np.ndarray:
    """How alike the tasks of a fitted classifier are by their weights: (tasks, tasks), 1 for the same shares.

    The overlap Σ_k min(share, share): tasks that are alike want the same invariances, though what they show may differ.
    """
    check_is_fitted(classifier)
    shares = classifier.shares_
    return np.minimum(shares[:, None], shares[None]).sum(axis=2)


def class_shares(classifier: Any) -> np.ndarray:
    """The mean shares (K, k) of the weights over all tasks that a class takes part in."""
    check_is_fitted(classifier)
    rows = []
    for code in range(len(classifier.classes_)):
        takes_part = [code in (task.positive, task.negative) for task in classifier.tasks_]
        rows.append(classifier.shares_[takes_part].mean(axis=0))
    return np.array(rows)


def prior_from(classifier: Any, strength: float = 1.0) -> np.ndarray:
    """σ (k,) for another task: kernels that mattered in this one are made cheaper, their mean cost stays 1.

    σ_k is 1 / (1 + strength k share_k) before that; strength 0 makes all equal.
    """
    check_is_fitted(classifier)
    strength = check_number("strength", strength, 0)
    shares = classifier.shares_.mean(axis=0)
    costs = 1 / (1 + strength * len(shares) * shares)
    return costs / costs.mean()
