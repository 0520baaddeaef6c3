"""Landmarks: distances at the best alignment, the regression on similarities, and what Φ is worth."""

import numpy as np
import pytest

from invariance import Identity, LandmarkClassifier, Rotations, Shifts
from invariance._core.randomness import draw_stratified
from invariance.descriptors import GradientGrid
from invariance.tangents import landmarks
from invariance.tangents.hard_images import add_hard, lack_of_margin
from invariance.tangents.ridge import PENALTIES, Sums, fit_ridge
from tests import reference


@pytest.fixture(scope="module")
def glyphs():
    """Bars, crosses and corners of 20 x 20 pixels, each image turned by any angle."""
    from scipy import ndimage

    shapes = np.zeros((3, 20, 20))
    shapes[0, 4:16, 9:11] = 1
    shapes[1, 4:16, 9:11] = shapes[1, 9:11, 4:16] = 1
    shapes[2, 4:11, 9:11] = shapes[2, 9:11, 9:16] = 1
    rng = np.random.default_rng(0)
    codes = np.arange(90) % 3
    turned = [ndimage.rotate(shapes[code], rng.uniform(0, 360), reshape=False, order=1) for code in codes]
    return (np.stack(turned) + rng.normal(0, 0.05, (90, 20, 20))).clip(0, 1).astype(np.float32), codes


def test_distances_are_the_least_over_all_versions(glyphs):
    images, codes = glyphs
    phi, grid = Rotations(8), GradientGrid(5, 6)
    model = LandmarkClassifier(phi, descriptor=grid, gamma=1.0).fit(images[:12], codes[:12])
    versions = phi.operators((20, 20)).apply(images[12:15])
    expected = [
        [min(np.square(grid.transform([version])[0] - landmark).sum() for version in of_image) for landmark in
         grid.transform(images[:12])]
        for of_image in versions
    ]  # fmt: skip
    np.testing.assert_allclose(-np.log(model.similarities(images[12:15])), expected, atol=1e-5)


def test_knowing_that_angles_do_not_matter_helps(glyphs):
    images, codes = glyphs
    errors = [
        np.mean(LandmarkClassifier(phi).fit(images[:15], codes[:15]).predict(images[15:]) != codes[15:])
        for phi in (Rotations(24), Identity())
    ]
    assert errors[0] < 0.05 < errors[1]


def test_quarter_turns_leave_scores_unchanged(glyphs):
    images, codes = glyphs
    model = LandmarkClassifier(Rotations(4)).fit(images[:30], codes[:30])
    turned = np.rot90(images[30:], axes=(1, 2))
    np.testing.assert_allclose(model.decision_function(turned), model.decision_function(images[30:]), atol=1e-4)


def test_probabilities_are_those_of_scores(glyphs):
    images, codes = glyphs
    model = LandmarkClassifier(Shifts(1)).fit(images[:60], np.array(["bar", "cross", "corner"])[codes[:60]])
    probabilities = model.predict_proba(images[60:])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(images[60:]))


def fit_on(features, codes, n_classes, n_judged=None):
    """The regression on all images, its penalty chosen by the first of them."""
    sums = Sums(features.shape[1], n_classes)
    sums.add(features, codes)
    return fit_ridge(sums, features[:n_judged], codes[:n_judged])


def test_held_out_scores_are_those_of_fits_without_an_image():
    rng = np.random.default_rng(0)
    features, codes = rng.normal(size=(25, 6)).astype(np.float32), rng.integers(3, size=25)
    codes[:3] = range(3)
    ridge = fit_on(features, codes, 3)
    targets = 2.0 * (codes[:, None] == np.arange(3)) - 1
    for left_out in (0, 7, 24):
        rest = np.arange(25) != left_out
        expected = reference.ridge_scores(features[rest], targets[rest], ridge.penalty, features[left_out])
        np.testing.assert_allclose(ridge.held_out[left_out], expected, atol=1e-6)
    whole = reference.ridge_scores(features, targets, ridge.penalty, features[3])
    np.testing.assert_allclose((features[3] - ridge.means) @ ridge.weights + ridge.offsets, whole, atol=1e-6)


def test_the_penalty_grows_with_noise():
    rng = np.random.default_rng(0)
    codes = np.arange(200) % 2
    clear = (codes[:, None] + 0.01 * rng.normal(size=(200, 5))).astype(np.float32)
    noisy = rng.normal(size=(200, 50)).astype(np.float32)
    assert fit_on(noisy, codes, 2).penalty > 100 * fit_on(clear, codes, 2).penalty
    assert len(PENALTIES) > 10


