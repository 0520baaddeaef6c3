"""Extremely randomized clustering forests: trees grown as classifiers, used as codebooks, [Moosmann06].

Each leaf of each tree is a visual word; a descriptor is coded by the leaf it reaches in every tree. growing.py grows a
tree, pruning.py cuts it back, trees.py codes; growing and pruning say where they differ from the paper.
"""

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from invariance._core.checks import check_choice, check_count, check_number
from invariance._core.parallel import map_jobs
from invariance._core.randomness import spawn_rngs
from invariance.codebooks.growing import Growth, Samples, arrange_samples, grow_tree
from invariance.codebooks.posteriors import class_shares
from invariance.codebooks.pruning import prune_tree
from invariance.codebooks.trees import ClusteringTree, find_words
from invariance.images import encode_labels


class ClusteringForest(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Descriptors coded by the leaves they reach in randomized trees.

    Parameters
    ----------
    n_trees : how many trees
    n_leaves : leaves per tree at most, the rest is pruned; None prunes nothing on that account
    min_gain : tests of a lower gain are pruned from below: the node's share of all samples times I(C,T) of its test,
        in bits (H_T for trees without labels)
    min_score : a test of this score, from 0 to 1, is taken at once
    max_trials : random tests tried for a node, of which the best is taken; "sqrt" is the square root of the number of
        features, rounded up
    threshold : "uniform" over the range of the feature in the node, or midway between two random "samples" of it, which
        makes trees half as deep, in about half the time
    n_jobs, random_state : as in scikit-learn; trees grow beside each other and are the same for every `n_jobs`

    Attributes
    ----------
    trees_ : the trees; n_leaves_ (n_trees,) : their leaves; n_words_ : leaves of all trees, which are the words;
    classes_ : the classes; posteriors_ (n_words_, K) : share of each class among the training samples of a word;
        purity_ (n_words_,) : the largest of these; all three None without labels

    Values are compared in single precision.
    """

    classes_: Any

    def __init__(
        self,
        n_trees=5,
        n_leaves=1000,
        min_gain=0.0,
        min_score=0.5,
        max_trials=50,
        threshold="uniform",
        n_jobs=None,
        random_state=None,
    ):
        self.n_trees = n_trees
        self.n_leaves = n_leaves
        self.min_gain = min_gain
        self.min_score = min_score
        self.max_trials = max_trials
        self.threshold = threshold
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> "ClusteringForest":
        """Grow the trees on descriptors (n, d) and the labels (n,) of the images they are from, or without labels."""
        X = validate_data(self, X, dtype=np.float32, order="C")
        self.classes_, codes = (None, None) if y is None else encode_labels(y, len(X))
        growth = self._growth(X.shape[1])
        n_leaves = None if self.n_leaves is None else check_count("n_leaves", self.n_leaves)
        min_gain = check_number("min_gain", self.min_gain, 0)
        rngs = spawn_rngs(self.random_state, check_count("n_trees", self.n_trees))
        grow = partial(_grow_and_prune, arrange_samples(X, codes), growth, n_leaves, min_gain)
        self.trees_: list[ClusteringTree] = map_jobs(grow, rngs, self.n_jobs, label="growing trees")
        self.posteriors_ = self.purity_ = None
        if codes is not None:
            words = find_words(self.trees_, X, self.n_jobs)
            self.posteriors_ = class_shares(words, codes, self.n_words_, len(self.classes_))
            self.purity_ = self.posteriors_.max(axis=1)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """The word of every descriptor (n, d) in every tree: (n, n_trees) int32, from 0 to n_words_ - 1."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float32, order="C", reset=False)
        return find_words(self.trees_, X, self.n_jobs)

    @property
    def n_leaves_(self) -> np.ndarray:
        """Leaves of every tree, (n_trees,)."""
        return np.array([tree.n_leaves for tree in self.trees_])

    @property
    def n_words_(self) -> int:
        """Leaves of all trees."""
        return int(self.n_leaves_.sum())

    def check_loaded(self) -> None:
        """Refuse trees that ask for features that do not exist, and shares that are not those of their words."""
        if not hasattr(self, "trees_"):
            return
        if not self.trees_ or any(np.any(tree.feature >= self.n_features_in_) for tree in self.trees_):
            raise ValueError("a tree of a clustering forest asks for a feature that does not exist.")
        if self.posteriors_ is not None and self.posteriors_.shape != (self.n_words_, len(self.classes_)):
            raise ValueError("the class shares of a clustering forest are not those of its words.")

    def _growth(self, n_features: int) -> Growth:
        max_trials = self.max_trials
        if max_trials == "sqrt":
            max_trials = int(np.ceil(np.sqrt(n_features)))
        elif isinstance(max_trials, str):
            raise ValueError(f"max_trials must be a whole number of at least 1, or 'sqrt'; got {max_trials!r}.")
        return Growth(
            check_count("max_trials", max_trials),
            check_number("min_score", self.min_score, 0, 1),
            check_choice("threshold", self.threshold, ("uniform", "samples")),
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags

    @property
    def _n_features_out(self):
        return len(self.trees_)


def _grow_and_prune(samples: Samples, growth: Growth, n_leaves, min_gain: float, rng) -> ClusteringTree:
    return prune_tree(*grow_tree(samples, growth, rng), n_leaves, min_gain)
