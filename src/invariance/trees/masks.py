"""Small trees as bit masks: predictions for millions of samples without following paths."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

# One bit per leaf in 32-bit masks.
MAX_LEAVES = 32
ALL_LEAVES = 0xFFFFFFFF


class Nodes(NamedTuple):
    """The nodes of one tree as lists; node 0 is the root."""

    is_leaf: list
    value: list
    left: list
    right: list
    feature: list
    threshold: list


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


def mask_trees(trees: Iterable[Nodes]) -> MaskedTrees:
    """Collect the tests of all trees, each with the leaves that remain after going right, and the leaves' values.

    Trees have at most `MAX_LEAVES` leaves. Thresholds are rounded down to float32.
    """
    first_test, first_leaf = [0], [0]
    tests: list[tuple[int, float, int]] = []
    values: list[float] = []
    for nodes in trees:
        _collect(nodes, 0, 0, tests, values)
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


def _collect(nodes: Nodes, node: int, n_before: int, tests: list, values: list) -> int:
    """Append the tests and leaves below a node from left to right; return the number of leaves up to its last one."""
    if nodes.is_leaf[node]:
        values.append(nodes.value[node])
        return n_before + 1
    left_end = _collect(nodes, nodes.left[node], n_before, tests, values)
    on_the_left = (1 << left_end) - (1 << n_before)
    tests.append((nodes.feature[node], nodes.threshold[node], ALL_LEAVES & ~on_the_left))
    return _collect(nodes, nodes.right[node], left_end, tests, values)


def _round_down(thresholds: np.ndarray) -> np.ndarray:
    """Round to the next lower float32: a float32 is above it exactly when it is above the threshold."""
    single = thresholds.astype(np.float32)
    return np.where(single > thresholds, np.nextafter(single, np.float32(-np.inf)), single)
