"""Merging leaves with similar classes so that a jungle stays narrow, [Laptev15] sec. 3.3.2."""

import numpy as np
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.spatial.distance import squareform

# A distance above that of any two smoothed histograms; finite, as the clustering requires.
FORBIDDEN = 1e9
# The smallest class share that smooths a histogram, so that the logarithm of an absent class is finite.
MIN_SHARE = 1e-6


def leaf_distances(histograms: np.ndarray, parents: np.ndarray) -> np.ndarray:
    """Compute symmetric Kullback-Leibler divergences between class histograms, `FORBIDDEN` between siblings.

    The class shares of the whole layer, with the weight of one sample, are added to each histogram, so that all
    logarithms are finite.

    Parameters
    ----------
    histograms : ndarray of shape (L, n_classes)
        Class weights of the leaves.
    parents : ndarray of shape (L,)
        The node that a leaf was just split from, or -1.

    Returns
    -------
    distances : ndarray of shape (L, L)
        Symmetric, with a zero diagonal.
    """
    shares = histograms.sum(axis=0) / histograms.sum()
    smoothed = histograms + np.maximum(shares, MIN_SHARE)
    p = smoothed / smoothed.sum(axis=1, keepdims=True)
    cross = p @ np.log(p).T
    own = np.diag(cross)
    distances = 0.5 * (own[:, None] - cross + (own[:, None] - cross).T)
    siblings = (parents[:, None] == parents) & (parents[:, None] >= 0)
    distances = np.where(siblings, FORBIDDEN, np.maximum(distances, 0))
    np.fill_diagonal(distances, 0)
    return distances


def merge_leaves(histograms: np.ndarray, parents: np.ndarray, max_width: int) -> np.ndarray:
    """Assign every leaf to one of at most `max_width` >= 2 clusters, never two siblings to one: (L,).

    Agglomerative clustering with complete linkage: the distance of two clusters is that of their farthest leaves, so
    that clusters with siblings in them are `FORBIDDEN` apart. With at most 2 `max_width` leaves two clusters that may
    be joined always exist: k clusters of which no two may be joined hold at least k (k - 1) leaves.
    """
    n_leaves = len(histograms)
    if n_leaves <= max_width:
        return np.arange(n_leaves)
    condensed = squareform(leaf_distances(histograms, parents), checks=False)
    clusters = cut_tree(linkage(condensed, method="complete"), n_clusters=max_width)[:, 0]
    # Clusters are numbered by their first leaf, so that the order of leaves is kept.
    _, first, numbers = np.unique(clusters, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[numbers]
