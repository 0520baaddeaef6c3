"""The experiments of the trade-off on photographs: their parts on generated images, and a small run where data is."""

import os
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import ndimage

from experiments import caltech_objects
from experiments.flowers17 import Middle, Split, find_twins, measure, predictions
from experiments.peers.block_l1 import BlockL1Classifier
from invariance.codebooks import BagOfFeatures, KMeansCodebook
from invariance.datasets import load_flowers17
from invariance.descriptors import ColourGrid, GradientPyramid
from invariance.tradeoff import TradeoffClassifier
from tests.tradeoff.toys import draw_task

needs_data = pytest.mark.skipif("INVARIANCE_DATA" not in os.environ, reason="needs the real data")


def blurred_noise(seed, shape=(40, 52, 3)):
    noise = ndimage.gaussian_filter(np.random.default_rng(seed).standard_normal(shape), (4, 4, 0))
    return np.clip(0.5 + 3 * noise, 0, 1)


def test_twins_are_found_though_resized_and_brightened():
    first, second = blurred_noise(0), blurred_noise(1)
    twin = np.clip(0.95 * ndimage.zoom(first, (1.5, 1.5, 1), order=1) + 0.02, 0, 1)
    expected = np.zeros((3, 3), bool)
    expected[0, 2] = expected[2, 0] = True
    np.testing.assert_array_equal(find_twins([first, second, twin]), expected)


def test_vectors_are_kept_the_more_the_nearer_the_middle():
    image, descriptor = blurred_noise(0), Middle(ColourGrid(1, 1), spread=0.25)
    vectors, places = descriptor.extract(image)
    rows, columns = places.astype(int).T
    np.testing.assert_allclose(vectors[:, 2], image.max(axis=2)[rows, columns], atol=1e-5)
    away = np.linalg.norm((places + 0.5) / image.shape[:2] - 0.5, axis=1)
    n_near, n_far = np.sum(away < 0.1), np.sum(away > 0.5)
    assert n_near > 0.9 * 0.1**2 * np.pi * 40 * 52 * 0.95
    assert 0 < n_far < 0.15 * (1 - 0.5**2 * np.pi) * 40 * 52
    np.testing.assert_allclose(places.mean(axis=0), (np.array(image.shape[:2]) - 1) / 2, rtol=0.1)


def test_colours_and_edges_are_weighed_and_all_methods_judged():
    rng, labels = np.random.default_rng(0), np.repeat([0, 1, 2], 10)
    tints = np.array([[0.9, 0.2, 0.2], [0.2, 0.9, 0.2], [0.2, 0.2, 0.9]])
    images = [blurred_noise(seed) * tints[label] for seed, label in enumerate(labels)]
    order = rng.permutation(30)
    training, test = order[:18], order[18:]
    transformers = {
        "colour": BagOfFeatures(KMeansCodebook(8), Middle(ColourGrid()), normalization="sum", random_state=0),
        "edges": GradientPyramid(levels=2),
        "edges 360": GradientPyramid(360, levels=2),
    }
    stacks = measure(transformers, [images[i] for i in training], labels[training], [images[i] for i in test])
    assert [stack.shape for stack in stacks] == [(3, 18, 18), (3, 12, 18)]
    split = Split(tuple(transformers), *stacks, labels[training], labels[test], np.zeros(12, bool))
    found = {method: np.mean(predicted == labels[test]) for method, _, predicted in predictions(split)}
    assert len(found) == 21
    assert found["colour, machine"] == 1
    assert found["the paper's three, 1-vs-all"] == 1
    assert found["edges, nearest neighbour"] < 1


def fitted_models(monkeypatch, split):
    """The classifier that each row of the flowers is predicted by, None for nearest neighbours."""
    fitted, models = [], {}
    for kind in (TradeoffClassifier, BlockL1Classifier):

        def watched(self, X, y, fit=kind.fit):
            fitted.append(fit(self, X, y))
            return self

        monkeypatch.setattr(kind, "fit", watched)
    for method, _, _ in predictions(split):
        models[method] = fitted.pop() if fitted else None
    return models


