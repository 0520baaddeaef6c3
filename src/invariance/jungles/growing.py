"""Growing a tree (TICT) or a jungle (TICJ) layer by layer, [Laptev15] sec. 3.3 and 3.4.

In every layer each impure leaf is split by a filter learned for it (`splitting.py`); if there are more leaves than the
maximum width, leaves with similar classes are merged (`merging.py`). Growth follows the Brier score of validation
samples: it continues while the score falls, widens the maximum width by half when it does not, stops when it has not
fallen for `patience` layers, and keeps the best depth. If no layer improves on the root, as happens with few validation
samples, it grows to the end, since an ensemble of weak jungles is better than none.

Differs from [Laptev15]: with `relaxation="retry"`, the default, a leaf is tried again at once with a reduced
smoothness, which is kept only if it made a split possible (`"layer"` is the way of the paper); the validation loss is
the Brier score, which also changes when no predicted label does and, being bounded, does not stop growth at the first
sample that is wrong with certainty.
"""

from typing import NamedTuple

import numpy as np

from invariance._core import loaded
from invariance.jungles.dag import Dag, cut_below, follow, leaf_probabilities, route
from invariance.jungles.filters import Geometry
from invariance.jungles.merging import merge_leaves
from invariance.jungles.splitting import Growth, Samples, Split, split_leaf

# What the smoothness is multiplied by when a split leaves one side empty ([Laptev15] sec. 3.3.1), and the number of
# attempts at one leaf of a layer (our choice: the last one has less than a thousandth of the smoothness).
RELAXATION, MAX_ATTEMPTS = 2 / 3, 20
# The maximum width is multiplied by this when the validation loss stops falling (our choice).
WIDENING = 1.5


class Layer(NamedTuple):
    """One row of a growth curve.

    Attributes
    ----------
    depth : int
        Number of layers below the root.
    n_leaves : int
        Number of leaves after the layer was added.
    max_width : int
        The maximum number of leaves at that time; 0 if there is none.
    loss : float
        Brier score of the validation samples; NaN without any.
    """

    depth: int
    n_leaves: int
    max_width: int
    loss: float

    def check_loaded(self) -> None:
        """Raise ValueError if the row, read from a file, is not one of a growth curve."""
        count = loaded.whole(0)
        loaded.check_values(self, depth=count, n_leaves=count, max_width=count)
        if not isinstance(self.loss, float):
            raise ValueError(f"the loss of a layer must be a number; got {self.loss!r}.")


def grow_jungle(
    samples: Samples, members: np.ndarray, geometry: Geometry, growth: Growth, rng, grown: Dag | None = None
) -> tuple[Dag, list[Layer]]:
    """Grow a jungle and return it with its growth curve; `grown` is a jungle to add layers to."""
    samples = samples._replace(orbits=samples.orbits.restrict(members))
    nodes = Nodes(samples, members, grown)
    # Merging is possible only if at most twice as many leaves as the maximum width are left after the splits.
    width = None if growth.max_width is None else max(growth.max_width, len(nodes.frontier))
    smoothness = growth.smoothness
    curve = [nodes.measure(width)]
    best, n_worse, n_empty = curve[0], 0, 0
    while nodes.depth + n_empty < growth.max_depth and (n_worse < growth.patience or best.depth == 0):
        before = smoothness
        splits, smoothness = split_leaves(samples, nodes, geometry, growth, smoothness, rng)
        if not splits and smoothness == before:
            break
        if not splits:
            n_empty += 1
            continue
        nodes.add_layer(splits, width)
        curve.append(nodes.measure(width))
        if np.isnan(curve[-1].loss) or curve[-1].loss < best.loss:
            best, n_worse = curve[-1], 0
        else:
            n_worse += 1
            width = None if width is None else int(np.ceil(width * WIDENING))
    if best.depth == 0:
        best = curve[-1]
    return _count_all_samples(cut_below(nodes.freeze(), best.depth), samples), curve


def split_leaves(samples: Samples, nodes: "Nodes", geometry, growth: Growth, smoothness: float, rng):
    """Split all leaves that can be split; return the splits and the smoothness for the leaves that follow."""
    splits: list[Split] = []
    n_attempts = MAX_ATTEMPTS if growth.relaxation == "retry" else 1
    for leaf in nodes.frontier:
        rows = np.flatnonzero(nodes.position == leaf)
        training = rows[~samples.held_out[rows]]
        is_pure = len(np.unique(samples.codes[training])) < 2
        if is_pure or len(training) < 2 * growth.min_samples_leaf or leaf in nodes.unsplittable:
            continue
        for attempt in range(n_attempts):
            relaxed = smoothness * RELAXATION**attempt
            split = split_leaf(samples, leaf, rows, training, geometry, growth, relaxed, rng)
            if split is not None:
                splits.append(split)
                smoothness = relaxed
                break
        else:
            if growth.relaxation == "retry":
                nodes.unsplittable.add(leaf)
            else:
                smoothness *= RELAXATION
    return splits, smoothness


