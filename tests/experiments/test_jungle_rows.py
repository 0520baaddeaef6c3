"""Faces and membranes: rows run what they are called, and nothing is learned from test data."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from experiments import isbi_patches, yale_faces
from experiments.catalogue import EXPERIMENTS
from invariance.jungles import JungleClassifier
from invariance.transformations import Shifts

PAPERS = {"targets": "pairs", "threshold": "zero", "relaxation": "layer"}
MAKERS = {
    "yale_faces": {name: make for name, (_, make) in yale_faces.METHODS.items()},
    "isbi_patches": {name: make for name, (_, _, make) in isbi_patches.METHODS.items()},
}
JUNGLES = {
    (experiment, name): model[-1] if isinstance(model, Pipeline) else model
    for experiment, makers in MAKERS.items()
    for name, make in makers.items()
    if isinstance(model := make(0), Pipeline | JungleClassifier)
}


def settings_of(model):
    """All parameters that matter for growing, also those a tree does not have as parameters."""
    names = JungleClassifier().get_params()
    return {name: getattr(model, name) for name in names if name not in ("n_jobs", "random_state")}


@pytest.mark.parametrize("place", JUNGLES, ids=" ".join)
def test_rows_with_the_papers_names_run_the_papers_algorithm(place):
    settings = settings_of(JUNGLES[place])
    is_papers = place[1].startswith(("TICT", "TICJ"))
    assert (PAPERS.items() <= settings.items()) == is_papers
    if is_papers:
        assert settings["n_jungles"] == 1
        assert settings["final_estimator"] == "vote"
        assert settings["max_samples"] == settings["max_members"] == 1.0
        assert settings["max_width"] == (None if place[1].startswith("TICT") else "auto")


@pytest.mark.parametrize(
    ("experiment", "trees", "jungles"),
    [
        ("yale_faces", "TICT", "TICJ"),
        ("yale_faces", "ours, one tree", "ours, one jungle"),
        ("yale_faces", "ours, 60 trees", "ours, 60 jungles"),
        ("isbi_patches", "TICT", "TICJ"),
        ("isbi_patches", "ours, one tree", "ours, one jungle"),
        ("isbi_patches", "ours, ten trees", "ours, ten jungles"),
    ],
)
def test_trees_and_jungles_that_are_compared_differ_in_merging_alone(experiment, trees, jungles):
    trees, jungles = (settings_of(JUNGLES[experiment, name]) for name in (trees, jungles))
    assert {**trees, "max_width": "auto"} == jungles
    assert trees["max_width"] is None


@pytest.mark.parametrize("experiment", MAKERS)
def test_claims_name_rows_that_exist(experiment):
    for claim in EXPERIMENTS[experiment].claims:
        assert {claim.first, claim.second} <= set(MAKERS[experiment])


def test_jungles_that_are_never_too_wide_are_trees():
    """Why 60 trees and 60 jungles have the same errors on the faces."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(6), 4)
    images = np.float32(rng.random((6, 10, 10))[labels] + 0.2 * rng.random((24, 10, 10)))
    settings = {**yale_faces.OUR_SETTINGS, "n_jungles": 3, "rank": 32, "random_state": 0}
    jungles = JungleClassifier(Shifts(1, border="edge"), **settings).fit(images, labels)
    trees = JungleClassifier(Shifts(1, border="edge"), **settings, max_width=None).fit(images, labels)
    assert max(layer.n_leaves for curve in jungles.growth_curves_ for layer in curve) <= 18
    np.testing.assert_array_equal(jungles.predict_proba(images), trees.predict_proba(images))


class Recorder(BaseEstimator):
    """Notes what it is fitted on and asked about."""

    def fit(self, X, y):
        self.X_, self.y_ = np.array(X), np.array(y)
        return self

    def predict(self, X):
        self.asked_ = np.array(X)
        return np.zeros(len(X), int)

    def predict_proba(self, X):
        return np.column_stack([1 - self.predict(X), self.predict(X)])


def test_nothing_of_the_test_faces_reaches_a_model_before_it_is_asked(monkeypatch):
    images, labels = np.random.default_rng(0).integers(0, 255, (33, 32, 32)), np.repeat(np.arange(3), 11)
    training, test = yale_faces.draw_split(labels, 7)
    poisoned = images.copy()
    poisoned[test] = 0
    seen = []
    for faces in (images, poisoned):
        monkeypatch.setattr(yale_faces, "load_yale", lambda size, f=faces: SimpleNamespace(images=f, labels=labels))
        model = Recorder()
        yale_faces.run(1, {"recorded": (None, lambda seed, model=model: model)}, seed=7)
        seen.append(model)
    np.testing.assert_array_equal(seen[0].X_, np.float32(images[training]) / 255)
    np.testing.assert_array_equal(seen[0].X_, seen[1].X_)
    np.testing.assert_array_equal(seen[0].y_, labels[training])
    np.testing.assert_array_equal(seen[1].asked_, np.zeros((len(test), 32, 32)))


def test_the_figure_of_a_split_is_the_error_on_its_test_faces(monkeypatch):
    images, labels = np.zeros((33, 32, 32)), np.repeat(np.arange(3), 11)
    monkeypatch.setattr(yale_faces, "load_yale", lambda size: SimpleNamespace(images=images, labels=labels))
    [outcome] = yale_faces.run(2, {"always 0": (None, lambda seed: Recorder())}, seed=3)
    assert outcome.figures == pytest.approx([200 / 3] * 2)


def test_membranes_are_tested_on_sections_that_no_model_was_fitted_on(monkeypatch):
    """Each section has its number as grey value, so that every pixel tells where it is from."""
    sections = np.broadcast_to(np.arange(24)[:, None, None], (24, 40, 40))
    masks = np.random.default_rng(0).random((24, 40, 40)) < 0.5
    monkeypatch.setattr(isbi_patches, "load_isbi2012", lambda: SimpleNamespace(images=sections, masks=masks))
    model = Recorder()
    methods = {"recorded": (None, isbi_patches.plain_patches, lambda seed: model)}
    isbi_patches.run(1, methods, shrink=500)
    assert set(np.rint(255 * model.X_).astype(int).ravel()) == set(range(18))
    assert set(np.rint(255 * model.asked_).astype(int).ravel()) == set(range(18, 24))
