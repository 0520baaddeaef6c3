"""Growing one extremely randomized tree, [Moosmann06] sec. 3.

A node is split until its samples are of one class or identical. A test draws a feature and a threshold at random and is
scored 2 I(C,T) / (H_C + H_T), with C the class and T the side; tests are drawn until one reaches `min_score` or there
were `max_trials`, and the best is kept. Without labels, the score is the smaller side's share of the larger, and a node
is split until its samples are identical.

Differs from [Moosmann06], which leaves open over what a threshold is uniform: here, over the range of the feature in
the node, so that no test leaves a side empty, or else midway between two samples of the node, which makes trees half as
deep where values crowd in the middle of their range, as those of wavelets do. A feature that is constant in the node
counts as a trial; if all trials met constant ones, the features are looked through for one that is not, since the node
can still be divided.

Pruning during construction stops growing early: the node of largest gain is split next, nodes whose test gains less
than `min_gain` never, and growing ends at `n_leaves`. [Moosmann06] notes that this is faster but leaves the number of
leaves open; growing the best node first settles it.
"""

from typing import NamedTuple

import cv2
import numpy as np

from invariance.trees import _jit
from invariance.trees.tree import Tree


class Growth(NamedTuple):
    """How to grow and prune a tree.

    Attributes
    ----------
    max_trials : int
        Random tests drawn per node, of which the best is taken.
    min_score : float
        A test of at least this score, from 0 to 1, is taken at once.
    threshold : {"uniform", "samples"}
        How thresholds are drawn: uniform over the range of the feature in the node, or midway between two samples.
    n_leaves : int or None
        Maximum number of leaves after pruning, None for any number.
    min_gain : float
        Lowest tests of a smaller gain are pruned.
    pruning : {"after", "during"}
        Whether a tree is grown fully and pruned from below, or grown from its node of largest gain to `n_leaves`
        without splitting nodes of a gain below `min_gain`.
    max_samples : int or None
        Number of samples, drawn at random, that a tree is grown from, None for all.
    """

    max_trials: int
    min_score: float
    threshold: str
    n_leaves: int | None = None
    min_gain: float = 0.0
    pruning: str = "after"
    max_samples: int | None = None


class Samples(NamedTuple):
    """Samples arranged for growing, shared by all trees.

    Attributes
    ----------
    rows, columns : ndarray of shape (n, d) and (d, n), float32
        The samples, and their transpose.
    codes : ndarray of shape (n,), int32
        Class codes, zeros without labels.
    order : ndarray of shape (n,), int32
        The samples sorted by class.
    x_log_x : ndarray of shape (n + 1,), float64
        The table from which entropies of counts are summed.
    supervised : bool
        Whether there are labels.
    """

    rows: np.ndarray
    columns: np.ndarray
    codes: np.ndarray
    order: np.ndarray
    x_log_x: np.ndarray
    supervised: bool


def arrange_samples(X: np.ndarray, codes: np.ndarray | None) -> Samples:
    """Arrange samples (n, d) float32 and class codes (n,), or None for trees without labels, for `grow_tree`."""
    n_samples, supervised = len(X), codes is not None
    codes = codes.astype(np.int32) if codes is not None else np.zeros(n_samples, np.int32)
    counts = np.arange(n_samples + 1, dtype=np.float64)
    x_log_x = counts * np.log2(np.maximum(counts, 1))
    order = np.argsort(codes, kind="stable").astype(np.int32)
    return Samples(X, cv2.transpose(X), codes, order, x_log_x, supervised)


def grow_tree(samples: Samples, growth: Growth, rng: np.random.Generator) -> tuple[Tree, np.ndarray]:
    """Grow a tree until its leaves are pure or identical, and measure the gain of every node.

    Parameters
    ----------
    samples : Samples
        From `arrange_samples`.
    growth : Growth
        `n_leaves` and `min_gain` end the growth only with `pruning="during"`; else `prune_tree` uses them.
    rng : numpy.random.Generator
        The seed of the compiled generator is drawn from it, and then the samples, if not all are used.

    Returns
    -------
    tree : Tree
    gain : ndarray of shape (n_nodes,), float64
        The node's share of all samples times I(C,T) of its test in bits, or H_T without labels; 0 for a leaf.
    """
    seed = rng.integers(2**64, dtype=np.uint64)
    order = samples.order.copy()
    if growth.max_samples is not None and growth.max_samples < len(order):
        order = order[np.sort(rng.choice(len(order), growth.max_samples, replace=False, shuffle=False))]
    n_samples, is_pruned = len(order), growth.pruning == "during"
    max_leaves = min(n_samples, growth.n_leaves or n_samples) if is_pruned else n_samples
    max_nodes = 2 * max_leaves - 1
    feature, threshold = np.empty(max_nodes, np.int32), np.empty(max_nodes, np.float32)
    left, gain = np.empty(max_nodes, np.int32), np.empty(max_nodes)
    common = (
        samples.rows,
        samples.columns,
        samples.codes,
        order,
        samples.x_log_x,
        samples.supervised,
        growth.max_trials,
        growth.min_score,
        growth.threshold == "samples",
        seed,
    )
    nodes = feature, threshold, left, gain
    if is_pruned:
        n_nodes = _jit.grow_best_first(*common, float(growth.min_gain), nodes)
    else:
        n_nodes = _jit.grow_nodes(*common, nodes)
    tree = Tree(feature[:n_nodes].copy(), threshold[:n_nodes].copy(), left[:n_nodes].copy())
    return tree, gain[:n_nodes].copy()
