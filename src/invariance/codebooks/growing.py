"""Growing one extremely randomized clustering tree, [Moosmann06] sec. 3.

A node is split until its samples are of one class or identical. A test draws a feature and a threshold at random and is
scored 2 I(C,T) / (H_C + H_T), with C the class and T the side; tests are drawn until one reaches `min_score` or there
were `max_trials`, and the best is kept. Without labels, the score is the smaller side's share of the larger, and a node
is split until its samples are identical.

Differs from [Moosmann06], which leaves open over what a threshold is uniform: here, over the range of the feature in
the node, so that no test leaves a side empty, or else midway between two samples of the node, which makes trees half as
deep where values crowd in the middle of their range, as those of wavelets do. A feature that is constant in the node
counts as a trial; if all trials met constant ones, the features are looked through for one that is not, since the node
can still be divided.
"""

from typing import NamedTuple

import cv2
import numpy as np

from invariance.codebooks import _jit
from invariance.codebooks.trees import ClusteringTree


class Growth(NamedTuple):
    """How to grow: the parameters of a forest that concern one tree before it is pruned."""

    max_trials: int
    min_score: float
    threshold: str


class Samples(NamedTuple):
    """What is grown on: descriptors by row (n, d) and by column (d, n), class codes (n,) or zeros, and their order.

    `order` (n,) int32 sorts the samples by class; `x_log_x` (n + 1,) is what entropies of counts are made of.
    """

    rows: np.ndarray
    columns: np.ndarray
    codes: np.ndarray
    order: np.ndarray
    x_log_x: np.ndarray
    supervised: bool


def arrange_samples(descriptors: np.ndarray, codes: np.ndarray | None) -> Samples:
    """Descriptors (n, d) float32 and class codes (n,), or None for trees without labels, as growth wants them."""
    n_samples, supervised = len(descriptors), codes is not None
    codes = codes.astype(np.int32) if codes is not None else np.zeros(n_samples, np.int32)
    counts = np.arange(n_samples + 1, dtype=np.float64)
    x_log_x = counts * np.log2(np.maximum(counts, 1))
    order = np.argsort(codes, kind="stable").astype(np.int32)
    return Samples(descriptors, cv2.transpose(descriptors), codes, order, x_log_x, supervised)


def grow_tree(samples: Samples, growth: Growth, rng: np.random.Generator) -> tuple[ClusteringTree, np.ndarray]:
    """A fully grown tree, and the gain of each of its nodes.

    Gain (n,): the node's share of all samples times I(C,T) of its test in bits, or H_T without labels; 0 for a leaf.
    """
    n_most = 2 * len(samples.rows) - 1
    feature, threshold = np.empty(n_most, np.int32), np.empty(n_most, np.float32)
    left, gain = np.empty(n_most, np.int32), np.empty(n_most)
    n_nodes = _jit.grow_nodes(
        samples.rows,
        samples.columns,
        samples.codes,
        samples.order.copy(),
        samples.x_log_x,
        samples.supervised,
        growth.max_trials,
        growth.min_score,
        growth.threshold == "samples",
        rng.integers(2**64, dtype=np.uint64),
        (feature, threshold, left, gain),
    )
    tree = ClusteringTree(feature[:n_nodes].copy(), threshold[:n_nodes].copy(), left[:n_nodes].copy())
    return tree, gain[:n_nodes].copy()