def test_landmarks_are_drawn_in_proportion_with_at_least_one_per_class():
    codes = np.repeat([0, 1, 2], [600, 399, 1])
    drawn = draw_stratified(codes, 100, np.random.default_rng(0))
    assert (np.diff(drawn) > 0).all()
    np.testing.assert_array_equal(np.bincount(codes[drawn]), [60, 39, 1])
    np.testing.assert_array_equal(draw_stratified(codes[:50], 100, np.random.default_rng(0)), np.arange(50))


@pytest.fixture
def few_at_a_time(monkeypatch):
    """As if five images were many."""
    monkeypatch.setattr(landmarks, "MAX_LEFT_OUT", 30)
    monkeypatch.setattr(landmarks, "N_TOGETHER", 5)


def test_all_images_count_whatever_the_number_at_a_time(glyphs, few_at_a_time, monkeypatch):
    images, codes = glyphs
    settings = {"n_landmarks": 12, "gamma": 2.0, "random_state": 0}
    some = LandmarkClassifier(Shifts(1), **settings).fit(images, codes)
    monkeypatch.setattr(landmarks, "N_TOGETHER", 1000)
    whole = LandmarkClassifier(Shifts(1), **settings).fit(images, codes)
    scores = some.decision_function(images)
    np.testing.assert_allclose(scores, whole.decision_function(images), atol=1e-4)
    similarities = some.similarities(images)
    expected = reference.ridge_scores(
        similarities, 2.0 * (codes[:, None] == np.arange(3)) - 1, some.penalty_, similarities
    )
    np.testing.assert_allclose(scores, expected, atol=1e-4)


def test_an_image_lacks_margin_as_far_as_another_class_comes_close():
    scores = np.array([[1.0, -1.0, -1.0], [0.5, 0.5, -1.0], [-1.0, 1.0, -1.0], [3.0, -1.0, -1.0]])
    np.testing.assert_allclose(lack_of_margin(scores, np.zeros(4, int)), [0, 1, 2, 0])


def test_further_landmarks_are_drawn_from_hard_images_first():
    lack = np.zeros(400)
    lack[100:120] = 1.5
    first = np.arange(0, 400, 40)
    chosen = add_hard(first, lack, 30, np.random.default_rng(0))
    assert (np.diff(chosen) > 0).all()
    assert len(chosen) == 30
    assert np.isin(first, chosen).all()
    assert np.isin(chosen, np.arange(100, 120)).sum() > 15
    np.testing.assert_array_equal(add_hard(first, lack, 5, np.random.default_rng(0)), first)


def test_there_are_as_many_landmarks_as_asked_for_and_some_of_every_class(glyphs):
    images, codes = glyphs
    model = LandmarkClassifier(Shifts(1), n_landmarks=20, random_state=0).fit(images, codes)
    assert len(model.images_) == len(model.landmarks_) == len(model.codes_) == 20
    assert set(model.codes_) == {0, 1, 2}
    np.testing.assert_allclose(model.similarities(model.images_).diagonal(), 1, atol=1e-5)


def test_threads_change_nothing_while_images_are_streamed(glyphs, few_at_a_time):
    images, codes = glyphs
    one, two = (
        LandmarkClassifier(Shifts(1), n_landmarks=12, n_jobs=n_jobs, random_state=0).fit(images, codes)
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.weights_, two.weights_)
    assert one.gamma_ == two.gamma_


def test_some_images_left_out_are_judged_by_a_fit_on_all_others():
    rng = np.random.default_rng(1)
    features, codes = rng.normal(size=(40, 5)).astype(np.float32), np.arange(40) % 2
    ridge = fit_on(features, codes, 2, n_judged=10)
    assert ridge.held_out.shape == (10, 2)
    rest = np.arange(40) != 4
    targets = 2.0 * (codes[:, None] == np.arange(2)) - 1
    expected = reference.ridge_scores(features[rest], targets[rest], ridge.penalty, features[4])
    np.testing.assert_allclose(ridge.held_out[4], expected, atol=1e-6)


@pytest.mark.parametrize(("settings", "message"), [
    ({"n_landmarks": 0}, "n_landmarks"),
    ({"descriptor": "edges"}, "descriptor must be a GradientGrid, 'pixels' or None; got 'edges'"),
    ({"gamma": -1}, "gamma"),
])  # fmt: skip
def test_wrong_settings_are_named(glyphs, settings, message):
    with pytest.raises(ValueError, match=message):
        LandmarkClassifier(**settings).fit(*glyphs)
