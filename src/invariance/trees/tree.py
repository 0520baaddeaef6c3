"""A grown tree as flat arrays: routing and saving need nothing else."""

from typing import NamedTuple

import numpy as np


class Tree(NamedTuple):
    """A binary tree of threshold tests.

    Node 0 is the root; children come after their parent, and a right child is next to the left one. The leaves are
    numbered in the order of their nodes.

    Attributes
    ----------
    feature : ndarray of shape (n_nodes,), int32
        The feature that a node tests, -1 for a leaf.
    threshold : ndarray of shape (n_nodes,), float32
        Values up to the threshold go left.
    left : ndarray of shape (n_nodes,), int32
        The left child of a node, -1 for a leaf.
    """

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray

    @property
    def n_nodes(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.left)

    @property
    def is_leaf(self) -> np.ndarray:
        """Which nodes are leaves, bool of shape (n_nodes,)."""
        return self.left < 0

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return (self.n_nodes + 1) // 2

    def check_loaded(self) -> None:
        """Refuse arrays that do not describe a tree: a file may hold anything."""
        if not all(type(array) is np.ndarray and array.ndim == 1 for array in self):
            raise ValueError("a tree must be made of arrays of one axis.")
        kinds = [(array.dtype, array.shape) for array in self]
        numbers, values, shape = np.dtype(np.int32), np.dtype(np.float32), (self.n_nodes,)
        if kinds != [(numbers, shape), (values, shape), (numbers, shape)] or self.n_nodes == 0:
            raise ValueError("the arrays of a tree must be equally long, not empty, and of its types.")
        inner = np.flatnonzero(self.left != -1)
        left = self.left[inner].astype(np.int64)
        if np.any(left <= inner) or not np.array_equal(np.sort(left), np.arange(1, self.n_nodes, 2)):
            raise ValueError("a node of a tree must come before its children, and have its own.")
        if np.any(self.feature < -1) or np.any((self.feature == -1) != self.is_leaf):
            raise ValueError("a node of a tree must either test a feature or be a leaf.")
        if not np.isfinite(self.threshold).all():
            raise ValueError("the thresholds of a tree must be finite.")
