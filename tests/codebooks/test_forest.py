"""Clustering forests: words are the leaves, the same for every number of jobs, and forged trees are refused."""

import numpy as np
import pytest
import skops.io
from sklearn.base import clone

from invariance.codebooks import ClusteringForest
from invariance.models import ModelError, load, save
from invariance.models._container import write_container
from invariance.models._persistence import _describe_model
from invariance.trees import Tree
from tests import reference


@pytest.fixture(scope="module")
def described():
    rng = np.random.default_rng(0)
    codes = rng.integers(3, size=600)
    descriptors = (rng.standard_normal((600, 8)) + 0.8 * codes[:, None] * (np.arange(8) < 2)).astype(np.float32)
    return descriptors, np.array(["bike", "car", "none"])[codes]


@pytest.fixture(scope="module")
def forest(described):
    return ClusteringForest(4, n_leaves=30, random_state=0).fit(*described)


def test_words_are_the_leaves_numbered_through(forest, described):
    descriptors, _ = described
    words = forest.transform(descriptors)
    assert (words.dtype, words.shape) == (np.int32, (600, 4))
    assert forest.n_leaves_.tolist() == [30] * 4
    assert forest.n_words_ == 120
    first = 0
    for tree, column in zip(forest.trees_, words.T, strict=True):
        leaves = np.flatnonzero(tree.is_leaf)
        expected = [first + leaves.tolist().index(reference.walk_tree(tree, row)) for row in descriptors]
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
@pytest.mark.parametrize("pruning", ["after", "during"])
@pytest.mark.parametrize("threshold", ["uniform", "samples"])
def test_the_same_seed_gives_the_same_forest_for_every_number_of_jobs(described, threshold, pruning, y):
    descriptors, labels = described
    forests = [
        ClusteringForest(5, 20, threshold=threshold, pruning=pruning, n_jobs=n_jobs, random_state=3).fit(
            descriptors, y and labels
        )
        for n_jobs in (None, 2, 3)
    ]
    assert np.all(forests[0].n_leaves_ == 20)
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
    monkeypatch.setattr("invariance.trees.forest.MIN_ROUTED", 7)
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
        ({"pruning": "before"}, "pruning must be .* got 'before'"),
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


def forge(tree: Tree, **changes):
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
    "nodes cut off": lambda tree: Tree(*(array[:-1] for array in tree)),
    "no node": lambda tree: Tree(*(array[:0] for array in tree)),
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
    with pytest.raises(ModelError, match="posteriors_"):
        save(model, tmp_path / "forged.zip")
