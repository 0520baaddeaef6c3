"""Predictions of boosted trees for millions of pixels, by bit masks instead of paths."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, softmax
from sklearn.ensemble import HistGradientBoostingClassifier

from invariance.segmentation import _jit
from invariance.segmentation.sklearn_boosting import BoostedTrees, read_trees

# One bit per leaf in 32-bit masks.
MAX_LEAVES = 32
ALL_LEAVES = 0xFFFFFFFF
COLUMNS = ("is_leaf", "value", "left", "right", "feature_idx", "num_threshold")


class MaskedTrees(NamedTuple):
    """All trees of one score, as `_jit.add_trees` reads them.

    Attributes
    ----------
    first_test : ndarray of shape (n_trees + 1,)
        The tests of tree t are `first_test[t]:first_test[t + 1]`.
    feature : ndarray of shape (n_tests,)
        The feature of every test.
    threshold : ndarray of shape (n_tests,), float32
        Samples above it go right.
    kept : ndarray of shape (n_tests,), uint32
        The leaves that can still be reached after going right.
    first_leaf : ndarray of shape (n_trees,)
        The leaves of tree t start at `value[first_leaf[t]]`.
    value : ndarray of shape (n_leaves,)
        The values of all leaves, from left to right.
    """

    first_test: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    kept: np.ndarray
    first_leaf: np.ndarray
    value: np.ndarray


class MaskedBoosting:
    """The trees of a fitted `HistGradientBoostingClassifier`: the same probabilities of finite features, faster.

    Parameters
    ----------
    trees : BoostedTrees
        Trees of at most `MAX_LEAVES` leaves.
    """

    def __init__(self, trees: BoostedTrees):
        self.baseline = trees.baseline
        self.trees = [_as_masks(nodes) for nodes in trees.nodes]

    def predict_columns(self, features: np.ndarray) -> np.ndarray:
        """Predict probabilities (n, K) float32 of columns (F, n) float32."""
        features = np.ascontiguousarray(features, np.float32)
        scores = np.repeat(self.baseline[:, None], features.shape[1], axis=1)
        for score, trees in zip(scores, self.trees, strict=True):
            _jit.add_trees(features, *trees, score)
        if len(scores) == 1:
            second = expit(scores[0])
            return np.stack([1 - second, second], axis=1).astype(np.float32)
        return softmax(scores, axis=0).T.astype(np.float32)


def mask_trees(classifier: HistGradientBoostingClassifier) -> MaskedBoosting | None:
    """Convert a fitted classifier; None if a tree has more than `MAX_LEAVES` leaves."""
    trees = read_trees(classifier)
    if any(np.count_nonzero(nodes["is_leaf"]) > MAX_LEAVES for score in trees.nodes for nodes in score):
        return None
    return MaskedBoosting(trees)


def _as_masks(all_nodes: list[np.ndarray]) -> MaskedTrees:
    """Collect the tests of all trees, each with the leaves that remain after going right, and the leaves' values."""
    first_test, first_leaf = [0], [0]
    tests: list[tuple[int, float, int]] = []
    values: list[float] = []
    for nodes in all_nodes:
        _collect([nodes[name].tolist() for name in COLUMNS], 0, 0, tests, values)
        first_test.append(len(tests))
        first_leaf.append(len(values))
    feature, threshold, kept = zip(*tests, strict=True) if tests else ((), (), ())
    return MaskedTrees(
        np.array(first_test, np.int64),
        np.array(feature, np.int64),
        _round_down(np.array(threshold, np.float64)),
        np.array(kept, np.uint32),
        np.array(first_leaf[:-1], np.int64),
        np.array(values),
    )


def _collect(columns: list[list], node: int, n_before: int, tests: list, values: list) -> int:
    """Append the tests and leaves below a node from left to right; return the number of leaves up to its last one."""
    is_leaf, value, left, right, feature, threshold = columns
    if is_leaf[node]:
        values.append(value[node])
        return n_before + 1
    left_end = _collect(columns, left[node], n_before, tests, values)
    on_the_left = (1 << left_end) - (1 << n_before)
    tests.append((feature[node], threshold[node], ALL_LEAVES & ~on_the_left))
    return _collect(columns, right[node], left_end, tests, values)


def _round_down(thresholds: np.ndarray) -> np.ndarray:
    """Round to the next lower float32: a float32 is above it exactly when it is above the threshold."""
    single = thresholds.astype(np.float32)
    return np.where(single > thresholds, np.nextafter(single, np.float32(-np.inf)), single)
