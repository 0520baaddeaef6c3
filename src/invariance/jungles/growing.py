"""Growing a tree (TICT) or a jungle (TICJ) layer by layer, [Laptev15] sec. 3.3 and 3.4.

Layer by layer: every impure leaf draws a pair of its classes (or parts all of them in two), learns a filter for them
and is split; if more than M leaves are left, alike ones are merged. Growth watches the Brier score of samples held
out: it goes on while that falls, widens M by half when it does not, stops when it has not fallen for `patience`
layers, and keeps the best depth. If no layer is better than none, as happens where few samples are held out, it grows
to the end: an ensemble of jungles that each know little knows more than none.

Differs from [Laptev15]: the threshold of a split may be that of largest information gain (with unbalanced nodes, zero
leaves nearly all samples on one side); a filter may be learned for two groups of all classes instead of two classes,
which uses every sample of the node; a smoothness that was relaxed is kept only if it made a split possible; the loss
held out is the Brier score, which also moves when no label changes and, being bounded, does not stop growth at the
first sample that is surely wrong.
"""

from typing import NamedTuple

import numpy as np

from invariance.jungles import _jit
from invariance.jungles.dag import Dag, cut_below, follow, leaf_probabilities, route
from invariance.jungles.filters import Geometry, learn_filter
from invariance.jungles.merging import merge_leaves
from invariance.jungles.orbits import Orbits

# What a trivial split multiplies the smoothness by, and how often it may ([Laptev15] sec. 3.3.1).
RELAXATION = 2 / 3
MAX_ATTEMPTS = 20
WIDENING = 1.5


class Growth(NamedTuple):
    """How to grow: the parameters of an estimator that concern one tree or jungle. `max_width` None grows a tree."""

    max_depth: int
    max_width: int | None
    split: str
    contrast: str
    smoothness: float
    min_samples_leaf: int
    max_steps: int
    n_starts: int
    patience: int


class Samples(NamedTuple):
    """What is grown on: orbits of n samples, their class codes (n,), weights (n,), and which are held out (n,) bool."""

    orbits: Orbits
    codes: np.ndarray
    weights: np.ndarray
    held_out: np.ndarray
    n_classes: int


class Layer(NamedTuple):
    """One row of a growth curve; the loss is NaN where nothing was held out."""

    depth: int
    n_leaves: int
    max_width: int
    loss: float


def grow_jungle(
    samples: Samples, members: np.ndarray, geometry: Geometry, growth: Growth, rng, grown: Dag | None = None
) -> tuple[Dag, list[Layer]]:
    """A jungle and its growth curve; `grown` is a jungle to add layers to."""
    samples = samples._replace(orbits=samples.orbits.restrict(members))
    nodes = Nodes(samples, members, grown)
    # Merging needs at least half as many places as there are leaves after a layer of splits.
    width = None if growth.max_width is None else max(growth.max_width, len(nodes.frontier))
    smoothness = growth.smoothness
    curve = [nodes.measure(width)]
    best, n_worse = curve[0], 0
    while nodes.depth < growth.max_depth and (n_worse < growth.patience or best.depth == 0):
        splits, smoothness = split_leaves(samples, nodes, geometry, growth, smoothness, rng)
        if not splits:
            break
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


class Split(NamedTuple):
    """A leaf to be split: its filter, the threshold, and its rows (all of them) below and above."""

    node: int
    coordinates: np.ndarray
    threshold: float
    below: np.ndarray
    above: np.ndarray


def split_leaves(samples: Samples, nodes: "Nodes", geometry, growth: Growth, smoothness: float, rng):
    """Splits of all leaves that can be split, and the smoothness that was needed for them."""
    splits = []
    for leaf in nodes.frontier:
        rows = np.flatnonzero(nodes.position == leaf)
        training = rows[~samples.held_out[rows]]
        is_pure = len(np.unique(samples.codes[training])) < 2
        if is_pure or len(training) < 2 * growth.min_samples_leaf or leaf in nodes.hopeless:
            continue
        for attempt in range(MAX_ATTEMPTS):
            relaxed = smoothness * RELAXATION**attempt
            split = split_leaf(samples, leaf, rows, training, geometry, growth, relaxed, rng)
            if split is not None:
                splits.append(split)
                smoothness = relaxed
                break
        else:
            nodes.hopeless.add(leaf)
    return splits, smoothness


