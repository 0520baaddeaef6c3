"""Faults that were found once, each of which must not come back."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from invariance.jungles import JungleClassifier
from invariance.jungles.drawing import hold_out
from invariance.transformations import Rotations, Shifts


@pytest.fixture(scope="module")
def digits():
    images, labels = load_digits(n_class=3, return_X_y=True)
    return images.reshape(-1, 8, 8) / 16, labels


def make(**settings):
    return JungleClassifier(**{"n_jungles": 3, "max_depth": 4, "rank": 24, "random_state": 0} | settings)


@pytest.mark.parametrize("final_estimator", ["vote", "linear", "boosting"])
def test_a_class_without_weight_keeps_its_column(digits, final_estimator):
    images, labels = digits
    model = make(final_estimator=final_estimator).fit(images[:200], labels[:200], sample_weight=labels[:200] > 0)
    probabilities = model.predict_proba(images[200:])
    assert probabilities.shape == (len(images) - 200, 3)
    others = labels[200:] > 0
    assert np.mean(model.predict(images[200:])[others] == labels[200:][others]) > 0.9


def test_boosting_learns_from_few_images(digits):
    images, labels = digits
    model = make(final_estimator="boosting").fit(images[:90], labels[:90])
    assert model.score(images[90:], labels[90:]) > 0.8


def test_no_class_is_held_out_as_a_whole():
    codes = np.repeat([0, 1, 2], [40, 40, 2])
    for seed in range(20):
        held_out = hold_out(codes, 0.8, np.random.default_rng(seed))
        assert set(codes[~held_out]) == {0, 1, 2}


def test_a_leaf_that_cannot_be_split_does_not_cost_the_others_their_smoothness(digits):
    """Two equal images of different classes: no filter tells them apart."""
    images, labels = digits
    images = np.concatenate([images[:60], images[:1]])
    labels = np.concatenate([labels[:60], [2 - labels[0]]])
    model = make(n_jungles=1, max_depth=12, validation_fraction=0.0).fit(images, labels)
    assert np.mean(model.predict(images[1:60]) == labels[1:60]) > 0.95


def test_a_warm_start_with_other_transformations_is_refused(digits):
    images, labels = digits
    model = make(transformations=Shifts(1), warm_start=True).fit(images[:60], labels[:60])
    model.set_params(transformations=Rotations(4), n_jungles=4)
    with pytest.raises(ValueError, match=r"transformations must stay the same; fitted with Shifts\(\)"):
        model.fit(images[:60], labels[:60])


def test_a_deepening_warm_start_keeps_the_whole_curve(digits):
    images, labels = digits
    model = make(max_depth=2, patience=9, warm_start=True).fit(images[:100], labels[:100])
    model.set_params(max_depth=5).fit(images[:100], labels[:100])
    for curve in model.growth_curves_:
        assert [layer.depth for layer in curve] == list(range(len(curve)))


def test_the_number_of_images_is_remembered(digits):
    images, labels = digits
    assert make().fit(images[:70], labels[:70]).n_images_ == 70


def test_many_classes_with_few_images_are_learned_by_default():
    """Held-out samples of one in ten classes must not stop growth before it begins."""
    images, labels = load_digits(return_X_y=True)
    few = np.concatenate([np.flatnonzero(labels == digit)[:6] for digit in range(10)])
    rest = np.setdiff1d(np.arange(len(labels)), few)
    model = JungleClassifier(image_shape=(8, 8), random_state=0).fit(images[few] / 16, labels[few])
    assert model.score(images[rest] / 16, labels[rest]) > 0.7
