"""What learned weights say, [Varma07] sec. 1 and 4.

How they change with the size of the training set, which tasks are similar, and what to expect of another task.
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
    """Learn weights from training sets of several sizes.

    Parameters
    ----------
    classifier : TradeoffClassifier
        One that takes stacks of matrices, `kernels="precomputed"` or "distances"; clones of it are fitted.
    stack : ndarray of shape (k, n, n)
        Matrices of all samples.
    y : array-like of shape (n,)
        Their labels.
    sizes : sequence of int
        Numbers of samples per class.
    n_draws : int, default=5
        Number of training sets drawn per size.
    random_state : int, Generator or None, default=0
        Seed of the draws.

    Returns
    -------
    ndarray of shape (n_sizes, n_tasks, k)
        Shares of the weights, means over the draws.
    """
    stack, rng = check_stack(stack), make_rng(random_state)
    classes, codes = encode_labels(y, stack.shape[1])
    n_smallest = int(np.bincount(codes).min())
    for size in sizes:
        check_count("sizes", size, at_most=n_smallest)
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
    """Compare the tasks of a classifier by their weights.

    The similarity of two tasks is the overlap of their shares, Σ_k min(share, share). Similar tasks want the same
    invariances, though their images may differ.

    Parameters
    ----------
    classifier : TradeoffClassifier
        A fitted classifier.

    Returns
    -------
    ndarray of shape (n_tasks, n_tasks)
        Similarities, 1 for the same shares.
    """
    check_is_fitted(classifier)
    shares = classifier.shares_
    return np.minimum(shares[:, None], shares[None]).sum(axis=2)


def class_shares(classifier: Any) -> np.ndarray:
    """Average the weights over all tasks that a class takes part in.

    Parameters
    ----------
    classifier : TradeoffClassifier
        A fitted classifier.

    Returns
    -------
    ndarray of shape (n_classes, k)
        Mean shares of the weights.
    """
    check_is_fitted(classifier)
    rows = []
    for code in range(len(classifier.classes_)):
        takes_part = [code in (task.positive, task.negative) for task in classifier.tasks_]
        rows.append(classifier.shares_[takes_part].mean(axis=0))
    return np.array(rows)


def prior_from(classifier: Any, strength: float = 1.0) -> np.ndarray:
    """Make costs for another task, in which kernels that mattered in this one cost less.

    The costs are 1 / (1 + strength k share_k), scaled to a mean of 1.

    Parameters
    ----------
    classifier : TradeoffClassifier
        A fitted classifier.
    strength : float, default=1.0
        How much cheaper; 0 makes all costs equal.

    Returns
    -------
    ndarray of shape (k,)
        Costs, for the parameter `sigma` of another `TradeoffClassifier`.
    """
    check_is_fitted(classifier)
    strength = check_number("strength", strength, 0)
    shares = classifier.shares_.mean(axis=0)
    costs = 1 / (1 + strength * len(shares) * shares)
    return costs / costs.mean()
