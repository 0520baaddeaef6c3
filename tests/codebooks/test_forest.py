"""Clustering forests: growth and pruning equal their twins, words are the leaves, hostile trees are refused."""

import numpy as np
import pytest
import skops.io
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from invariance.codebooks import ClusteringForest, _jit
from invariance.codebooks.growing import Growth, arrange_samples, grow_tree
from invariance.codebooks.pruning import prune_tree
from invariance.codebooks.trees import ClusteringTree, find_words
from invariance.models import ModelError, load, save
from invariance.models._container import write_container
from invariance.models._persistence import _describe_model
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


@pytest.fixture(scope="module")
def described():
    descriptors, codes = make_descriptors(600, 8)
    return descriptors, np.array(["bike", "car", "none"])[codes]


@pytest.fixture(scope="module")
def forest(described):
    return ClusteringForest(4, n_leaves=30, random_state=0).fit(*described)


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
    twin = reference.grow_clustering_tree(
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
    words = find_words([tree], descriptors)[:, 0]
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
    kept = reference.prune_clustering_tree(
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


def test_nodes_above_and_below_the_switch_of_layouts_grow_alike():
    """Reading by row or by column is a matter of speed: a tree larger than the switch equals its twin as well."""
    n_samples = 2 * _jit.FEW_SAMPLES
    descriptors, codes = make_descriptors(n_samples, n_classes=2)
    tree, _ = grow_tree(arrange_samples(descriptors, codes), Growth(5, 0.5, "uniform"), Seeded())
    twin = reference.grow_clustering_tree(descriptors, codes, True, 5, 0.5, False, SEED)
    assert inner_nodes(tree) == {node: test[:3] for node, test in twin.items()}


# --- the forest ---


def test_words_are_the_leaves_numbered_through(forest, described):
    descriptors, _ = described
    words = forest.transform(descriptors)
    assert (words.dtype, words.shape) == (np.int32, (600, 4))
    assert forest.n_leaves_.tolist() == [30] * 4
    assert forest.n_words_ == 120
    first = 0
    for tree, column in zip(forest.trees_, words.T, strict=True):
        leaves = np.flatnonzero(tree.is_leaf)
        expected = [first + leaves.tolist().index(reference.walk_clustering_tree(tree, row)) for row in descriptors]
        assert column.tolist() == expected
        first += tree.n_leaves


def test_posteriors_are_the_shares_of_classes_in_the_leaves(forest, described):
    descriptors, labels = described
    words = forest.transform(descriptors)
    assert forest.classes_.tolist() == ["bike", "car", "none"]
    for word in range(forest.n_words_):
        mates = labels[(words == word).any(axis=1)]
        np.testing.assert_allclose(forest.posteriors_[word], [np.mean(mates == name) for name in forest.classes_])
    np.testing.assert_array_equal(forest.purity_, forest.posteriors_.max(axis=1))


def test_labels_make_words_purer(described):
    descriptors, labels = described
    supervised = ClusteringForest(4, n_leaves=30, random_state=0).fit(descriptors, labels)
    blind = ClusteringForest(4, n_leaves=30, random_state=0).fit(descriptors)
    assert blind.posteriors_ is None
    assert blind.classes_ is None
    codes = np.unique(labels, return_inverse=True)[1]
    purity = [np.bincount(codes[(blind.transform(descriptors) == word).any(axis=1)]).max() for word in range(120)]
    sizes = np.bincount(supervised.transform(descriptors).ravel())
    assert np.average(supervised.purity_, weights=sizes) > sum(purity) / (4 * len(codes)) + 0.05


@pytest.mark.parametrize("y", [None, "labels"])
@pytest.mark.parametrize("threshold", ["uniform", "samples"])
def test_the_same_seed_gives_the_same_forest_for_every_number_of_jobs(described, threshold, y):
    descriptors, labels = described
    forests = [
        ClusteringForest(5, 20, threshold=threshold, n_jobs=n_jobs, random_state=3).fit(descriptors, y and labels)
        for n_jobs in (None, 2, 3)
    ]
    for other in forests[1:]:
        for one, same in zip(forests[0].trees_, other.trees_, strict=True):
            for ours, theirs in zip(one, same, strict=True):
                np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_array_equal(other.transform(descriptors), forests[0].transform(descriptors))
    another = clone(forests[0]).set_params(random_state=4).fit(descriptors, y and labels)
    assert not np.array_equal(another.transform(descriptors), forests[0].transform(descriptors))


def test_trees_of_a_forest_differ(forest):
    assert len({tuple(tree.feature) for tree in forest.trees_}) == 4


def test_coding_in_blocks_equals_coding_at_once(forest, described, monkeypatch):
    whole = forest.transform(described[0])
    monkeypatch.setattr("invariance.codebooks.trees.BLOCK_BYTES", 7 * 32)
    parallel = clone(forest).set_params(n_jobs=7).fit(*described)
    np.testing.assert_array_equal(parallel.transform(described[0]), whole)
    np.testing.assert_array_equal(parallel.transform(described[0][:1]), whole[:1])


def test_sqrt_is_the_root_of_the_number_of_features(described):
    descriptors, labels = described
    named = ClusteringForest(2, max_trials="sqrt", random_state=0).fit(descriptors, labels)
    counted = ClusteringForest(2, max_trials=3, random_state=0).fit(descriptors, labels)
    np.testing.assert_array_equal(named.transform(descriptors), counted.transform(descriptors))


def test_identical_descriptors_make_one_word():
    forest = ClusteringForest(2, random_state=0).fit(np.ones((6, 3)), [0, 1, 1, 0, 1, 1])
    assert forest.n_leaves_.tolist() == [1, 1]
    np.testing.assert_allclose(forest.posteriors_, [[1 / 3, 2 / 3]] * 2)
    assert forest.transform(np.zeros((1, 3))).tolist() == [[0, 1]]


def test_fitting_again_without_labels_forgets_them(forest, described):
    again = clone(forest).fit(*described).fit(described[0])
    assert (again.classes_, again.posteriors_, again.purity_) == (None, None, None)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_trees": 0}, "n_trees must be .* got 0"),
        ({"n_leaves": 0}, "n_leaves must be .* got 0"),
        ({"min_gain": -1}, "min_gain must be .* got -1"),
        ({"min_score": 1.5}, "min_score must be .* got 1.5"),
        ({"max_trials": "log2"}, "max_trials must be .* 'sqrt'; got 'log2'"),
        ({"max_trials": 0}, "max_trials must be .* got 0"),
        ({"threshold": "median"}, "threshold must be .* got 'median'"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_wrong_parameters_are_named(described, parameters, message):
    with pytest.raises(ValueError, match=message) as caught:
        ClusteringForest(**parameters).fit(*described)
    assert "\n" not in str(caught.value)


def test_nan_is_refused(described, forest):
    broken = described[0].copy()
    broken[3, 2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        ClusteringForest().fit(broken, described[1])
    with pytest.raises(ValueError, match="NaN"):
        forest.transform(broken)


# --- files ---


def test_a_saved_forest_codes_the_same(forest, described, tmp_path):
    loaded = load(save(forest, tmp_path / "forest.zip"))
    np.testing.assert_array_equal(loaded.transform(described[0]), forest.transform(described[0]))
    np.testing.assert_array_equal(loaded.posteriors_, forest.posteriors_)


def forge(tree: ClusteringTree, **changes):
    """The tree with the first entry of an array changed."""
    for name, value in changes.items():
        array = getattr(tree, name).copy()
        array[0] = value
        tree = tree._replace(**{name: array})
    return tree


FORGERIES = {
    "a child outside": lambda tree: forge(tree, left=10_000),
    "a node as its own child": lambda tree: forge(tree, left=0),
    "a negative child": lambda tree: forge(tree, left=-7),
    "branches that meet": lambda tree: forge(tree, left=3),
    "a feature that does not exist": lambda tree: forge(tree, feature=8),
    "a negative feature": lambda tree: forge(tree, feature=-7),
    "an inner node without a feature": lambda tree: forge(tree, feature=-1),
    "thresholds cut off": lambda tree: tree._replace(threshold=tree.threshold[:-1]),
    "nodes cut off": lambda tree: ClusteringTree(*(array[:-1] for array in tree)),
    "no node": lambda tree: ClusteringTree(*(array[:0] for array in tree)),
    "other types": lambda tree: tree._replace(feature=tree.feature.astype(np.float32)),
}


@pytest.mark.parametrize("forgery", FORGERIES.values(), ids=FORGERIES.keys())
def test_a_forged_tree_is_refused(forest, described, forgery, tmp_path):
    model = clone(forest).fit(*described)
    model.trees_[-1] = forgery(model.trees_[-1])
    with pytest.raises(ModelError):
        save(model, tmp_path / "forged.zip")
    write_container(tmp_path / "forged.zip", _describe_model(model), skops.io.dumps(model))
    with pytest.raises(ModelError, match="forged.zip"):
        load(tmp_path / "forged.zip")


def test_forged_class_shares_are_refused(forest, described, tmp_path):
    model = clone(forest).fit(*described)
    model.posteriors_ = model.posteriors_[:-1]
    with pytest.raises(ModelError, match="class shares"):
        save(model, tmp_path / "forged.zip")
