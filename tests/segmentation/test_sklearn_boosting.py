"""The adapter reads what scikit-learn's boosting predicts by; these tests fail when a release stores it differently."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.lib.recfunctions import rename_fields
from sklearn.ensemble import HistGradientBoostingClassifier

import invariance
from invariance.segmentation import sklearn_boosting
from invariance.segmentation.sklearn_boosting import NODE_FIELDS, read_trees

N_FEATURES = 4


def fit(n_classes=2, **settings):
    rng = np.random.default_rng(n_classes)
    features = rng.standard_normal((400, N_FEATURES))
    score = features[:, 0] * features[:, 1] + features[:, 2] + rng.normal(0, 0.5, 400)
    codes = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    return HistGradientBoostingClassifier(max_iter=8, random_state=0, **settings).fit(features, codes)


def walk(nodes, sample):
    """The value of the leaf that one sample reaches."""
    node = nodes[0]
    while not node["is_leaf"]:
        goes_left = sample[node["feature_idx"]] <= node["num_threshold"]
        node = nodes[node["left"] if goes_left else node["right"]]
    return node["value"]


@pytest.mark.parametrize("settings", [{}, {"max_leaf_nodes": 60, "min_samples_leaf": 1}, {"max_depth": 1}], ids=str)
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_walking_the_trees_gives_scikit_learns_decision_function(n_classes, settings):
    classifier = fit(n_classes, **settings)
    trees = read_trees(classifier)
    samples = np.random.default_rng(0).standard_normal((50, N_FEATURES))
    scores = [
        trees.baseline + [sum(walk(nodes, sample) for nodes in by_score) for by_score in trees.nodes]
        for sample in samples
    ]
    assert np.ptp(scores) > 0.1
    expected = classifier.decision_function(samples).reshape(len(samples), -1)
    np.testing.assert_allclose(np.array(scores), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_fields_that_are_read_exist(n_classes):
    trees = read_trees(fit(n_classes))
    assert trees.baseline.shape == ({2: 1}.get(n_classes, n_classes),)
    assert [len(by_score) for by_score in trees.nodes] == [8] * len(trees.baseline)
    for nodes in (nodes for by_score in trees.nodes for nodes in by_score):
        assert set(NODE_FIELDS) <= set(nodes.dtype.names)
        inner = nodes[nodes["is_leaf"] == 0]
        assert np.all(inner["left"] > 0)
        assert inner["feature_idx"].max() < N_FEATURES
        assert not inner["is_categorical"].any()


def rename_field(classifier):
    nodes = classifier._predictors[0][0].nodes
    renamed = rename_fields(nodes.copy(), {"num_threshold": "cut"})
    classifier._predictors[0][0] = SimpleNamespace(nodes=renamed)


def drop_a_tree(classifier):
    classifier._predictors[0] = []


CHANGES = {
    "no trees": lambda classifier: delattr(classifier, "_predictors"),
    "no baseline": lambda classifier: delattr(classifier, "_baseline_prediction"),
    "no nodes": lambda classifier: classifier._predictors[0].__setitem__(0, object()),
    "one object instead of lists": lambda classifier: setattr(classifier, "_predictors", object()),
    "plain arrays": lambda classifier: classifier._predictors[0].__setitem__(0, SimpleNamespace(nodes=np.zeros(3))),
    "another field": rename_field,
    "another number of trees": drop_a_tree,
}


@pytest.mark.parametrize("change", CHANGES)
def test_another_way_of_storing_trees_is_an_error(change):
    classifier = fit()
    CHANGES[change](classifier)
    with pytest.raises(RuntimeError, match=r"scikit-learn \d.* stores boosted trees differently.*Install"):
        read_trees(classifier)


def test_a_classifier_without_trees_is_an_error():
    classifier = fit()
    del classifier._predictors
    with pytest.raises(RuntimeError, match="scikit-learn"):
        read_trees(classifier)


def test_only_these_trees_and_the_checks_of_loaded_models_read_these_attributes():
    root = Path(invariance.__file__).parent
    readers = [
        path
        for path in root.rglob("*.py")
        if any(name in path.read_text(encoding="utf-8") for name in ("._predictors", "._baseline_prediction"))
    ]
    assert set(readers) == {Path(sklearn_boosting.__file__), root / "models" / "_foreign.py"}