def split_leaf(samples: Samples, leaf, rows, training, geometry, growth: Growth, smoothness, rng) -> Split | None:
    """One try: draw classes to tell apart, learn their filter, cut the responses; None if all fall on one side."""
    chosen, targets = draw_targets(samples, training, growth.contrast, rng)
    learned = learn_filter(
        samples.orbits.take(chosen),
        targets,
        samples.weights[chosen],
        geometry,
        smoothness,
        growth.max_steps,
        growth.n_starts,
        rng,
    )
    responses = samples.orbits.take(rows).largest_responses(learned.coordinates[None])[:, 0]
    trained_on = ~samples.held_out[rows]
    if growth.split == "zero":
        threshold = -learned.bias
    else:
        threshold = gain_threshold(
            responses[trained_on], samples.codes[training], samples.weights[training], samples.n_classes, growth
        )
    # As routing does it: a Python float would be rounded to the responses' single precision first.
    above = responses > np.float64(threshold)
    n_above = np.count_nonzero(above[trained_on])
    if not growth.min_samples_leaf <= n_above <= len(training) - growth.min_samples_leaf:
        return None
    return Split(leaf, learned.coordinates, float(threshold), rows[~above], rows[above])


def draw_targets(samples: Samples, rows, contrast: str, rng) -> tuple[np.ndarray, np.ndarray]:
    """Which of the rows to learn a filter from, and their targets in {-1, +1}.

    "pairs": two classes, drawn with probability proportional to their weight among the rows ([Laptev15]);
    "groups": all classes among the rows, parted at random into two groups of about the same number;
    "rest": one class, drawn as for a pair, against all others.
    """
    presence = np.bincount(samples.codes[rows], weights=samples.weights[rows], minlength=samples.n_classes)
    if contrast == "pairs":
        first, second = rng.choice(samples.n_classes, size=2, replace=False, p=presence / presence.sum())
        rows = rows[np.isin(samples.codes[rows], (first, second))]
        return rows, np.where(samples.codes[rows] == second, 1.0, -1.0)
    if contrast == "rest":
        first = rng.choice(samples.n_classes, p=presence / presence.sum())
        return rows, np.where(samples.codes[rows] == first, 1.0, -1.0)
    present = rng.permutation(np.flatnonzero(presence))
    return rows, np.where(np.isin(samples.codes[rows], present[: len(present) // 2]), 1.0, -1.0)


def gain_threshold(responses, codes, weights, n_classes, growth: Growth) -> float:
    """The cut of largest information gain, midway between two responses; infinite where every cut gains nothing."""
    order = np.argsort(responses, kind="stable")
    threshold, gain = _jit.best_threshold(
        responses[order].astype(np.float64), codes[order], weights[order], n_classes, growth.min_samples_leaf
    )
    return threshold if gain > 0 else np.inf


class Nodes:
    """The graph while it grows: lists of what `Dag` holds as arrays, and the leaf of every sample."""

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
        self.hopeless: set[int] = set()
        self.depth = 0
        self.position = np.zeros(len(samples.codes), np.int64)
        if grown is None:
            self.frontier = [self._add(np.arange(len(samples.codes)))]
        else:
            self._take_up(grown)

    def _take_up(self, grown: Dag) -> None:
        self.feature, self.threshold = grown.feature.tolist(), grown.threshold.tolist()
        self.left, self.right, self.layer = grown.left.tolist(), grown.right.tolist(), grown.layer.tolist()
        self.filters = list(grown.filters)
        self.depth = int(grown.layer.max())
        self.position = route(grown, self.samples.orbits)
        self.frontier = np.flatnonzero(grown.is_leaf).tolist()
        # Growth is judged by histograms of the training samples alone, as if it had never stopped.
        self.histogram = list(grown.histogram)
        for leaf in self.frontier:
            self.histogram[leaf] = self._count(np.flatnonzero(self.position == leaf))

    def _count(self, rows):
        """Class weights of the training samples among the rows: (K,)."""
        rows = rows[~self.samples.held_out[rows]]
        return np.bincount(self.samples.codes[rows], self.samples.weights[rows], self.samples.n_classes)

    def _add(self, rows) -> int:
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
        """Carry out the splits; merge the leaves if there are more than `max_width`."""
        self.depth += 1
        split_nodes = {split.node for split in splits}
        # (parent, side, rows): side None is a leaf that was not split and stays, unless it is merged with others.
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
        """One node for the leaves of a cluster; a leaf that is neither new nor merged stays what it is."""
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
        """The growth curve's row for the layer just added."""
        held_out = np.flatnonzero(self.samples.held_out)
        loss = np.nan
        if len(held_out):
            errors = leaf_probabilities(self.freeze())[self.position[held_out]]
            errors[np.arange(len(held_out)), self.samples.codes[held_out]] -= 1
            loss = float(np.average(np.sum(errors**2, axis=1), weights=self.samples.weights[held_out]))
        return Layer(self.depth, len(self.frontier), max_width or 0, loss)

    def freeze(self) -> Dag:
        """The graph so far."""
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
    """The finished graph with the samples held out counted in as well."""
    _, visits = follow(dag, samples.orbits)
    counts = [np.bincount(samples.codes[rows], samples.weights[rows], samples.n_classes) for rows in visits]
    return dag._replace(histogram=np.array(counts))
