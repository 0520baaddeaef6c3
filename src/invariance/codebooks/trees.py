"""A grown clustering tree as flat arrays: routing and saving need nothing else."""

import itertools
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs

from invariance._core.parallel import map_jobs
from invariance.codebooks import _jit

# What a thread must at least have to code, to be worth its start.
BLOCK_BYTES = 8 * 2**20


class ClusteringTree(NamedTuple):
    """A binary tree; node 0 is the root, children come after their parent, and a right child next to the left one.

    feature (n,) int32: what a node asks for, or -1 for a leaf; threshold (n,) float32: values up to it go left;
    left (n,) int32: the left child, or -1. The leaves, in the order of their nodes, are the words.
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
        """Which nodes are leaves, (n,) bool."""
        return self.left < 0

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return (self.n_nodes + 1) // 2

    def check_loaded(self) -> None:
        """Refuse arrays that do not describe a tree: a file may hold anything."""
        kinds = [(array.dtype, array.shape) for array in self]
        numbers, values, shape = np.dtype(np.int32), np.dtype(np.float32), (self.n_nodes,)
        if kinds != [(numbers, shape), (values, shape), (numbers, shape)] or self.n_nodes == 0:
            raise ValueError("the arrays of a clustering tree must be equally long, not empty, and of its types.")
        inner = np.flatnonzero(self.left != -1)
        left = self.left[inner].astype(np.int64)
        if np.any(left <= inner) or not np.array_equal(np.sort(left), np.arange(1, self.n_nodes, 2)):
            raise ValueError("a node of a clustering tree must come before its children, and have its own.")
        if np.any(self.feature < -1) or np.any((self.feature == -1) != self.is_leaf):
            raise ValueError("a node of a clustering tree must either ask for a feature or be a leaf.")


def find_words(trees: Sequence[ClusteringTree], descriptors: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
    """The word of every descriptor (n, d) float32 in every tree: (n, t) int32, numbered through over all trees."""
    words = np.empty((len(descriptors), len(trees)), np.int32)
    find = partial(_find_block, _join_trees(trees), descriptors, words)
    n_blocks = min(effective_n_jobs(n_jobs), 1 + descriptors.nbytes // BLOCK_BYTES)
    bounds = np.linspace(0, len(descriptors), n_blocks + 1).astype(int)
    blocks = [slice(start, stop) for start, stop in itertools.pairwise(bounds)]
    if n_blocks == 1:
        find(blocks[0])  # an image's descriptors are coded in the time that a pool of threads takes to start
    else:
        map_jobs(find, blocks, n_jobs)
    return words


def _find_block(nodes, descriptors, words, block) -> None:
    _jit.follow_nodes(descriptors[block], words[block], *nodes)


def _join_trees(trees: Sequence[ClusteringTree]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(roots, feature, threshold, following) of all trees, as `_jit.follow_nodes` wants them."""
    roots = np.cumsum([0, *(tree.n_nodes for tree in trees[:-1])])
    feature = np.concatenate([tree.feature for tree in trees])
    threshold = np.concatenate([tree.threshold for tree in trees])
    following = np.concatenate([tree.left + root for tree, root in zip(trees, roots, strict=True)])
    is_leaf = feature < 0
    feature[is_leaf] = -1 - np.arange(np.count_nonzero(is_leaf))
    return roots, feature, threshold, following