class Nodes:
    """The graph while it grows: the arrays of `Dag` as lists, and the current leaf of every sample.

    Attributes
    ----------
    frontier : list of int
        The current leaves.
    position : ndarray of shape (n,)
        The current leaf of every sample.
    unsplittable : set of int
        Leaves for which no attempt found a split.
    depth : int
        Number of layers below the root.
    """

    def __init__(self, samples: Samples, members: np.ndarray, grown: Dag | None):
        self.samples = samples
        self.members = members
        self.feature: list[int] = []
        self.threshold: list[float] = []
        self.left: list[int] = []
        self.right: list[int] = []
        self.layer: list[int] = []
        self.histogram: list[np.ndarray] = []
        self.filters: list[np.ndarray] = []
        self.unsplittable: set[int] = set()
        self.depth = 0
        self.position = np.zeros(len(samples.codes), np.int64)
        if grown is None:
            self.frontier = [self._add(np.arange(len(samples.codes)))]
        else:
            self._take_up(grown)

    def _take_up(self, grown: Dag) -> None:
        """Continue from a graph that was grown before."""
        self.feature, self.threshold = grown.feature.tolist(), grown.threshold.tolist()
        self.left, self.right, self.layer = grown.left.tolist(), grown.right.tolist(), grown.layer.tolist()
        self.filters = list(grown.filters)
        self.depth = int(grown.layer.max())
        self.position = route(grown, self.samples.orbits)
        self.frontier = np.flatnonzero(grown.is_leaf).tolist()
        # The histograms that growth uses are those of the training samples alone, as if it had never stopped.
        self.histogram = list(grown.histogram)
        for leaf in self.frontier:
            self.histogram[leaf] = self._count(np.flatnonzero(self.position == leaf))

    def _count(self, rows):
        """Sum the weights of the training samples among the rows by class: (K,)."""
        rows = rows[~self.samples.held_out[rows]]
        return np.bincount(self.samples.codes[rows], self.samples.weights[rows], self.samples.n_classes)

    def _add(self, rows) -> int:
        """Append a leaf that holds the rows; return its number."""
        node = len(self.feature)
        self.feature.append(-1)
        self.threshold.append(0.0)
        self.left.append(-1)
        self.right.append(-1)
        self.layer.append(self.depth)
        self.histogram.append(self._count(rows))
        self.position[rows] = node
        return node

    def add_layer(self, splits: list[Split], max_width: int | None) -> None:
        """Apply the splits, and merge leaves if there are more than `max_width`."""
        self.depth += 1
        split_nodes = {split.node for split in splits}
        # (parent, side, rows); side None marks a leaf that was not split, which stays unless it is merged.
        staying = [leaf for leaf in self.frontier if leaf not in split_nodes]
        leaves: list[tuple[int, list[int] | None, np.ndarray]] = [
            (leaf, None, np.flatnonzero(self.position == leaf)) for leaf in staying
        ]
        for split in splits:
            self.feature[split.node] = len(self.filters)
            self.threshold[split.node] = split.threshold
            self.filters.append(split.coordinates)
            leaves += [(split.node, self.left, split.below), (split.node, self.right, split.above)]
        parents = np.array([-1 if side is None else parent for parent, side, _ in leaves])
        histograms = np.array([self._count(rows) for _, _, rows in leaves])
        clusters = merge_leaves(histograms, parents, max_width or len(leaves))
        self.frontier = [
            self._join([leaf for leaf, number in zip(leaves, clusters, strict=True) if number == cluster])
            for cluster in range(clusters.max() + 1)
        ]

    def _join(self, leaves) -> int:
        """Make one node of the leaves of a cluster; a leaf that is neither new nor merged is kept."""
        if len(leaves) == 1 and leaves[0][1] is None:
            return leaves[0][0]
        node = self._add(np.concatenate([rows for _, _, rows in leaves]))
        for parent, side, _ in leaves:
            if side is None:
                self.left[parent] = self.right[parent] = node
            else:
                side[parent] = node
        return node

    def measure(self, max_width: int | None) -> Layer:
        """Measure the layer just added, a row of the growth curve."""
        held_out = np.flatnonzero(self.samples.held_out)
        loss = np.nan
        if len(held_out):
            errors = leaf_probabilities(self.freeze())[self.position[held_out]]
            errors[np.arange(len(held_out)), self.samples.codes[held_out]] -= 1
            loss = float(np.average(np.sum(errors**2, axis=1), weights=self.samples.weights[held_out]))
        return Layer(self.depth, len(self.frontier), max_width or 0, loss)

    def freeze(self) -> Dag:
        """Return the graph grown so far."""
        rank = self.samples.orbits.coordinates[0].shape[1]
        return Dag(
            filters=np.array(self.filters, np.float32).reshape(-1, rank),
            members=self.members,
            feature=np.array(self.feature, np.int64),
            threshold=np.array(self.threshold),
            left=np.array(self.left, np.int64),
            right=np.array(self.right, np.int64),
            layer=np.array(self.layer, np.int64),
            histogram=np.array(self.histogram).reshape(len(self.feature), -1),
        )


def _count_all_samples(dag: Dag, samples: Samples) -> Dag:
    """Count the validation samples in the histograms of the finished graph as well."""
    _, visits = follow(dag, samples.orbits)
    counts = [np.bincount(samples.codes[rows], samples.weights[rows], samples.n_classes) for rows in visits]
    return dag._replace(histogram=np.array(counts))
