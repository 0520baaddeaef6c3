"""Extremely randomized trees: growing and pruning equal their twins, and samples reach the leaves they should."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from invariance.trees import Growth, _jit, class_shares, find_leaves, grow_forest
from invariance.trees.growing import arrange_samples, grow_tree
from invariance.trees.pruning import prune_tree
from tests import reference

COMPILED = settings(max_examples=60, deadline=None, derandomize=True)
SEED = np.uint64(2**64 - 5)


class Seeded:
    """A generator of one known seed."""

    def integers(self, high, dtype):
        return SEED


def make_descriptors(n=120, d=6, n_classes=3, seed=0, levels=None):
    """Descriptors of overlapping classes; with few `levels`, many values are equal."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(n_classes, size=n)
    descriptors = rng.standard_normal((n, d)) + 0.8 * codes[:, None] * (np.arange(d) < 2)
    if levels:
        descriptors = np.round(descriptors * levels) / levels
    return descriptors.astype(np.float32), codes


# --- the loops ---


def test_the_generator_is_splitmix64():
    state, twin = np.array([1234567], np.uint64), reference.Splitmix(1234567)
    drawn = [int(_jit.random_bits(state)) for _ in range(5)]
    assert drawn == [twin.bits() for _ in range(5)]
    assert drawn[:2] == [6457827717110365317, 3203168211198807973]  # as published with the algorithm
    below = [_jit.random_below(state, 7) for _ in range(200)]
    assert below == [twin.below(7) for _ in range(200)]
    assert set(below) == set(range(7))


