import os

import numpy as np
import pytest
from sklearn.svm import SVC

from experiments import tangent_digits, tangent_faces, tangent_images
from experiments.tangent_digits import METHODS, DistanceSVM, KernelSVM, Nearest, Trial
from invariance.tangents import TangentDistance, TangentVectorKernel
from invariance.transformations import Identity, Shifts
from tests.tangents.toys import Blobs, rows_and_tangents

needs_data = pytest.mark.skipif("INVARIANCE_DATA" not in os.environ, reason="INVARIANCE_DATA is not set")


@pytest.fixture(autouse=True)
def quick_search(monkeypatch):
    """One cross-validation, not repeated."""
    monkeypatch.setattr(tangent_digits, "N_HELD_OUT", 1)


@pytest.fixture(scope="module")
def bars() -> Trial:
    """Images of an upright or a lying bar somewhere near the middle, of some noise."""
    rng = np.random.default_rng(0)

    def draw(n: int) -> tuple[np.ndarray, np.ndarray]:
        images, labels = 0.1 * rng.random((n, 12, 12)), np.arange(n) % 2
        for image, label, place in zip(images, labels, rng.integers(4, 8, n), strict=True):
            (image if label else image.T)[place, 2:10] += 1
        return images, labels

    training, labels = draw(20)
    trial = Trial(training, labels, draw(10)[0])
    trial.truth = np.arange(10) % 2
    return trial


def test_as_many_digits_of_every_class_are_drawn_and_none_twice():
    labels = np.random.default_rng(0).integers(10, size=2000)
    drawn = tangent_digits.draw_digits(labels, 100, seed=3)
    assert np.array_equal(np.bincount(labels[drawn]), [10] * 10)
    assert len(np.unique(drawn)) == 100
    assert not np.array_equal(drawn, tangent_digits.draw_digits(labels, 100, seed=4))
    with pytest.raises(ValueError, match="multiple of the number of classes, 10; got 105"):
        tangent_digits.draw_digits(labels, 105, seed=3)


def test_the_gram_matrix_that_separates_the_classes_is_chosen_and_the_first_of_equals():
    labels = np.repeat([0, 1], 15)
    same = (labels[:, None] == labels).astype(float)
    noise = np.eye(30)
    choice = tangent_digits.choose([noise, same, same], labels)
    assert (choice.candidate, choice.C, choice.error) == (1, tangent_digits.COSTS[0], 0)


def test_cross_validation_of_a_repaired_kernel_sees_only_images_it_may(monkeypatch):
    sizes = []
    fit = SVC.fit
    monkeypatch.setattr(SVC, "fit", lambda machine, K, y: (sizes.append(K.shape), fit(machine, K, y))[1])
    tangent_digits.choose([np.eye(20)], np.repeat([0, 1], 10), "clip")
    assert set(sizes) == {(16, 16)}


def test_the_usual_width_is_that_of_the_library(bars):
    distance = TangentDistance(Shifts(1), blur=0.5)
    width = tangent_digits.usual_width(distance.squared(bars.training))
    assert width == pytest.approx(distance.fit(bars.training).sigma_, rel=1e-6)


@pytest.mark.parametrize(
    "method",
    [
        Nearest(TangentDistance(Shifts(1))),
        DistanceSVM(TangentDistance(Shifts(1))),
        DistanceSVM(TangentDistance(Shifts(1)), "clip"),
        KernelSVM(TangentVectorKernel(Shifts(1)), sigma=(1.0, 0.5), gamma_w=(1.0,)),
        tangent_digits.Virtual(Shifts(1)),
    ],
    ids=lambda method: type(method).__name__,
)
def test_every_kind_of_method_tells_upright_from_lying_bars(method, bars):
    assert np.mean(method.predict(bars) == bars.truth) >= 0.9


def test_a_grid_holds_multiples_of_what_auto_finds(bars):
    kernel = TangentVectorKernel(Shifts(1))
    found = TangentVectorKernel(Shifts(1)).fit(bars.training)
    kernels = list(KernelSVM(kernel, sigma=(1.0, 2.0), gamma_w=(0.5,))._kernels(bars.training))
    assert [tried.sigma_ / found.sigma_ for tried in kernels] == pytest.approx([1, 2])
    assert [tried.gamma_w_ / found.gamma_w_ for tried in kernels] == pytest.approx([0.5, 0.5])


