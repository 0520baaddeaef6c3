"""Extremely randomized clustering forests: trees grown as classifiers, used as codebooks, [Moosmann06].

Every leaf of every tree is a visual word; a descriptor is coded by the leaf it reaches in every tree. The trees are
those of `invariance.trees`, whose growing and pruning say where they differ from the paper.
"""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from invariance._core import loaded
from invariance._core.checks import check_choice, check_count, check_number
from invariance._core.randomness import spawn_rngs
from invariance.images import encode_labels
from invariance.trees import Growth, Tree, class_shares, find_leaves, grow_forest


class ClusteringForest(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Codebook whose words are the leaves of extremely randomized trees.

    Parameters
    ----------
    n_trees : int, default=5
        Number of trees.
    n_leaves : int or None, default=1000
        Maximum number of leaves per tree, to which it is pruned; None does not limit them.
    min_gain : float, default=0.0
        Tests of a lower gain are pruned. The gain is the node's share of all samples times I(C,T) of its
        test in bits, or H_T for trees without labels.
    min_score : float, default=0.5
        A test of at least this score, from 0 to 1, is taken at once.
    max_trials : int or "sqrt", default=50
        Random tests tried per node, of which the best is taken; "sqrt" is the square root of the number of features,
        rounded up.
    threshold : {"uniform", "samples"}, default="uniform"
        How thresholds are drawn: uniform over the range of the feature in the node, or midway between two random
        samples, which makes trees half as deep, in about half the time.
    pruning : {"after", "during"}, default="after"
        "after" grows trees fully and prunes them from below, which keeps the best words. "during" splits the node of
        largest gain next, until there are `n_leaves`, and no node whose test gains less than `min_gain`; it saves
        growing what would be pruned.
    n_jobs : int or None, default=None
        Number of threads. Trees are the same for every `n_jobs`.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the trees.

    Attributes
    ----------
    trees_ : list of Tree
        The trees.
    n_leaves_ : ndarray of shape (n_trees,)
        Number of leaves of every tree.
    n_words_ : int
        Number of leaves of all trees, which are the words.
    classes_ : ndarray of shape (n_classes,) or None
        The classes; None without labels.
    posteriors_ : ndarray of shape (n_words, n_classes) or None
        Share of every class among the training samples of a word; None without labels.
    purity_ : ndarray of shape (n_words,) or None
        The largest of these shares; None without labels.
    n_features_in_ : int
        Length of a descriptor.

    Notes
    -----
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
        pruning="after",
        n_jobs=None,
        random_state=None,
    ):
        self.n_trees = n_trees
        self.n_leaves = n_leaves
        self.min_gain = min_gain
        self.min_score = min_score
        self.max_trials = max_trials
        self.threshold = threshold
        self.pruning = pruning
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> "ClusteringForest":
        """Grow the trees.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Descriptors.
        y : array-like of shape (n_samples,) or None, default=None
            Labels of the images that the descriptors are from; None grows trees without labels.

        Returns
        -------
        self : ClusteringForest
        """
        X = validate_data(self, X, dtype=np.float32, order="C")
        self.classes_, codes = (None, None) if y is None else encode_labels(y, len(X))
        growth = self._growth(X.shape[1])
        rngs = spawn_rngs(self.random_state, check_count("n_trees", self.n_trees))
        self.trees_: list[Tree] = grow_forest(X, codes, growth, rngs, self.n_jobs)
        self.posteriors_ = self.purity_ = None
        if codes is not None:
            words = find_leaves(self.trees_, X, self.n_jobs)
            self.posteriors_ = class_shares(words, codes, self.n_words_, len(self.classes_))
            self.purity_ = self.posteriors_.max(axis=1)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Find the word of every descriptor in every tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Descriptors.

        Returns
        -------
        ndarray of shape (n_samples, n_trees), int32
            Words, numbered consecutively over all trees.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float32, order="C", reset=False)
        return find_leaves(self.trees_, X, self.n_jobs)

    @property
    def n_leaves_(self) -> np.ndarray:
        """Number of leaves of every tree, of shape (n_trees,)."""
        return np.array([tree.n_leaves for tree in self.trees_])

    @property
    def n_words_(self) -> int:
        """Number of leaves of all trees."""
        return int(self.n_leaves_.sum())

    def check_loaded(self) -> None:
        """Refuse trees that test features that do not exist, and shares that are not those of their words."""
        loaded.check_values(self, n_jobs=loaded.JOBS)
        if not loaded.is_fitted(self, "trees_", "n_features_in_", "classes_", "posteriors_", "purity_"):
            return
        loaded.check_values(
            self,
            n_features_in_=loaded.N_VALUES,
            trees_=loaded.list_of(loaded.instance(Tree), at_least=1),
            classes_=loaded.optional(loaded.labels()),
        )
        if any(np.any(tree.feature >= self.n_features_in_) for tree in self.trees_):
            raise ValueError("a tree of a clustering forest tests a feature that does not exist.")
        n_classes = 0 if self.classes_ is None else len(self.classes_)
        loaded.check_values(
            self,
            posteriors_=loaded.optional(loaded.array((self.n_words_, n_classes), np.float64, 0, 1)),
            purity_=loaded.optional(loaded.array((self.n_words_,), np.float64, 0, 1)),
        )

    def _growth(self, n_features: int) -> Growth:
        """The parameters of the trees, checked."""
        max_trials = self.max_trials
        if max_trials == "sqrt":
            max_trials = int(np.ceil(np.sqrt(n_features)))
        elif isinstance(max_trials, str):
            raise ValueError(f"max_trials must be a whole number of at least 1, or 'sqrt'; got {max_trials!r}.")
        return Growth(
            check_count("max_trials", max_trials),
            check_number("min_score", self.min_score, 0, 1),
            check_choice("threshold", self.threshold, ("uniform", "samples")),
            None if self.n_leaves is None else check_count("n_leaves", self.n_leaves),
            check_number("min_gain", self.min_gain, 0),
            check_choice("pruning", self.pruning, ("after", "during")),
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags

    @property
    def _n_features_out(self):
        return len(self.trees_)
