"""Pruning a tree from below, [Moosmann06] sec. 3.

Of all nodes whose children are both leaves, the one of lowest gain becomes a leaf, again and again.

[Moosmann06] does not say which gain. Here it is weighted by the node's share of all samples: what the tree as a whole
would lose. Unweighted, nodes that divide few samples perfectly would outlive those that divide many a little: with 1000
leaves on 20,000 windows of GRAZ-02, the largest held 7 to 12 % of the samples instead of 2 to 4 %.
"""

import heapq

import numpy as np

from invariance.trees.tree import Tree


def prune_tree(tree: Tree, gain: np.ndarray, n_leaves: int | None, min_gain: float) -> Tree:
    """Prune the tests of lowest gain.

    Parameters
    ----------
    tree : Tree
        A grown tree.
    gain : ndarray of shape (n_nodes,)
        From `grow_tree`.
    n_leaves : int or None
        Maximum number of leaves that remain, None for any number.
    min_gain : float
        Tests of a smaller gain whose children are both leaves are pruned as well.

    Returns
    -------
    Tree
    """
    left, gains = tree.left.tolist(), gain.tolist()
    parent = _find_parents(tree.left)
    is_lowest = ~tree.is_leaf
    is_lowest[parent[~tree.is_leaf & (parent >= 0)]] = False
    lowest = [(gains[node], node) for node in np.flatnonzero(is_lowest).tolist()]
    heapq.heapify(lowest)
    n_left = tree.n_leaves
    parents, removed = parent.tolist(), []
    while lowest and (lowest[0][0] < min_gain or (n_leaves is not None and n_left > n_leaves)):
        node = heapq.heappop(lowest)[1]
        removed.append(left[node])
        left[node] = -1
        n_left -= 1
        above = parents[node]
        if above >= 0 and left[left[above]] < 0 and left[left[above] + 1] < 0:
            heapq.heappush(lowest, (gains[above], above))
    return _drop_nodes(tree._replace(left=np.array(left, np.int32)), np.array(removed, np.int64))


def _find_parents(left: np.ndarray) -> np.ndarray:
    """The parent of every node, -1 for the root."""
    inner = np.flatnonzero(left >= 0)
    parent = np.full(len(left), -1)
    parent[left[inner]] = parent[left[inner] + 1] = inner
    return parent


def _drop_nodes(tree: Tree, removed: np.ndarray) -> Tree:
    """The tree without the `removed` left children and their right neighbours; what is left keeps its order."""
    kept = np.ones(tree.n_nodes, bool)
    kept[removed] = kept[removed + 1] = False
    numbers = np.cumsum(kept, dtype=np.int32) - 1
    left = tree.left[kept]
    is_leaf = left < 0
    return Tree(
        feature=np.where(is_leaf, -1, tree.feature[kept]).astype(np.int32),
        threshold=np.where(is_leaf, 0, tree.threshold[kept]).astype(np.float32),
        left=np.where(is_leaf, -1, numbers[left]).astype(np.int32),
    )
