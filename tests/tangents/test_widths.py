"""Widths that are "auto" are found by cross-validation on the training images, from distances computed once."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.svm import SVC

from invariance.tangents import (
    JitteredDistance,
    JitteredSVC,
    TangentDistance,
    TangentOneClassSVM,
    TangentSVC,
    TangentVectorKernel,
)
from invariance.tangents.widths import FACTORS, MAX_IMAGES, WidthSearch
from invariance.transformations import Identity, Shifts
from tests.tangents.toys import draw_strokes

LINEAR = SVC(C=10.0, kernel="precomputed")


def draw_fine_structure(n_each, seed=0):
    """Images whose class is a small difference beside a large one that is noise: half the median is far too wide."""
    rng = np.random.default_rng(seed)
    labels = np.arange(2 * n_each) % 2
    images = np.zeros((2 * n_each, 4, 5), np.float32)
    images[:, 0, 0] = rng.choice([0.0, 60.0, 120.0], 2 * n_each)
    angle = rng.uniform(0, 2 * np.pi, 2 * n_each)
    radius = np.where(labels == 1, 7.0, 14.0)
    images[:, 3, 3], images[:, 3, 4] = radius * np.cos(angle), radius * np.sin(angle)
    return images, labels


IMAGES, LABELS = draw_fine_structure(40)
TEST, TEST_LABELS = draw_fine_structure(100, seed=1)
PLAIN = {"transformations": Identity()}
MACHINES = {
    "tangent distance": TangentSVC(TangentDistance(**PLAIN), C=1.0),
    "mean of sides": TangentSVC(TangentDistance(sides="mean", **PLAIN), C=1.0, psd_correction=None),
    "product": TangentSVC(TangentVectorKernel(**PLAIN), C=1.0),
    "sum": TangentSVC(TangentVectorKernel(form="sum", **PLAIN), C=1.0),
    "distribution": TangentSVC(TangentVectorKernel(form="distribution", **PLAIN), C=8.0),
    "jittered kernel": TangentSVC(JitteredDistance(Identity()), C=1.0),
    "jittered machine": JitteredSVC(Identity(), C=1.0),
}
every_machine = pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES.keys())


def width_name(machine):
    return "sigma" if isinstance(machine, JitteredSVC) else "kernel__sigma"


@every_machine
def test_a_clearly_better_width_is_found(machine):
    usual = clone(machine).set_params(**{width_name(machine): "median"}).fit(IMAGES, LABELS)
    found = clone(machine).fit(IMAGES, LABELS)
    assert found.kernel_.sigma_ < 0.75 * usual.kernel_.sigma_
    assert found.score(TEST, TEST_LABELS) > usual.score(TEST, TEST_LABELS) + 0.05


@every_machine
def test_the_machine_is_that_of_the_width_it_found(machine):
    found = clone(machine).fit(IMAGES, LABELS)
    widths = {width_name(machine): found.kernel_.sigma_}
    if isinstance(found.kernel_, TangentVectorKernel):
        widths |= {"kernel__gamma_w": found.kernel_.gamma_w_, "kernel__gamma_r": found.kernel_.gamma_r_}
    given = clone(machine).set_params(**widths).fit(IMAGES, LABELS)
    np.testing.assert_array_equal(given.decision_function(TEST), found.decision_function(TEST))


@every_machine
def test_it_is_the_same_every_time(machine):
    one, other = (clone(machine).fit(IMAGES, LABELS) for _ in range(2))
    assert one.kernel_.sigma_ == other.kernel_.sigma_
    np.testing.assert_array_equal(one.decision_function(TEST), other.decision_function(TEST))


def test_distances_are_computed_once(monkeypatch):
    calls, squared = [], TangentDistance.squared
    monkeypatch.setattr(TangentDistance, "squared", lambda *args: calls.append(1) or squared(*args))
    TangentSVC().fit(*draw_strokes(20))
    assert len(calls) == 1


def test_numbers_and_the_median_are_kept():
    images, labels = IMAGES, LABELS
    distance = TangentDistance(Identity(), sigma=5.0)
    assert TangentSVC(distance).fit(images, labels).kernel_.sigma_ == 5.0
    half = np.median(TangentDistance(Identity()).distances(images)[np.triu_indices(80, k=1)]) / 2
    median = TangentSVC(TangentDistance(Identity(), sigma="median")).fit(images, labels).kernel_
    assert median.sigma_ == pytest.approx(half)
    assert TangentDistance(Identity()).fit(images).sigma_ == pytest.approx(half)
    assert TangentOneClassSVM(TangentDistance(Identity())).fit(images).kernel_.sigma_ == pytest.approx(half)
    kernel = TangentSVC(TangentVectorKernel(Identity(), gamma_w=7.0), C=1.0).fit(images, labels).kernel_
    assert kernel.gamma_w_ == 7.0
    assert kernel.sigma_ < 1.5 * half


@every_machine
@pytest.mark.parametrize("counts", [(1, 1), (2, 2), (1, 9), (2, 30), (1, 2, 3)], ids=str)
def test_few_images_per_class_are_enough(machine, counts):
    labels = np.repeat(np.arange(len(counts)), counts)
    images = np.random.default_rng(0).random((len(labels), 4, 5)) + labels[:, None, None]
    fitted = clone(machine).set_params(C=100.0).fit(images, labels)
    assert fitted.score(images, labels) > 0.6


def test_equal_images_have_a_width():
    machine = TangentSVC().fit(np.ones((6, 5, 5)), [0, 0, 0, 1, 1, 1])
    assert machine.kernel_.sigma_ > 0


def test_it_works_inside_searches():
    search = GridSearchCV(TangentSVC(TangentDistance(Identity())), {"C": [1.0, 10.0]}, cv=3, error_score="raise")
    assert search.fit(IMAGES, LABELS).score(TEST, TEST_LABELS) > 0.8
    assert cross_val_score(JitteredSVC(Shifts(1)), *draw_strokes(12), cv=3, error_score="raise").mean() > 0.7


class TestSearch:
    def test_every_image_with_a_companion_is_tested_once_and_no_class_is_missing(self):
        codes = np.repeat(np.arange(5), [1, 2, 3, 11, 40])
        search = WidthSearch(codes, LINEAR, None)
        tested = np.concatenate([left_out for _, left_out in search._folds()])
        np.testing.assert_array_equal(np.sort(tested), np.arange(1, 57))
        for kept, left_out in search._folds():
            assert not set(kept) & set(left_out)
            assert set(codes[kept]) == set(range(5))

    def test_of_equal_ones_the_first_is_taken(self):
        K = np.eye(20)
        assert WidthSearch(np.arange(20) % 2, LINEAR, "clip").best([K, K, K]) == 0

    @pytest.mark.parametrize(
        ("n_lost", "n_gained", "choice"), [(0, 1, 0), (0, 2, 0), (0, 3, 1), (3, 6, 0), (2, 9, 1), (5, 5, 0), (4, 1, 0)]
    )
    def test_the_best_is_taken_if_its_gain_is_more_than_noise(self, monkeypatch, n_lost, n_gained, choice):
        """More than 1.5 standard deviations of the number of images on which the two disagree."""
        usual, other = np.zeros(40), np.zeros(40)
        usual[:n_gained], other[20 : 20 + n_lost] = 1, 1
        monkeypatch.setattr(WidthSearch, "_is_wrong", lambda self, wrong: wrong)
        assert WidthSearch(np.arange(40) % 2, LINEAR, None).best([usual, np.ones(40), other]) == 2 * choice

    def test_errors_are_those_of_cross_validation(self):
        images, codes = draw_strokes(13)
        images = images + 0.5 * np.random.default_rng(0).standard_normal(images.shape).astype(np.float32)
        kernel = TangentDistance().fit(images)
        K = kernel(images)
        search = WidthSearch(codes, LINEAR, "clip")
        wrong = np.zeros(26)
        for kept, left_out in search._folds():
            machine = TangentSVC(TangentDistance(sigma=kernel.sigma_)).fit(images[kept], codes[kept])
            wrong[left_out] = machine.predict(images[left_out]) != codes[left_out]
        np.testing.assert_array_equal(search._is_wrong(K), wrong)
        assert 0 < wrong.sum() < 13

    def test_many_images_are_searched_on_some_of_each_class(self):
        codes = np.repeat(np.arange(3), [1, 40, 5000])
        search = WidthSearch(codes, LINEAR, None)
        assert len(search.images) <= MAX_IMAGES
        assert set(codes[search.images]) == {0, 1, 2}
        few = WidthSearch(codes[:300], LINEAR, None)
        np.testing.assert_array_equal(few.images, np.arange(300))

    def test_the_usual_width_is_the_first_candidate(self):
        assert FACTORS[0] == 1


@pytest.mark.parametrize("sigma", ["cv", "wide", 0, -1.0, np.inf, True, None])
@pytest.mark.parametrize("kernel", [TangentDistance(), JitteredDistance(), TangentVectorKernel()], ids=repr)
def test_other_widths_are_refused(kernel, sigma):
    with pytest.raises(ValueError, match="sigma must be a number above 0 or one of 'auto', 'median'"):
        TangentSVC(clone(kernel).set_params(sigma=sigma)).fit(*draw_strokes(4))
    with pytest.raises(ValueError, match="sigma must be"):
        clone(kernel).set_params(sigma=sigma).fit(draw_strokes(4)[0])
