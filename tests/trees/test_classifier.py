"""Trees as a classifier: masks equal paths, probabilities are mean shares."""

import numpy as np
import pytest

from invariance import models
from invariance.trees import TreesClassifier, join_trees
from invariance.trees.masks import MAX_LEAVES
from tests import reference


def make_rows(n=400, n_features=9, n_classes=2, seed=0, noise=0.5):
    """Rows of which the first features tell the class."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(n_classes, size=n)
    rows = rng.normal(0, noise, (n, n_features))
    rows[np.arange(n), codes] += 1
    return rows.astype(np.float32), codes


@pytest.mark.parametrize("max_leaves", [2, 3, 31, MAX_LEAVES])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_masks_equal_walking_every_tree(max_leaves, n_classes):
    X, y = make_rows(n_classes=n_classes, noise=1.0)
    model = TreesClassifier(7, max_leaves, random_state=0).fit(X, y)
    new = make_rows(700, n_classes=n_classes, seed=1)[0]
    assert max(tree.n_leaves for tree in model.trees_) == max_leaves
    np.testing.assert_allclose(model.predict_proba(new), reference.mean_shares(model.trees_, X, y, new), atol=1e-6)


def test_few_samples_of_one_row_or_of_equal_rows():
    model = TreesClassifier(3, random_state=0).fit(np.zeros((4, 2), np.float32), [0, 0, 0, 1])
    np.testing.assert_allclose(model.predict_proba([[5.0, 5.0]]), [[0.75, 0.25]])
    assert model.predict([[1.0, 2.0]]) == [0]


def test_labels_of_any_kind_and_the_same_seed_the_same_trees():
    X, codes = make_rows(noise=0.3)
    y = np.array(["cell", "wall"])[codes]
    one, other = (TreesClassifier(20, random_state=3, n_jobs=n_jobs).fit(X, y) for n_jobs in (None, 2))
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    new, truth = make_rows(seed=5, noise=0.3)
    assert np.mean(one.predict(new) == np.array(["cell", "wall"])[truth]) > 0.95


def test_columns_and_rows_agree_whatever_their_order_in_memory():
    X, y = make_rows()
    model = TreesClassifier(5, random_state=0).fit(X, y)
    expected = model.predict_proba(X)
    np.testing.assert_array_equal(model.predict_columns(X.T), expected)
    np.testing.assert_array_equal(model.predict_columns(np.ascontiguousarray(X.T)), expected)
    assert model.predict_columns(np.empty((9, 0), np.float32)).shape == (0, 2)


@pytest.mark.parametrize("sharpness", [0.5, 1, 2.0])
def test_sharpness_is_a_power_of_the_shares(sharpness):
    X, y = make_rows(n_classes=3, noise=1.0)
    plain = TreesClassifier(5, random_state=0).fit(X, y).predict_proba(X)
    found = TreesClassifier(5, sharpness=sharpness, random_state=0).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(
        found[:, 0] * plain[:, 1] ** sharpness, found[:, 1] * plain[:, 0] ** sharpness, atol=1e-6
    )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_prior_changes_the_odds_by_the_ratio_of_the_shares(n_classes):
    X, y = make_rows(n_classes=n_classes, noise=1.0)
    model = TreesClassifier(5, sharpness=0.8, random_state=0).fit(X, y)
    plain, prior = model.predict_proba(X), np.arange(1, n_classes + 1) / np.arange(1, n_classes + 1).sum()
    found = model.set_params(prior=prior.tolist()).predict_proba(X)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-6)
    odds = prior[1] / np.mean(y == 1) / (prior[0] / np.mean(y == 0))
    np.testing.assert_allclose(found[:, 1] * plain[:, 0], odds * found[:, 0] * plain[:, 1], atol=1e-6)


def test_the_shares_of_leaves_are_those_of_all_samples_whatever_a_tree_was_grown_from():
    X, y = make_rows(noise=1.0)
    model = TreesClassifier(7, max_samples=50, random_state=0).fit(X, y)
    whole = TreesClassifier(7, max_samples=len(X), random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), reference.mean_shares(model.trees_, X, y, X), atol=1e-6)
    assert not np.array_equal(model.predict_proba(X), whole.predict_proba(X))
    np.testing.assert_array_equal(whole.predict_proba(X), TreesClassifier(7, random_state=0).fit(X, y).predict_proba(X))


def test_joined_parts_predict_the_mean_of_all_trees():
    X, y = make_rows(noise=1.0)
    parts = [part.fit(X, y) for part in TreesClassifier(9, random_state=0).divide(2)]
    assert [part.n_trees for part in parts] == [4, 5]
    joined = join_trees(parts)
    joined.check_loaded()
    expected = (4 * parts[0].predict_proba(X) + 5 * parts[1].predict_proba(X)) / 9
    np.testing.assert_allclose(joined.predict_proba(X), expected, atol=1e-6)
    assert len({tuple(tree.feature) for tree in joined.trees_}) == 9
    with pytest.raises(ValueError, match="same classes"):
        join_trees([parts[0], TreesClassifier(1).fit(X, y + 1)])


def test_a_single_tree_divided_is_one_tree_each():
    assert [part.n_trees for part in TreesClassifier(1).divide(2)] == [1, 1]


@pytest.mark.parametrize("prior", [[1.0], [0.5, 0.6], [0.0, 1.0], [-0.5, 1.5]])
def test_a_prior_must_be_shares_of_the_classes(prior):
    with pytest.raises(ValueError, match="prior must be 2 positive shares"):
        TreesClassifier(1, prior=prior).fit(*make_rows()).predict_proba(make_rows()[0])


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"n_trees": 0}, "n_trees must be .*; got 0"), ({"max_leaves": 33}, "max_leaves must be .*; got 33"),
     ({"max_trials": 0}, "max_trials must be .*; got 0"), ({"sharpness": 0}, "sharpness must be .*; got 0")],
)  # fmt: skip
def test_errors_name_the_parameter_and_its_value(settings, message):
    with pytest.raises(ValueError, match=message):
        TreesClassifier(**settings).fit(*make_rows())


def forge_feature(model):
    model.trees_[0].feature[0] = 9


def forge_shares(model):
    model.shares_ = model.shares_[1:]


def forge_sharpness(model):
    model.sharpness = 1e9


def forge_prior(model):
    model.prior = [0.5, np.nan]


def forge_class_shares(model):
    model.class_shares_ = np.zeros(2, np.float32)


@pytest.mark.parametrize("forge", [forge_feature, forge_shares, forge_sharpness, forge_prior, forge_class_shares])
def test_forged_trees_are_refused(forge):
    model = TreesClassifier(3, random_state=0).fit(*make_rows())
    model.check_loaded()
    forge(model)
    with pytest.raises(ValueError, match="TreesClassifier|prior must be"):
        model.check_loaded()


def test_a_saved_classifier_predicts_the_same(tmp_path):
    X, y = make_rows()
    model = TreesClassifier(5, sharpness=0.7, random_state=0).fit(X, y)
    models.save(model, tmp_path / "trees.inv")
    loaded = models.load(tmp_path / "trees.inv")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
