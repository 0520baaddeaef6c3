"""Extremely randomized trees as a classifier: the mean of the class shares of the leaves that a sample reaches."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from invariance._core import loaded
from invariance._core.checks import check_count, check_number
from invariance._core.randomness import make_rng, spawn_rngs
from invariance.trees import _jit
from invariance.trees.forest import class_shares, find_leaves, grow_forest
from invariance.trees.growing import Growth
from invariance.trees.masks import MAX_LEAVES, MaskedTrees, Nodes, mask_trees
from invariance.trees.tree import Tree

SHARPNESS_BOUNDS = (0.01, 10.0)
# The least share of a class among all samples: one of a billion.
MIN_SHARE = 1e-9


class TreesClassifier(ClassifierMixin, BaseEstimator):
    """Classify samples by many small, extremely randomized trees.

    Every tree is grown from all samples: of a few random tests per node the best is kept, the node of largest gain is
    split next, until there are `max_leaves`.

    Parameters
    ----------
    n_trees : int, default=200
        Number of trees.
    max_leaves : int, default=32
        Maximum number of leaves per tree, at most 32.
    max_trials : int or None, default=None
        Number of random tests per node; None means the square root of the number of features.
    sharpness : float, default=1.0
        The power to which the mean shares of the leaves are raised before they are normalized. Less than 1 makes
        predictions less certain, as they should be if samples depend on each other.
    prior : array-like of shape (n_classes,) or None, default=None
        The shares of the classes where predictions are made, if they differ from those among the samples: the
        probabilities are multiplied by the ratio of both and normalized.
    max_samples : int or None, default=None
        Number of samples that a tree is grown from, drawn at random for every tree; None means all. The shares in its
        leaves are always those of all samples.
    n_jobs : int or None, default=None
        Number of parallel jobs; it does not change the result.
    random_state : int, RandomState instance, Generator or None, default=None
        Seed for reproducible results.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        Number of features.
    trees_ : list of Tree
        The trees.
    shares_ : ndarray of shape (n_leaves, n_classes), float32
        The share of every class among the samples of every leaf, over all trees.
    class_shares_ : ndarray of shape (n_classes,), float32
        The share of every class among all samples.
    """

    def __init__(
        self,
        n_trees=200,
        max_leaves=32,
        max_trials=None,
        sharpness=1.0,
        prior=None,
        max_samples=None,
        n_jobs=None,
        random_state=None,
    ):
        self.n_trees = n_trees
        self.max_leaves = max_leaves
        self.max_trials = max_trials
        self.sharpness = sharpness
        self.prior = prior
        self.max_samples = max_samples
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> "TreesClassifier":
        """Grow the trees.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,)
            Their classes.

        Returns
        -------
        self : TreesClassifier
            The fitted classifier.
        """
        n_trees = check_count("n_trees", self.n_trees)
        max_leaves = check_count("max_leaves", self.max_leaves, at_least=2, at_most=MAX_LEAVES)
        check_number("sharpness", self.sharpness, *SHARPNESS_BOUNDS)
        X, y = validate_data(self, X, y, dtype=np.float32, order="C")
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        n_default = max(1, round(X.shape[1] ** 0.5))
        max_trials = n_default if self.max_trials is None else check_count("max_trials", self.max_trials)
        max_samples = None if self.max_samples is None else check_count("max_samples", self.max_samples, at_least=2)
        growth = Growth(max_trials, 1.0, "uniform", max_leaves, pruning="during", max_samples=max_samples)
        self.trees_ = grow_forest(X, codes, growth, spawn_rngs(make_rng(self.random_state), n_trees), self.n_jobs)
        leaves = find_leaves(self.trees_, X, self.n_jobs)
        n_leaves = sum(tree.n_leaves for tree in self.trees_)
        self.shares_ = class_shares(leaves, codes, n_leaves, len(self.classes_)).astype(np.float32)
        self.class_shares_ = (np.bincount(codes) / len(codes)).astype(np.float32)
        self._kept_masks = _mask(self.trees_)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predict the most probable class of every sample of X (n_samples, n_features)."""
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(axis=1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Predict the class probabilities (n_samples, n_classes) float32 of X (n_samples, n_features)."""
        check_is_fitted(self)
        return self.predict_columns(validate_data(self, X, reset=False, dtype=np.float32).T)

    def predict_columns(self, features: np.ndarray) -> np.ndarray:
        """Predict probabilities (n, K) float32 of samples that are the columns of features (F, n) float32."""
        features, masks = np.ascontiguousarray(features, np.float32), self._masks()
        sums = np.zeros((len(self.classes_), features.shape[1]))
        for own, shares in zip(sums[1:], self.shares_.T[1:], strict=True):
            _jit.add_trees(features, *masks[:-1], shares[masks.value].astype(np.float64), own)
        sums[0] = len(self.trees_) - sums[1:].sum(axis=0)
        probabilities = _sharpen(
            np.maximum(sums.T / len(self.trees_), 0).astype(np.float32), np.float32(self.sharpness)
        )
        return probabilities if self.prior is None else _weigh(probabilities, self._prior() / self.class_shares_)

    def divide(self, n_parts: int) -> list["TreesClassifier"]:
        """Make unfitted classifiers that have the trees of this one together, at least one each."""
        n_trees = check_count("n_trees", self.n_trees)
        seeds = make_rng(self.random_state).integers(2**31, size=n_parts)
        sizes = np.diff(np.linspace(0, max(n_trees, n_parts), n_parts + 1).astype(int))
        return [
            clone(self).set_params(n_trees=int(size), random_state=int(seed))
            for size, seed in zip(sizes, seeds, strict=True)
        ]

    def check_loaded(self) -> None:
        """Raise ValueError if the trees, read from a file, and their shares do not go together."""
        loaded.check_values(self, n_jobs=loaded.JOBS)
        if not loaded.is_fitted(self, "classes_", "n_features_in_", "trees_", "shares_", "class_shares_"):
            return
        loaded.check_values(
            self,
            classes_=loaded.labels(),
            n_features_in_=loaded.whole(1),
            trees_=loaded.list_of(loaded.instance(Tree), at_least=1),
            sharpness=loaded.number(*SHARPNESS_BOUNDS),
            prior=loaded.optional(loaded.list_of(loaded.number(0, 1), len(self.classes_))),
            class_shares_=loaded.array((len(self.classes_),), np.float32, MIN_SHARE, 1),
        )
        if self.prior is not None:
            self._prior()
        for tree in self.trees_:
            tree.check_loaded()
            if tree.n_leaves > MAX_LEAVES or tree.feature.max() >= self.n_features_in_:
                raise ValueError(
                    f"a tree of a TreesClassifier must have at most {MAX_LEAVES} leaves and test one of "
                    f"{self.n_features_in_} features; got {tree.n_leaves} and feature {tree.feature.max()}."
                )
        n_leaves = sum(tree.n_leaves for tree in self.trees_)
        shape = n_leaves, len(self.classes_)
        loaded.check_values(self, shares_=loaded.array(shape, np.float32, 0, 1, contiguous=True))

    def __getstate__(self):
        """Leave out what can be computed again."""
        return {name: value for name, value in super().__getstate__().items() if name != "_kept_masks"}

    def _prior(self) -> np.ndarray:
        """Check the shares of the classes where predictions are made: (K,)."""
        prior = np.asarray(self.prior, np.float64)
        if prior.shape != self.classes_.shape or not np.all(prior > 0) or not np.isclose(prior.sum(), 1, atol=1e-3):
            raise ValueError(
                f"prior must be {len(self.classes_)} positive shares that add up to 1, one per class; got {self.prior}."
            )
        return prior

    def _masks(self) -> MaskedTrees:
        kept = self.__dict__.get("_kept_masks")
        if kept is None:
            kept = self._kept_masks = _mask(self.trees_)
        return kept


def join_trees(parts: Sequence[TreesClassifier]) -> TreesClassifier:
    """Make one classifier of the trees of several, which were fitted on the same classes and features."""
    first = parts[0]
    if any(not np.array_equal(part.classes_, first.classes_) for part in parts):
        raise ValueError("only classifiers of the same classes can be joined.")
    joined = clone(first).set_params(n_trees=sum(part.n_trees for part in parts))
    joined.classes_, joined.n_features_in_ = first.classes_, first.n_features_in_
    joined.trees_ = [tree for part in parts for tree in part.trees_]
    joined.shares_ = np.concatenate([part.shares_ for part in parts])
    joined.class_shares_ = np.mean([part.class_shares_ for part in parts], axis=0, dtype=np.float32)
    return joined


def _mask(trees: list[Tree]) -> MaskedTrees:
    """Convert trees; the values of the leaves are their numbers over all trees."""
    nodes, n_leaves = [], 0
    for tree in trees:
        numbers = n_leaves + np.cumsum(tree.is_leaf) - 1
        columns = tree.is_leaf, numbers, tree.left, tree.left + 1, tree.feature, tree.threshold
        nodes.append(Nodes(*(column.tolist() for column in columns)))
        n_leaves += tree.n_leaves
    return mask_trees(nodes)


def _weigh(probabilities: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Multiply probabilities (n, K) by the weights (K,) of the classes and normalize them."""
    weighted = probabilities * weights.astype(np.float32)
    return weighted / weighted.sum(axis=1, keepdims=True)


def _sharpen(probabilities: np.ndarray, sharpness: np.float32) -> np.ndarray:
    """Raise probabilities (n, K) to a power and normalize them."""
    if sharpness == 1:
        return probabilities
    powers = probabilities**sharpness
    return powers / powers.sum(axis=1, keepdims=True)
