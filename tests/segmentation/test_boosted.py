"""Trees as bit masks give what scikit-learn gives."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from invariance.jungles.final_estimators import fit_final_estimator, make_final_estimator
from invariance.segmentation.boosted import MaskedBoosting
from invariance.segmentation.estimators import PlainPredictor, fast_predictor
from invariance.segmentation.sklearn_boosting import read_trees
from invariance.trees import _jit
from invariance.trees.masks import MAX_LEAVES
from tests import reference

N_FEATURES = 5


def samples(n_classes, n=600, seed=0):
    """Features (n, 5) float32 and classes that depend on them, with noise."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((n, N_FEATURES)).astype(np.float32)
    score = features[:, 0] + features[:, 1] * features[:, 2] + rng.normal(0, 0.3, n)
    return features, np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))


def boosting(**settings):
    return HistGradientBoostingClassifier(
        **{"max_iter": 20, "max_leaf_nodes": 15, "min_samples_leaf": 3, "random_state": 0} | settings
    )


def list_nodes(classifier):
    """The nodes of every tree."""
    return [nodes for trees in read_trees(classifier).nodes for nodes in trees]


def count_leaves(classifier):
    return [np.count_nonzero(nodes["is_leaf"]) for nodes in list_nodes(classifier)]


def assert_same_probabilities(classifier, features):
    predictor = fast_predictor(classifier)
    assert isinstance(predictor, MaskedBoosting)
    found = predictor.predict_columns(features.T)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, classifier.predict_proba(features), atol=1e-6)


@pytest.mark.parametrize("n_columns", [1, 255, 257, 600])
def test_add_trees_equals_its_slow_twin(n_columns):
    """Any masks that leave the last leaf alone, so that one of 32 leaves is always left."""
    rng = np.random.default_rng(n_columns)
    n_tests = np.array([0, 1, 31, 4, 0])
    first_test = np.concatenate([[0], np.cumsum(n_tests)])
    trees = (
        first_test,
        rng.integers(0, N_FEATURES, n_tests.sum()),
        rng.normal(0, 2, n_tests.sum()).astype(np.float32),
        rng.integers(0, 2**32, n_tests.sum(), dtype=np.uint32) | np.uint32(1 << 31),
        32 * np.arange(len(n_tests)),
        rng.standard_normal(32 * len(n_tests)),
    )
    features = rng.standard_normal((N_FEATURES, n_columns)).astype(np.float32)
    features[0, 0] = trees[2][trees[1] == 0][0]  # equal to a threshold: not above it
    start = rng.standard_normal(n_columns)
    scores = start.copy()
    _jit.add_trees(features, *trees, scores)
    np.testing.assert_allclose(scores, reference.add_trees(features, *trees, start), rtol=1e-12)


@pytest.mark.parametrize("leaf", range(32))
def test_every_leaf_is_found(leaf):
    """One tree of one test whose mask keeps this leaf and all beyond it."""
    none, kept = np.zeros(1, np.int64), np.array([(0xFFFFFFFF << leaf) & 0xFFFFFFFF], np.uint32)
    scores, limit = np.zeros(1), np.zeros(1, np.float32)
    _jit.add_trees(np.ones((1, 1), np.float32), np.array([0, 1]), none, limit, kept, none, np.arange(32.0), scores)
    assert scores[0] == leaf


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("n_leaves", [2, 15, 32])
def test_probabilities_are_those_of_scikit_learn(n_classes, n_leaves):
    features, codes = samples(n_classes)
    classifier = boosting(max_leaf_nodes=n_leaves).fit(features, codes)
    assert max(count_leaves(classifier)) == n_leaves
    assert_same_probabilities(classifier, np.random.default_rng(1).normal(0, 2, (1000, N_FEATURES)).astype(np.float32))


def test_deep_and_narrow_trees():
    """A chain of tests: every leaf but the last two has another depth."""
    features = np.arange(400, dtype=np.float32)[:, None]
    codes = (np.arange(400) % 40 == 0).astype(int)
    classifier = boosting(max_leaf_nodes=MAX_LEAVES, min_samples_leaf=1, max_iter=10).fit(features, codes)
    assert max(nodes["depth"].max() for nodes in list_nodes(classifier)) >= 10
    assert_same_probabilities(classifier, np.linspace(-5, 405, 3000, dtype=np.float32)[:, None])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_trees_of_a_single_leaf(n_classes):
    features, codes = samples(n_classes, n=50)
    classifier = boosting(min_samples_leaf=40).fit(features, codes)
    assert set(count_leaves(classifier)) == {1}
    assert_same_probabilities(classifier, features)


def test_the_constant_features_of_a_constant_image():
    features, codes = samples(2, n=50)
    assert_same_probabilities(boosting().fit(np.zeros_like(features), codes), features)


def test_thresholds_between_two_neighbouring_numbers():
    """A midpoint of two neighbouring float32 is none itself, and rounding it may move it past one of them."""
    start = np.linspace(1, 2, 25, dtype=np.float32)
    after = np.nextafter(start, np.float32(3))
    values = np.stack([start, after, np.nextafter(after, np.float32(3))], axis=1).ravel()
    features = np.repeat(values, 5)[:, None]
    codes = np.repeat(np.arange(len(values)) % 2, 5)
    classifier = boosting(max_leaf_nodes=MAX_LEAVES, min_samples_leaf=1, max_iter=40).fit(features, codes)
    thresholds = np.concatenate([nodes["num_threshold"][nodes["is_leaf"] == 0] for nodes in list_nodes(classifier)])
    single = thresholds.astype(np.float32)
    assert np.any(single > thresholds), "a threshold that rounds up is what this is about"
    assert_same_probabilities(classifier, np.unique(np.concatenate([values, single]))[:, None])


def test_boosting_with_large_trees_predicts_by_itself():
    features, codes = samples(2, n=2000)
    classifier = boosting(max_leaf_nodes=MAX_LEAVES + 1, min_samples_leaf=1, max_iter=3).fit(features, codes)
    predictor = fast_predictor(classifier)
    assert isinstance(predictor, PlainPredictor)
    np.testing.assert_array_equal(predictor.predict_columns(features.T), classifier.predict_proba(features))


@pytest.mark.parametrize("final_estimator", ["linear", LogisticRegression(C=0.1)], ids=["linear", "a user's"])
def test_any_other_classifier_predicts_by_itself(final_estimator):
    features, codes = samples(3)
    fitted = fit_final_estimator(
        make_final_estimator(final_estimator, len(codes), 0), features, codes, np.ones(len(codes))
    )
    predictor = fast_predictor(fitted)
    assert isinstance(predictor, PlainPredictor)
    np.testing.assert_array_equal(predictor.predict_columns(features.T), fitted.predict_proba(features))


def test_the_default_boosting_has_small_trees():
    features, codes = samples(2)
    fitted = fit_final_estimator(
        make_final_estimator("boosting", len(codes), 0, 20), features, codes, np.ones(len(codes))
    )
    assert_same_probabilities(fitted, features)
