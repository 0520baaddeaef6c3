"""Predictions of a boosted head for millions of pixels: scikit-learn's trees as bit masks instead of paths."""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, softmax
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from invariance.segmentation import _jit

MAX_LEAVES = 32
COLUMNS = ("is_leaf", "value", "left", "right", "feature_idx", "num_threshold")


class MaskedTrees(NamedTuple):
    """All trees of one class; see `_jit.add_trees`."""

    first_test: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    kept: np.ndarray
    first_leaf: np.ndarray
    value: np.ndarray


class MaskedBoosting:
    """The trees of a fitted `HistGradientBoostingClassifier` on finite numbers; the same probabilities, sooner."""

    def __init__(self, head: HistGradientBoostingClassifier):
        by_class = list(zip(*head._predictors, strict=True))
        self.baseline = np.ravel(head._baseline_prediction)
        self.trees = [_as_masks([tree.nodes for tree in trees]) for trees in by_class]

    def predict_columns(self, features: np.ndarray) -> np.ndarray:
        """Probabilities (n, K) float32 of columns (F, n) float32."""
        features = np.ascontiguousarray(features, np.float32)
        scores = np.repeat(self.baseline[:, None], features.shape[1], axis=1)
        for score, trees in zip(scores, self.trees, strict=True):
            _jit.add_trees(features, *trees, score)
        if len(scores) == 1:
            above = expit(scores[0])
            return np.stack([1 - above, above], axis=1).astype(np.float32)
        return softmax(scores, axis=0).T.astype(np.float32)


class AnyHead:
    """A classifier of the user's, behind the same call."""

    def __init__(self, head: Any):
        self.head = head

    def predict_columns(self, features: np.ndarray) -> np.ndarray:
        """Probabilities (n, K) of columns (F, n)."""
        # Some heads start threads of their own, which would only get in the way of the other tiles'.
        with threadpool_limits(limits=1, user_api="openmp"):
            return self.head.predict_proba(np.ascontiguousarray(features.T))


def fast_predictor(head: Any) -> MaskedBoosting | AnyHead:
    """What predicts as `head` does, for many pixels: bit masks for boosting with small trees, else the head itself."""
    is_boosting = isinstance(head, HistGradientBoostingClassifier)
    if is_boosting and all(tree.get_n_leaf_nodes() <= MAX_LEAVES for trees in head._predictors for tree in trees):
        return MaskedBoosting(head)
    return AnyHead(head)


def _as_masks(all_nodes: list[np.ndarray]) -> MaskedTrees:
    """The tests of all trees, each with the leaves that it leaves when a column goes right; the leaves' values."""
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
    """Append the tests and leaves below a node from left to right; how many leaves of the tree come before its end."""
    is_leaf, value, left, right, feature, threshold = columns
    if is_leaf[node]:
        values.append(value[node])
        return n_before + 1
    left_end = _collect(columns, left[node], n_before, tests, values)
    on_the_left = (1 << left_end) - (1 << n_before)
    tests.append((feature[node], threshold[node], 0xFFFFFFFF & ~on_the_left))
    return _collect(columns, right[node], left_end, tests, values)


def _round_down(thresholds: np.ndarray) -> np.ndarray:
    """The largest float32 that are not larger: a float32 exceeds these just when it exceeds the thresholds."""
    single = thresholds.astype(np.float32)
    return np.where(single > thresholds, np.nextafter(single, np.float32(-np.inf)), single)
