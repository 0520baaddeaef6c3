"""Many trees on the same samples: grown in parallel, routed side by side, and the class shares of their leaves."""

import itertools
from collections.abc import Sequence
from functools import partial

import numpy as np
from joblib import effective_n_jobs

from invariance._core.parallel import map_jobs
from invariance.trees import _jit
from invariance.trees.growing import Growth, Samples, arrange_samples, grow_tree
from invariance.trees.pruning import prune_tree
from invariance.trees.tree import Tree

# Trees are grown in this many tasks per thread: a small tree takes less time than its task.
TASKS_PER_THREAD = 4
# The fewest steps of samples down trees that a thread makes, to be worth its start.
MIN_ROUTED = 2**18


def grow_forest(
    X: np.ndarray,
    codes: np.ndarray | None,
    growth: Growth,
    rngs: Sequence[np.random.Generator],
    n_jobs: int | None = None,
) -> list[Tree]:
    """Grow and prune one tree per random generator; the trees do not depend on `n_jobs`.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features), float32, C-ordered
        The samples.
    codes : ndarray of shape (n_samples,) or None
        Class codes from 0, or None for trees without labels.
    growth : Growth
        How to grow and prune.
    rngs : sequence of numpy.random.Generator
        One generator per tree.
    n_jobs : int or None, default=None
        Number of threads.

    Returns
    -------
    list of Tree
    """
    samples = arrange_samples(X, codes)
    n_tasks = min(len(rngs), TASKS_PER_THREAD * effective_n_jobs(n_jobs))
    tasks = [rngs[start:stop] for start, stop in itertools.pairwise(np.linspace(0, len(rngs), n_tasks + 1).astype(int))]
    grow = partial(_grow_and_prune, samples, growth)
    parts = map_jobs(lambda task: [grow(rng) for rng in task], tasks, n_jobs, label="growing trees")
    return [tree for part in parts for tree in part]


def _grow_and_prune(samples: Samples, growth: Growth, rng: np.random.Generator) -> Tree:
    tree, gain = grow_tree(samples, growth, rng)
    return tree if growth.pruning == "during" else prune_tree(tree, gain, growth.n_leaves, growth.min_gain)


def find_leaves(trees: Sequence[Tree], X: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
    """Find the leaf that every sample reaches in every tree.

    Parameters
    ----------
    trees : sequence of Tree
        The trees; compiled code trusts that they test features of X only.
    X : ndarray of shape (n_samples, n_features), float32
        The samples.
    n_jobs : int or None, default=None
        Number of threads.

    Returns
    -------
    ndarray of shape (n_samples, n_trees), int32
        The leaves, numbered consecutively over all trees.
    """
    leaves = np.empty((len(X), len(trees)), np.int32)
    find = partial(_find_block, _join_trees(trees), X, leaves)
    n_blocks = min(effective_n_jobs(n_jobs), 1 + leaves.size // MIN_ROUTED)
    bounds = np.linspace(0, len(X), n_blocks + 1).astype(int)
    blocks = [slice(start, stop) for start, stop in itertools.pairwise(bounds)]
    if n_blocks == 1:
        find(blocks[0])  # the samples of one image are routed in the time that a pool of threads takes to start
    else:
        map_jobs(find, blocks, n_jobs)
    return leaves


def _find_block(nodes, X, leaves, block) -> None:
    """Route the rows of one block."""
    _jit.follow_nodes(X[block], leaves[block], *nodes)


def _join_trees(trees: Sequence[Tree]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The arrays (roots, feature, threshold, following) of all trees that `_jit.follow_nodes` walks."""
    roots = np.cumsum([0, *(tree.n_nodes for tree in trees[:-1])])
    feature = np.concatenate([tree.feature for tree in trees])
    threshold = np.concatenate([tree.threshold for tree in trees])
    following = np.concatenate([tree.left + root for tree, root in zip(trees, roots, strict=True)])
    is_leaf = feature < 0
    feature[is_leaf] = -1 - np.arange(np.count_nonzero(is_leaf))
    return roots, feature, threshold, following


def class_shares(leaves: np.ndarray, codes: np.ndarray, n_leaves: int, n_classes: int) -> np.ndarray:
    """Compute the share of every class among the samples of every leaf (or word).

    Parameters
    ----------
    leaves : ndarray of shape (n_samples, n_trees)
        The leaf of every sample in every tree, numbered consecutively over all trees.
    codes : ndarray of shape (n_samples,)
        Class codes from 0.
    n_leaves, n_classes : int
        Number of leaves of all trees, and of classes.

    Returns
    -------
    ndarray of shape (n_leaves, n_classes), float64
        Rows sum to 1. A leaf without samples has the shares of all samples together.
    """
    counts = np.zeros((n_leaves, n_classes), np.int64)
    _jit.count_classes(leaves.astype(np.int32, copy=False), codes.astype(np.int64, copy=False), counts)
    counts = np.where(counts.any(axis=1, keepdims=True), counts, np.bincount(codes, minlength=n_classes))
    return counts / counts.sum(axis=1, keepdims=True)
