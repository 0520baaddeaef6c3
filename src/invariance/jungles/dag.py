"""A grown tree or jungle as flat arrays: routing, coding and saving need nothing else."""

from typing import NamedTuple

import numpy as np

from invariance.jungles.orbits import Orbits


class Dag(NamedTuple):
    """A rooted graph; node 0 is the root and every child has a higher number than its parents.

    filters (f, r) float32: coordinates of the learned filters; members (t,): the members of Φ they are maximised over;
    feature (n,): the filter of a node, or -1; threshold (n,): responses above go right, others left;
    left, right (n,): children, -1 for a leaf; a node without filter but with a child hands all it has to that child;
    layer (n,): in which layer the node came to be; histogram (n, K): weight of each class that reached the node.
    """

    filters: np.ndarray
    members: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    layer: np.ndarray
    histogram: np.ndarray

    @property
    def n_nodes(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.feature)

    @property
    def is_leaf(self) -> np.ndarray:
        """Which nodes are leaves, (n,) bool."""
        return self.left < 0

    def check_loaded(self) -> None:
        """Refuse arrays that do not describe a graph: a file may hold anything."""
        n_nodes, n_filters = self.n_nodes, len(self.filters)
        nodes = np.arange(n_nodes)
        lengths = {len(array) for array in self[2:]}
        if lengths != {n_nodes} or n_nodes == 0:
            raise ValueError("the arrays of a jungle must be equally long and not empty.")
        if len(self.members) == 0 or np.any(self.members < 0) or np.any(np.diff(self.members) <= 0):
            raise ValueError("a jungle asks for a transformation that does not exist.")
        for child in (self.left, self.right):
            if np.any((child >= 0) & (child <= nodes)) or np.any(child >= n_nodes) or np.any(child < -1):
                raise ValueError("a node of a jungle must come before its children.")
        if (
            np.any((self.left < 0) != (self.right < 0))
            or np.any(self.feature < -1)
            or np.any(self.feature >= n_filters)
        ):
            raise ValueError("a node of a jungle names a child or a filter that does not exist.")


def route(dag: Dag, orbits: Orbits) -> np.ndarray:
    """The leaf that every sample reaches: (n,); the orbits are those of the graph's own members of Φ."""
    return follow(dag, orbits)[0]


def follow(dag: Dag, orbits: Orbits) -> tuple[np.ndarray, list[np.ndarray]]:
    """The leaf of every sample (n,), and for every node the rows that pass through it."""
    waiting: list[list[np.ndarray]] = [[] for _ in range(dag.n_nodes)]
    waiting[0] = [np.arange(orbits.n_samples)]
    visits, leaves = [], np.zeros(orbits.n_samples, np.int64)
    for node in range(dag.n_nodes):
        rows = np.sort(np.concatenate(waiting[node])) if waiting[node] else np.empty(0, np.int64)
        visits.append(rows)
        leaves[rows] = node
        if dag.left[node] < 0 or len(rows) == 0:
            continue
        if dag.feature[node] < 0:
            waiting[dag.left[node]].append(rows)
            continue
        responses = orbits.take(rows).largest_responses(dag.filters[[dag.feature[node]]])[:, 0]
        above = responses > np.float64(dag.threshold[node])
        waiting[dag.right[node]].append(rows[above])
        waiting[dag.left[node]].append(rows[~above])
    return leaves, visits


def cut_below(dag: Dag, layer: int) -> Dag:
    """The graph without the layers below `layer`; filters that no node uses any more are dropped."""
    kept = dag.layer <= layer
    # Nodes are numbered by layer, so what is kept is a prefix and no number changes.
    n_kept = int(kept.sum())
    child_gone = dag.left[:n_kept] >= n_kept
    feature = np.where(child_gone, -1, dag.feature[:n_kept])
    used, feature_numbers = np.unique(feature[feature >= 0], return_inverse=True)
    feature[feature >= 0] = feature_numbers
    return dag._replace(
        filters=dag.filters[used],
        feature=feature,
        threshold=dag.threshold[:n_kept],
        left=np.where(child_gone, -1, dag.left[:n_kept]),
        right=np.where(child_gone, -1, dag.right[:n_kept]),
        layer=dag.layer[:n_kept],
        histogram=dag.histogram[:n_kept],
    )


def leaf_probabilities(dag: Dag) -> np.ndarray:
    """Class probabilities of every node (n, K): its histogram with one sample's weight of the root's shares added."""
    root = dag.histogram[0] / dag.histogram[0].sum()
    smoothed = dag.histogram + root
    return smoothed / smoothed.sum(axis=1, keepdims=True)
