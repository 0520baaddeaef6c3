"""Small trees as bit masks: predictions for millions of samples without following paths."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from invariance.trees.tree import Tree

MAX_LEAVES = 64  # one bit per leaf


class MaskedTrees(NamedTuple):
    """All trees of a forest, as `_jit.add_shares` reads them.

    Attributes
    ----------
    first_test : ndarray of shape (n_trees + 1,)
        The tests of tree t are `first_test[t]:first_test[t + 1]`.
    feature : ndarray of shape (n_tests,)
        The feature of every test.
    threshold : ndarray of shape (n_tests,), float32
        Samples above it go right.
    kept : ndarray of shape (n_tests,), uint32 or uint64
        The leaves that can still be reached after going right.
    first_leaf : ndarray of shape (n_trees,)
        The leaves of tree t start at this place of `order`.
    order : ndarray of shape (n_leaves,)
        The numbers of the leaves of all trees, from left to right within a tree.
    """

    first_test: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    kept: np.ndarray
    first_leaf: np.ndarray
    order: np.ndarray


def mask_trees(trees: Sequence[Tree]) -> MaskedTrees:
    """Convert trees of at most `MAX_LEAVES` leaves each."""
    n_bits = 32 if all(tree.n_leaves <= 32 for tree in trees) else MAX_LEAVES
    tests: list[tuple[int, float, int]] = []
    order: list[int] = []
    first_test, first_leaf = [0], [0]
    for tree in trees:
        numbers = first_leaf[-1] + np.cumsum(tree.is_leaf) - 1
        columns = tree.feature.tolist(), tree.threshold.tolist(), tree.left.tolist(), numbers.tolist()
        _collect(columns, 2**n_bits - 1, tests, order)
        first_test.append(len(tests))
        first_leaf.append(len(order))
    feature, threshold, kept = zip(*tests, strict=True) if tests else ((), (), ())
    return MaskedTrees(
        np.array(first_test, np.int64),
        np.array(feature, np.int64),
        np.array(threshold, np.float32),
        np.array(kept, np.uint32 if n_bits == 32 else np.uint64),
        np.array(first_leaf[:-1], np.int64),
        np.array(order, np.int64),
    )


def _collect(columns: tuple[list, ...], everything: int, tests: list, order: list) -> None:
    """Append the tests and the leaves of a tree from left to right."""
    feature, threshold, left, numbers = columns
    n_before = len(order)

    def visit(node: int) -> None:
        if left[node] < 0:
            order.append(numbers[node])
            return
        first = len(order)
        visit(left[node])
        on_the_left = (1 << (len(order) - n_before)) - (1 << (first - n_before))
        tests.append((feature[node], threshold[node], everything & ~on_the_left))
        visit(left[node] + 1)

    visit(0)