@st.composite
def parted_values(draw):
    n = draw(st.integers(2, 30))
    values = np.array(draw(st.lists(st.integers(-4, 4), min_size=n, max_size=n)), np.float32)
    codes = np.sort(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    return values, codes, np.float32(draw(st.integers(-4, 3)))


@COMPILED
@given(parted_values(), st.booleans())
def test_the_score_is_that_of_the_entropies(drawn, supervised):
    values, codes, cut = drawn
    sides = values <= cut
    if sides.all() or not sides.any():
        return
    ends = np.empty(len(values), np.int64)
    n_segments = _jit.mark_segments(np.arange(len(values)), codes, ends)
    assert np.diff(ends[:n_segments], prepend=0).tolist() == np.unique(codes, return_counts=True)[1].tolist()
    table = np.array([n * np.log2(n) if n else 0.0 for n in range(len(values) + 1)])
    found = _jit.score_test(values, cut, ends[:n_segments], table, supervised)
    assert found == pytest.approx(reference.split_score(codes, sides, supervised), abs=1e-12)


@COMPILED
@given(parted_values())
def test_parting_keeps_the_order_on_both_sides(drawn):
    values, _, cut = drawn
    members = np.arange(100, 100 + len(values), dtype=np.int32)
    expected = np.concatenate([members[values <= cut], members[values > cut]])
    n_left = _jit.part_stably(members, values, cut, np.empty_like(members))
    assert n_left == np.count_nonzero(values <= cut)
    np.testing.assert_array_equal(members, expected)


@pytest.mark.parametrize("midway", [False, True], ids=["uniform", "midway"])
def test_a_threshold_never_leaves_a_side_empty(midway):
    # Neighbouring floats: nearly every draw rounds to one of the two.
    low, high = np.float32(1), np.nextafter(np.float32(1), np.float32(2))
    state = np.array([3], np.uint64)
    cuts = {float(_jit.draw_threshold(np.array([low, high]), low, high, midway, state)) for _ in range(50)}
    assert cuts == {float(low)}
    extreme = np.finfo(np.float32).max
    cuts = [_jit.draw_threshold(np.array([-extreme, extreme]), -extreme, extreme, midway, state) for _ in range(50)]
    assert all(-extreme <= cut < extreme for cut in cuts)


# --- growing and pruning ---

WAYS = {
    "uniform": ({}, {}, True),
    "midway": ({}, {"threshold": "samples"}, True),
    "many equal values": ({"levels": 1}, {"max_trials": 3}, True),
    "one trial": ({"n_classes": 2}, {"max_trials": 1}, True),
    "the first of all": ({}, {"min_score": 0.0}, True),
    "mostly constant features": ({"d": 40}, {"max_trials": 2}, True),
    "without labels": ({}, {}, False),
    "without labels, midway": ({"levels": 1}, {"threshold": "samples"}, False),
}


@pytest.fixture(params=WAYS.values(), ids=WAYS.keys())
def grown(request):
    data, growth, supervised = request.param
    descriptors, codes = make_descriptors(**data)
    descriptors[:, 6:] = 1  # constant everywhere
    growth = Growth(10, 0.5, "uniform")._replace(**growth)
    tree, gain = grow_tree(arrange_samples(descriptors, codes if supervised else None), growth, Seeded())
    codes = codes if supervised else np.zeros_like(codes)
    twin = reference.grow_tree(
        descriptors, codes, supervised, growth.max_trials, growth.min_score, growth.threshold == "samples", SEED
    )
    return descriptors, codes, tree, gain, twin


def inner_nodes(tree):
    """{node: (feature, threshold, left)} of the nodes that are no leaves."""
    inner = np.flatnonzero(~tree.is_leaf)
    return {int(i): (int(tree.feature[i]), tree.threshold[i], int(tree.left[i])) for i in inner}


def test_a_tree_equals_its_twin(grown):
    _, _, tree, gain, twin = grown
    assert len(twin) > 20
    assert inner_nodes(tree) == {node: test[:3] for node, test in twin.items()}
    expected = np.zeros(tree.n_nodes)
    expected[list(twin)] = [test[3] for test in twin.values()]
    np.testing.assert_allclose(gain, expected, atol=1e-12)


def test_leaves_are_pure_or_identical(grown):
    descriptors, codes, tree, _, _ = grown
    supervised = codes.any()
    tree.check_loaded()
    words = find_leaves([tree], descriptors)[:, 0]
    assert set(words) == set(range(tree.n_leaves))
    for word in range(tree.n_leaves):
        mates = words == word
        is_pure = supervised and len(set(codes[mates])) == 1
        assert is_pure or len(np.unique(descriptors[mates], axis=0)) == 1


@pytest.mark.parametrize(("n_leaves", "min_gain"), [(None, 0.0), (9, 0.0), (1, 0.0), (None, 0.02), (25, 0.01)])
def test_pruning_equals_its_twin(grown, n_leaves, min_gain):
    descriptors, _, tree, gain, _ = grown
    pruned = prune_tree(tree, gain, n_leaves, min_gain)
    pruned.check_loaded()
    kept = reference.prune_tree(
        {node: (*test, gain[node]) for node, test in inner_nodes(tree).items()}, n_leaves, min_gain
    )
    assert pruned.n_leaves == len(kept) + 1
    assert len(kept) < len(inner_nodes(tree)) or (n_leaves, min_gain) == (None, 0.0)
    # What is left is the top of the same tree: samples stay together that did, and are parted where they were.
    for row in descriptors[::5]:
        node, place = 0, 0
        while node in kept:
            assert (pruned.feature[place], pruned.threshold[place]) == (tree.feature[node], tree.threshold[node])
            right = int(row[tree.feature[node]] > tree.threshold[node])
            node, place = tree.left[node] + right, pruned.left[place] + right
        assert pruned.left[place] == -1


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
@pytest.mark.parametrize(
    ("n_leaves", "min_gain"), [(None, 0.0), (9, 0.0), (1, 0.0), (2, 0.0), (None, 0.02), (25, 0.01)]
)
def test_pruning_during_growth_equals_its_twin(way, n_leaves, min_gain):
    data, changes, supervised = way
    descriptors, codes = make_descriptors(**data)
    descriptors[:, 6:] = 1
    growth = Growth(10, 0.5, "uniform", n_leaves, min_gain, "during")._replace(**changes)
    tree, gain = grow_tree(arrange_samples(descriptors, codes if supervised else None), growth, Seeded())
    tree.check_loaded()
    codes = codes if supervised else np.zeros_like(codes)
    drawing = growth.max_trials, growth.min_score, growth.threshold == "samples", SEED
    twin = reference.grow_best_first(descriptors, codes, supervised, *drawing, n_leaves, min_gain)
    assert inner_nodes(tree) == {node: test[:3] for node, test in twin.items()}
    np.testing.assert_allclose(gain[~tree.is_leaf], [twin[node][3] for node in inner_nodes(tree)], atol=1e-12)
    assert tree.n_leaves <= (n_leaves or len(codes))
    assert np.all(gain[~tree.is_leaf] >= min_gain)
    words = find_leaves([tree], descriptors)[:, 0]
    assert set(words) == set(range(tree.n_leaves))  # no leaf is empty
    if n_leaves is None and min_gain == 0:
        for word in range(tree.n_leaves):
            mates = words == word
            assert (supervised and len(set(codes[mates])) == 1) or len(np.unique(descriptors[mates], axis=0)) == 1


def test_the_best_first_tree_of_few_leaves_is_the_top_of_the_one_of_many():
    descriptors, codes = make_descriptors(300)
    few, many = (
        grow_tree(arrange_samples(descriptors, codes), Growth(10, 0.5, "uniform", n, pruning="during"), Seeded())
        for n in (10, 40)
    )
    assert few[0].n_leaves == 10
    assert inner_nodes(few[0]).items() <= inner_nodes(many[0]).items()
    assert few[1].sum() < many[1].sum()


def test_nodes_above_and_below_the_switch_of_layouts_grow_alike():
    """Reading by row or by column is a matter of speed: a tree larger than the switch equals its twin as well."""
    n_samples = 2 * _jit.FEW_SAMPLES
    descriptors, codes = make_descriptors(n_samples, n_classes=2)
    tree, _ = grow_tree(arrange_samples(descriptors, codes), Growth(5, 0.5, "uniform"), Seeded())
    twin = reference.grow_tree(descriptors, codes, True, 5, 0.5, False, SEED)
    assert inner_nodes(tree) == {node: test[:3] for node, test in twin.items()}


@pytest.mark.parametrize("pruning", ["after", "during"])
def test_a_forest_is_its_trees_grown_and_pruned_one_by_one(pruning):
    descriptors, codes = make_descriptors()
    growth = Growth(10, 0.5, "uniform", n_leaves=12, min_gain=0.005, pruning=pruning)
    forest = grow_forest(descriptors, codes, growth, np.random.default_rng(3).spawn(3), n_jobs=2)
    for tree, rng in zip(forest, np.random.default_rng(3).spawn(3), strict=True):
        alone, gain = grow_tree(arrange_samples(descriptors, codes), growth, rng)
        alone = prune_tree(alone, gain, 12, 0.005) if pruning == "after" else alone
        assert all(np.array_equal(ours, theirs) for ours, theirs in zip(tree, alone, strict=True))
    leaves = find_leaves(forest, descriptors)
    first = 0
    for tree, column in zip(forest, leaves.T, strict=True):
        np.testing.assert_array_equal(column, first + find_leaves([tree], descriptors)[:, 0])
        first += tree.n_leaves


def test_class_shares_of_leaves_predict_classes():
    """The trees of a forest as a classifier: the mean class shares of the leaves that a sample reaches."""
    descriptors, codes = make_descriptors(400, n_classes=2)
    descriptors[:, 0] += 3 * codes
    forest = grow_forest(
        descriptors[:200], codes[:200], Growth(5, 0.5, "uniform", 20), np.random.default_rng(0).spawn(8)
    )
    n_leaves = sum(tree.n_leaves for tree in forest)
    shares = class_shares(find_leaves(forest, descriptors[:200]), codes[:200], n_leaves, 2)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    probabilities = shares[find_leaves(forest, descriptors[200:])].mean(axis=1)
    assert np.mean(probabilities.argmax(axis=1) == codes[200:]) > 0.9


def test_a_leaf_without_samples_has_the_shares_of_all():
    shares = class_shares(np.array([[0], [2], [2], [2]]), np.array([1, 0, 0, 1]), n_leaves=3, n_classes=2)
    np.testing.assert_allclose(shares, [[0, 1], [0.5, 0.5], [2 / 3, 1 / 3]])
