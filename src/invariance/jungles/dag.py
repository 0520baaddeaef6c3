"""A grown tree or jungle as flat arrays, and routing samples through it."""

from typing import NamedTuple

import numpy as np

from invariance._core import loaded
from invariance.jungles.orbits import Orbits


class Dag(NamedTuple):
    """A rooted directed acyclic graph; node 0 is the root, and children have higher numbers than their parents.

    Attributes
    ----------
    filters : ndarray of shape (f, r), float32
        Coordinates of the learned filters in the reduced basis.
    members : ndarray of shape (t,)
        Sorted indices of the members of Φ that responses are maximised over.
    feature : ndarray of shape (n,)
        The filter of every node, or -1.
    threshold : ndarray of shape (n,)
        Samples with a larger response go right, the rest left.
    left, right : ndarray of shape (n,)
        Children, -1 for a leaf. A node with children but without filter passes all its samples to its left child.
    layer : ndarray of shape (n,)
        The layer in which the node was added.
    histogram : ndarray of shape (n, n_classes)
        Summed weights of the training samples that reach the node, by class.
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
        """Which nodes are leaves: (n,) bool."""
        return self.left < 0

    def check_loaded(self) -> None:
        """Raise ValueError if the arrays, read from a file, do not describe a graph."""
        loaded.check_values(
            self,
            filters=loaded.array((None, None), np.float32, -1e9, 1e9),
            members=loaded.array((None,), np.int64),
            feature=loaded.array((None,), np.int64),
        )
        n_nodes, n_filters = self.n_nodes, len(self.filters)
        if n_nodes == 0:
            raise ValueError("a jungle must have at least one node.")
        numbers = loaded.array((n_nodes,), np.int64, -1)
        loaded.check_values(
            self,
            threshold=loaded.array((n_nodes,), np.float64),
            left=numbers,
            right=numbers,
            layer=numbers,
            histogram=loaded.array((n_nodes, None), np.float64, 0),
        )
        if len(self.members) == 0 or np.any(self.members < 0) or np.any(np.diff(self.members) <= 0):
            raise ValueError(
                "the members of a jungle must be sorted indices of transformations, each once and none negative."
            )
        nodes = np.arange(n_nodes)
        for child in (self.left, self.right):
            if np.any((child >= 0) & (child <= nodes)) or np.any(child >= n_nodes):
                raise ValueError("every node of a jungle must come before its children, and these must exist.")
        if (
            np.any((self.left < 0) != (self.right < 0))
            or np.any(self.feature < -1)
            or np.any(self.feature >= n_filters)
        ):
            raise ValueError("every node of a jungle must have two children or none, and a filter that exists or -1.")
        if not self.histogram[0].sum() > 0:
            raise ValueError("the first node of a jungle must have samples.")


def route(dag: Dag, orbits: Orbits) -> np.ndarray:
    """Find the leaf that every sample reaches: (n,). The orbits are restricted to the graph's members of Φ."""
    return follow(dag, orbits)[0]


def follow(dag: Dag, orbits: Orbits) -> tuple[np.ndarray, list[np.ndarray]]:
    """Find the leaf of every sample (n,), and the rows that pass through every node."""
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
    """Remove the layers below `layer`, and the filters that no remaining node uses."""
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
    """Compute class probabilities (n, K) of every node.

    Histograms are smoothed by the class shares of the root with the weight of one sample.
    """
    root = dag.histogram[0] / dag.histogram[0].sum()
    smoothed = dag.histogram + root
    return smoothed / smoothed.sum(axis=1, keepdims=True)