def test_rows_of_flowers_are_what_they_are_called(monkeypatch):
    distances, labels = draw_task(n_per_class=8, n_noise=2)
    distances[1] += 0.5 * distances[0]  # colour is worth more than texture
    split = Split(("shape", "colour", "texture"), distances, distances, labels, labels, np.zeros(len(labels), bool))
    models = fitted_models(monkeypatch, split)
    free = models["the paper's three, 1-vs-1"].weights_
    assert (free[:, 2] < free[:, 1]).any()
    forced = models["the paper's three, texture forced up, 1-vs-1"].weights_
    assert forced.shape == (3, 3)
    assert np.all(forced[:, 2] >= forced[:, 1] - 1e-9)
    searched = models["the paper's three, searched weights, 1-vs-1"].weights_
    assert np.all(searched == searched[0])
    assert searched[0].sum() == pytest.approx(1)
    assert not np.allclose(searched[0], 1 / 3)
    for name, model in models.items():
        assert (model is None) == name.endswith("nearest neighbour")
        assert isinstance(model, BlockL1Classifier) == ("block-l1" in name)
        if isinstance(model, TradeoffClassifier):
            assert model.scheme_ == ("ova" if name.endswith("1-vs-all") else "ovo")
            assert (model.weights == "equal") == ("equal weights" in name or name.endswith("machine"))


def test_rows_of_objects_are_what_they_are_called(monkeypatch):
    names = ("GB", "GBDist", "AppGray", "AppColour", "Shape180", "Shape360")
    distances, labels = draw_task(n_per_class=8, n_noise=5)
    objects = SimpleNamespace(images=np.zeros((24, 2)), labels=labels)
    rows = np.arange(24)
    measures = {name: lambda *_, D=D: (D, D) for name, D in zip(names, distances, strict=True)}
    seen = []
    predict = caltech_objects.predict

    def watched(classifier, measured, labels):
        seen.append(tuple(measured))
        assert classifier.psd_correction == "clip"
        return predict(classifier, measured, labels)

    monkeypatch.setattr(caltech_objects, "predict", watched)
    order = []
    for method, paper, _ in caltech_objects.predictions(objects, rows, rows, measures):
        order.append((method, paper, seen[-1] if seen else ()))
    found = {method: (paper, measured) for method, paper, measured in order}
    assert found["four descriptors, 1-vs-all"] == (79.85, names[2:])
    assert found["all, block-l1, 1-vs-1"] == (76.55, names)
    assert found["Shape180, machine"] == (48.83, ("Shape180",))


def test_objects_are_drawn_without_overlap_and_up_to_fifteen():
    labels = np.repeat([0, 1, 2], [40, 20, 30])
    training, test = caltech_objects.draw(labels, seed=0)
    assert not set(training) & set(test)
    np.testing.assert_array_equal(np.bincount(labels[training]), [15, 15, 15])
    np.testing.assert_array_equal(np.bincount(labels[test]), [15, 5, 15])


@needs_data
def test_three_classes_of_objects_are_told_apart():
    measures = {name: caltech_objects.MEASURES[name] for name in ("Shape180", "Shape360")}
    outcomes = caltech_objects.run(["Faces_easy", "car_side", "pizza"], measures=measures)
    found = {outcome.method: outcome.mean for outcome in outcomes}
    assert found["all, 1-vs-all"] > 85
    assert {outcome.method: outcome.paper for outcome in outcomes}["Shape180, machine"] == 48.83


@needs_data
def test_some_irises_are_there_twice():
    flowers = load_flowers17()
    is_twin = find_twins(flowers.images[np.flatnonzero(flowers.labels == 5)])
    assert is_twin[23, 42]
    assert 10 < is_twin.sum() / 2 < 40