def test_the_papers_row_searches_sigma_only_and_ties_gamma_w_to_it(bars):
    paper, make = METHODS["tangent vectors, sum, rotations and scales"]
    method = make()
    assert paper == 9.7
    assert list(method.grid) == ["sigma"]
    kernels = list(method._kernels(bars.training))
    assert len({kernel.sigma_ for kernel in kernels}) == len(kernels) > 3
    for kernel in kernels:
        assert kernel.form == "sum"
        assert kernel.gamma_w_ == kernel.sigma_
        _, tangents = rows_and_tangents(bars.training, kernel.transformations, "difference", blur=0)
        assert kernel.gamma_r_ == pytest.approx(np.sqrt((tangents**2).sum(axis=2).mean()))


class TestMovedImages:
    """[Pozdnoukhov04] fig. 2."""

    blobs = np.stack([Blobs(seed).draw() for seed in range(2)])

    def test_gradients_are_right_for_small_rotations_of_smooth_images_in_both_directions(self):
        for angle, limit in ((4.0, 25), (20.0, 1000)):
            rotated = tangent_images.rotate_both_ways(self.blobs, angle)
            moved = tangent_images.move_by_gradients(self.blobs, angle, 0.5)
            error = tangent_images.measure(self.blobs, rotated, moved)
            backwards = tangent_images.measure(self.blobs, rotated, moved[:, ::-1])
            assert error < limit
            assert error < backwards / 2
        assert error > 30  # of 20°

    def test_differences_are_exact_at_their_own_step_and_a_mixture_on_the_way(self):
        rotated = tangent_images.rotate_both_ways(self.blobs, 10)
        np.testing.assert_allclose(tangent_images.move_by_differences(self.blobs, 10), rotated, atol=1e-6)
        halfway = (self.blobs[:, None] + rotated) / 2
        np.testing.assert_allclose(tangent_images.move_by_differences(self.blobs, 5), halfway, atol=1e-6)

    def test_an_image_that_is_not_moved_misses_all_of_the_movement(self):
        rotated = tangent_images.rotate_both_ways(self.blobs, 5)
        still = np.repeat(self.blobs[:, None], 2, axis=1)
        assert tangent_images.measure(self.blobs, rotated, still) == pytest.approx(100)
        assert tangent_images.measure(self.blobs, rotated, rotated) == 0

    def test_nobody_is_in_two_runs(self):
        labels = np.arange(165) % 15
        runs = tangent_images.draw_runs(labels, 5, seed=1)
        assert sorted(np.concatenate(runs)) == list(range(165))
        assert [len(np.unique(labels[run])) for run in runs] == [3] * 5
        with pytest.raises(ValueError, match="at most 5.*got 6"):
            tangent_images.draw_runs(labels, 6, seed=1)


def test_distances_of_a_split_are_those_of_its_images():
    images, labels = np.random.default_rng(0).random((9, 8, 8)), np.repeat([0, 1, 2], 3)
    training, test = np.array([5, 0, 3]), np.array([1, 8])
    distance = TangentDistance(Identity(), blur=0.0)
    split = tangent_faces.Split(tangent_faces.Album(images, labels), training, test)
    direct = Trial(images[training], labels[training], images[test])
    for found, expected in zip(split.squared(distance), direct.squared(distance), strict=True):
        assert found == pytest.approx(expected)


@pytest.mark.data
@needs_data
def test_tangent_distance_makes_far_fewer_errors_than_an_rbf_kernel_and_tangent_vectors_fewer():
    names = ("RBF", "RBF, blurred", "tangent vectors, product", "tangent distance two-sided, SVM, clipped")
    outcomes = tangent_digits.run(1, 500, {name: METHODS[name] for name in names}, sizes=(300,))[300]
    rbf, blurred, vectors, distance = (outcome.mean for outcome in outcomes)
    assert distance < 0.65 * min(rbf, blurred)
    assert vectors < rbf
    assert distance < vectors
    assert outcomes[0].paper == 11.2


@pytest.mark.data
@needs_data
def test_faces_are_told_apart_best_by_tangent_distance_with_jittered_shifts():
    names = ("RBF", "tangent distance two-sided, SVM", "jittered tangent distance, SVM")
    methods = {name: tangent_faces.METHODS[name] for name in names}
    outcomes = tangent_faces.run(2, {"normalized": tangent_faces.PREPARATIONS["normalized"]}, methods)["normalized"]
    rbf, distance, jittered = (outcome.mean for outcome in outcomes)
    assert jittered < distance < rbf - 5
    assert jittered < 16
