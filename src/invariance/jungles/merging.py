"""Merging the leaves of a layer so that a jungle stays narrow, [Laptev15] sec. 3.3.2."""

import numpy as np
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.spatial.distance import squareform

# Farther than any two smoothed histograms can be; finite because the clustering needs it to be.
FORBIDDEN = 1e9


def leaf_distances(histograms: np.ndarray, parents: np.ndarray) -> np.ndarray:
    """Symmetric Kullback-Leibler divergence of the leaves' class histograms (L, K), `FORBIDDEN` between siblings.

    One sample's weight of the whole layer's shares is added to each histogram, so that no logarithm is infinite.
    parents (L,): the node that a leaf was just split from, or -1.
    """
    shares = histograms.sum(axis=0) / histograms.sum()
    smoothed = histograms + np.maximum(shares, 1e-6)
    p = smoothed / smoothed.sum(axis=1, keepdims=True)
    cross = p @ np.log(p).T
    own = np.diag(cross)
    distances = 0.5 * (own[:, None] - cross + (own[:, None] - cross).T)
    siblings = (parents[:, None] == parents) & (parents[:, None] >= 0)
    distances = np.where(siblings, FORBIDDEN, np.maximum(distances, 0))
    np.fill_diagonal(distances, 0)
    return distances


def merge_leaves(histograms: np.ndarray, parents: np.ndarray, max_width: int) -> np.ndarray:
    """Cluster number (L,) of every leaf, at most `max_width` >= 2 clusters, siblings never in one.

    Agglomerative clustering with complete linkage: the distance of two clusters is that of their farthest leaves, so
    a cluster that would hold two siblings is at distance `FORBIDDEN`. With at most 2 `max_width` leaves, two clusters
    that may be joined always exist: k clusters that all forbid each other hold at least k (k - 1) leaves.
    """
    n_leaves = len(histograms)
    if n_leaves <= max_width:
        return np.arange(n_leaves)
    condensed = squareform(leaf_distances(histograms, parents), checks=False)
    clusters = cut_tree(linkage(condensed, method="complete"), n_clusters=max_width)[:, 0]
    # Numbered by their first leaf, so that the order of leaves is kept.
    _, first, numbers = np.unique(clusters, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[numbers]
