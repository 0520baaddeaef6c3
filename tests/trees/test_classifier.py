"""Trees as a classifier: masks equal paths, probabilities are mean shares."""

import numpy as np
import pytest

from invariance import models
from invariance.trees import TreesClassifier
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


@pytest.mark.parametrize("forge", [forge_feature, forge_shares, forge_sharpness])
def test_forged_trees_are_refused(forge):
    model = TreesClassifier(3, random_state=0).fit(*make_rows())
    model.check_loaded()
    forge(model)
    with pytest.raises(ValueError, match="TreesClassifier"):
        model.check_loaded()


def test_a_saved_classifier_predicts_the_same(tmp_path):
    X, y = make_rows()
    model = TreesClassifier(5, sharpness=0.7, random_state=0).fit(X, y)
    models.save(model, tmp_path / "trees.inv")
    loaded = models.load(tmp_path / "trees.inv")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
