"""The trees of scikit-learn's histogram boosting: the only file that computes with its private attributes.

scikit-learn has no public access to these trees. What is read here is checked first, so that a release that stores them
differently ends in an error that says so; `tests/segmentation/test_sklearn_boosting.py` compares predictions.
"""

from typing import NamedTuple

import numpy as np
import sklearn
from sklearn.ensemble import HistGradientBoostingClassifier

# The fields of a node that are read, and the kinds of their dtype.
NODE_FIELDS = {
    "value": "f",
    "feature_idx": "iu",
    "num_threshold": "f",
    "left": "iu",
    "right": "iu",
    "is_leaf": "iub",
    "is_categorical": "iub",
}


class BoostedTrees(NamedTuple):
    """The trees of a fitted classifier.

    Attributes
    ----------
    baseline : ndarray of shape (n_scores,)
        The scores before the first tree: one for two classes, otherwise one per class.
    nodes : list of n_scores lists of structured ndarrays
        The nodes of every tree, by score. A sample goes right where its feature `feature_idx` is above `num_threshold`;
        the `value` of the leaf it reaches is added to the score.
    """

    baseline: np.ndarray
    nodes: list[list[np.ndarray]]


def read_trees(classifier: HistGradientBoostingClassifier) -> BoostedTrees:
    """Read the trees of a fitted classifier.

    Parameters
    ----------
    classifier : HistGradientBoostingClassifier
        A fitted classifier without categorical features.

    Returns
    -------
    trees : BoostedTrees
        Its trees, as scikit-learn stores them.

    Raises
    ------
    RuntimeError
        If the installed scikit-learn stores its trees in another way.
    """
    try:
        baseline = np.ravel(classifier._baseline_prediction)
    except AttributeError as error:
        raise _changed(str(error)) from error
    rounds = _read_rounds(classifier)
    n_classes = len(classifier.classes_)
    n_scores = 1 if n_classes == 2 else n_classes
    if baseline.shape != (n_scores,) or any(len(trees) != n_scores for trees in rounds):
        raise _changed(f"{n_classes} classes have {len(baseline)} baseline scores")
    return BoostedTrees(baseline, [[trees[score] for trees in rounds] for score in range(n_scores)])


def _read_rounds(classifier: HistGradientBoostingClassifier) -> list[list[np.ndarray]]:
    """List the nodes of every tree, by boosting iteration."""
    try:
        rounds = [[tree.nodes for tree in trees] for trees in classifier._predictors]
    except (AttributeError, TypeError) as error:
        raise _changed(str(error)) from error
    for nodes in (nodes for trees in rounds for nodes in trees):
        fields = getattr(getattr(nodes, "dtype", None), "fields", None) or {}
        for name, kinds in NODE_FIELDS.items():
            if name not in fields or fields[name][0].kind not in kinds:
                raise _changed(f"the nodes of a tree have no field {name!r} of kind {kinds!r}")
    return rounds


def _changed(what: str) -> RuntimeError:
    return RuntimeError(
        f"scikit-learn {sklearn.__version__} stores boosted trees differently from the versions that are supported: "
        f"{what}. Install a version of scikit-learn that this version of invariance supports, or use "
        f"final_estimator='linear'."
    )
