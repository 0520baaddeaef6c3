"""Predictions of boosted trees for millions of pixels, by bit masks instead of paths."""

import numpy as np
from scipy.special import expit, softmax
from sklearn.ensemble import HistGradientBoostingClassifier

from invariance.segmentation.sklearn_boosting import BoostedTrees, read_trees
from invariance.trees import _jit
from invariance.trees.masks import MAX_LEAVES, Nodes, mask_trees

# The fields of a node, in the order of `Nodes`.
COLUMNS = ("is_leaf", "value", "left", "right", "feature_idx", "num_threshold")


class MaskedBoosting:
    """The trees of a fitted `HistGradientBoostingClassifier`: the same probabilities of finite features, faster.

    Parameters
    ----------
    trees : BoostedTrees
        Trees of at most `MAX_LEAVES` leaves.
    """

    def __init__(self, trees: BoostedTrees):
        self.baseline = trees.baseline
        self.trees = [
            mask_trees(Nodes(*(nodes[name].tolist() for name in COLUMNS)) for nodes in all_nodes)
            for all_nodes in trees.nodes
        ]

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


def mask_boosting(classifier: HistGradientBoostingClassifier) -> MaskedBoosting | None:
    """Convert a fitted classifier; None if a tree has more than `MAX_LEAVES` leaves."""
    trees = read_trees(classifier)
    if any(np.count_nonzero(nodes["is_leaf"]) > MAX_LEAVES for score in trees.nodes for nodes in score):
        return None
    return MaskedBoosting(trees)
