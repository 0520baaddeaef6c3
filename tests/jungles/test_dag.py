"""The flat graph: routing, cutting, and refusing what is no graph."""

import numpy as np
import pytest

from invariance.jungles.dag import Dag, cut_below, follow, leaf_probabilities, route
from invariance.jungles.filters import measure_geometry
from invariance.jungles.growing import grow_jungle
from invariance.transformations import Identity, IlluminationCorrections, Rotations, Shifts
from tests import reference
from tests.jungles.toys import GROWTH, samples_of


def grow(images, labels, phi, members=None, seed=0, rank=24, **changes):
    samples, reduced = samples_of(images, labels, phi, rank)
    geometry = measure_geometry(samples.orbits, reduced.basis, images.shape[1:])
    members = np.arange(samples.orbits.n_members) if members is None else np.array(members)
    dag, curve = grow_jungle(samples, members, geometry, GROWTH._replace(**changes), np.random.default_rng(seed))
    return dag, samples, curve


@pytest.fixture(
    scope="module",
    params=[
        (Rotations(4), None, {}),
        (Rotations(8), [0, 3, 5], {"max_width": None}),
        (Identity(), None, {"max_width": 2, "max_depth": 8}),
        (Shifts(1) * IlluminationCorrections(), [0, 2, 9, 20], {"threshold": "zero"}),
    ],
    ids=lambda param: f"{param[0]!r}-{param[2]}",
)
def grown(request, glyphs):
    (images, labels), _ = glyphs
    phi, members, changes = request.param
    return grow(images, labels, phi, members, **changes)


def test_routing_equals_walking_one_sample_at_a_time(grown):
    dag, samples, _ = grown
    leaves, visits = follow(dag, samples.orbits.restrict(dag.members))
    passed = np.zeros((len(leaves), dag.n_nodes), bool)
    for node, rows in enumerate(visits):
        passed[rows, node] = True
    for row in range(0, len(leaves), 7):
        path = reference.walk(dag, [part[row] for part in samples.orbits.coordinates], samples.orbits.matrices)
        assert leaves[row] == path[-1]
        assert np.flatnonzero(passed[row]).tolist() == path


def test_children_come_after_their_parents_and_every_node_is_reached(grown):
    dag, _, _ = grown
    inner = np.flatnonzero(~dag.is_leaf)
    for child in (dag.left, dag.right):
        assert np.all(child[inner] > inner)
        assert np.all(dag.layer[child[inner]] > dag.layer[inner])
    assert np.all(np.diff(dag.layer) >= 0)
    assert set(dag.left[inner]) | set(dag.right[inner]) == set(range(1, dag.n_nodes))
    np.testing.assert_array_equal(dag.left < 0, dag.right < 0)
    assert np.all(dag.feature[dag.is_leaf] == -1)
    # Filters are numbered by their nodes, each used once; a node without one hands all it has to one child.
    used = dag.feature[dag.feature >= 0]
    assert sorted(used) == list(range(len(dag.filters)))
    handing_on = ~dag.is_leaf & (dag.feature < 0)
    np.testing.assert_array_equal(dag.left[handing_on], dag.right[handing_on])
    dag.check_loaded()


def test_every_training_sample_reaches_a_leaf_and_is_counted_there(grown):
    dag, samples, _ = grown
    leaves = route(dag, samples.orbits.restrict(dag.members))
    assert np.all(dag.is_leaf[leaves])
    np.testing.assert_allclose(dag.histogram[dag.is_leaf].sum(axis=0), dag.histogram[0])
    np.testing.assert_allclose(dag.histogram[0], np.bincount(samples.codes, samples.weights))
    for leaf in np.flatnonzero(dag.is_leaf):
        here = leaves == leaf
        assert here.any()
        counts = np.bincount(samples.codes[here], samples.weights[here], samples.n_classes)
        np.testing.assert_allclose(dag.histogram[leaf], counts)


def test_the_growth_that_is_tested_here_does_what_it_should(glyphs):
    """The invariants above mean little on a graph of three nodes: there are merged leaves and handing on as well."""
    (images, labels), _ = glyphs
    dag, _, _ = grow(images, labels, Rotations(4), max_depth=8)
    inner = ~dag.is_leaf
    children = np.concatenate([dag.left[inner & (dag.feature >= 0)], dag.right[inner & (dag.feature >= 0)]])
    assert len(np.unique(children)) < len(children)
    tree, _, _ = grow(images, labels, Rotations(4), max_depth=8, max_width=None)
    assert tree.n_nodes == 2 * len(tree.filters) + 1


def test_cutting_keeps_what_is_above(grown):
    dag, samples, _ = grown
    orbits = samples.orbits.restrict(dag.members)
    paths = [
        reference.walk(dag, [part[row] for part in samples.orbits.coordinates], samples.orbits.matrices)
        for row in range(0, orbits.n_samples, 9)
    ]
    for layer in range(int(dag.layer.max()) + 1):
        cut = cut_below(dag, layer)
        cut.check_loaded()
        assert cut.layer.max() == layer
        leaves = route(cut, orbits)
        assert np.all(cut.is_leaf[leaves])
        for row, path in zip(range(0, orbits.n_samples, 9), paths, strict=True):
            assert leaves[row] == [node for node in path if dag.layer[node] <= layer][-1]
        assert len(cut.filters) == np.count_nonzero(cut.feature >= 0)
        np.testing.assert_array_equal(cut.histogram, dag.histogram[: cut.n_nodes])
    same = cut_below(dag, int(dag.layer.max()))
    for ours, theirs in zip(same, dag, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_leaf_probabilities_are_shares_and_never_zero(grown):
    dag, _, _ = grown
    probabilities = leaf_probabilities(dag)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert probabilities.min() > 0
    np.testing.assert_allclose(probabilities[0], dag.histogram[0] / dag.histogram[0].sum())


def small_dag(**changes):
    dag = Dag(
        filters=np.ones((1, 2), np.float32),
        members=np.array([0]),
        feature=np.array([0, -1, -1]),
        threshold=np.zeros(3),
        left=np.array([1, -1, -1]),
        right=np.array([2, -1, -1]),
        layer=np.array([0, 1, 1]),
        histogram=np.ones((3, 2)),
    )
    return dag._replace(**{name: np.array(value) for name, value in changes.items()})


FORGERIES = {
    "a child outside": {"left": [7, -1, -1]},
    "a child before its parent": {"left": [0, -1, -1]},
    "a child far below": {"right": [-5, -1, -1]},
    "one child only": {"right": [-1, -1, -1]},
    "a filter that does not exist": {"feature": [1, -1, -1]},
    "a negative filter": {"feature": [-2, -1, -1]},
    "arrays of different lengths": {"threshold": [0.0]},
    "no transformation": {"members": np.empty(0, int)},
    "a negative transformation": {"members": [-1]},
}


@pytest.mark.parametrize("changes", FORGERIES.values(), ids=FORGERIES.keys())
def test_what_is_no_graph_is_refused(changes):
    small_dag().check_loaded()
    with pytest.raises(ValueError, match="jungle|Dag"):
        small_dag(**changes).check_loaded()


def test_an_empty_graph_is_refused():
    empty = {name: getattr(small_dag(), name)[:0] for name in Dag._fields if name not in ("filters", "members")}
    with pytest.raises(ValueError, match="jungle|Dag"):
        small_dag(**empty).check_loaded()
