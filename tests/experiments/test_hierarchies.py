import os

import numpy as np
import pytest

from experiments import low_rank, rotated_images, sample_complexity
from experiments.low_rank import Experiment, Method
from experiments.outcome import Curve, Plot
from experiments.reproduction_page import curves_figure

needs_data = pytest.mark.skipif("INVARIANCE_DATA" not in os.environ, reason="INVARIANCE_DATA is not set")


def test_templates_come_from_images_that_are_not_rotated_in_the_trial():
    values = np.linspace(0.1, 0.9, 90, dtype=np.float32)
    images = np.broadcast_to(values[:, None, None], (90, 5, 5))
    trial = rotated_images.draw_trial(images, np.repeat([1, 2], 45), seed=0)
    assert np.array_equal(np.bincount(trial.labels), [0, 30, 30])
    drawn, others = trial.originals[:, 0, 0], trial.others[:, 0, 0]
    assert sorted([*drawn, *others]) == sorted(values)


def test_a_rotated_copy_has_only_grey_levels_of_its_original_and_zero():
    images = np.random.default_rng(0).random((60, 28, 28), dtype=np.float32)
    trial = rotated_images.draw_trial(images, np.repeat([0, 1], 30), seed=1)
    for original, rotated in zip(trial.originals, trial.rotated, strict=True):
        assert np.isin(rotated, [0, *original.ravel()]).all()
    assert not np.array_equal(trial.originals, trial.rotated)


def test_pixels_identify_copies_that_are_not_rotated():
    images = np.random.default_rng(0).random((6, 28, 28), dtype=np.float32)
    labels = np.repeat([0, 1], 3)
    trial = rotated_images.Trial(images, images[[0, 1, 2, 3, 5, 4]], labels, images)
    photos = rotated_images.Images(images, labels, (12, 20), 1)
    assert rotated_images.judge("L2", photos, trial, seed=0) == pytest.approx((100 * 4 / 6, 100))


def test_shifts_stay_within_three_pixels_and_reach_them():
    images = np.zeros((500, 28, 28), np.float32)
    images[:, 14, 10] = 1
    shifted = sample_complexity.shift_randomly(images, np.random.default_rng(0))
    places = np.argwhere(shifted == 1)[:, 1:] - (14, 10)
    assert len(places) == 500
    assert np.array_equal(np.unique(places, axis=0), [(i, j) for i in range(-3, 4) for j in range(-3, 4)])


def test_examples_needed_lie_on_the_line_between_two_measured_numbers():
    curve = Curve("any", (1, 5, 11), np.array([[40.0, 60.0, 70.0], [40.0, 60.0, 74.0]]))
    assert sample_complexity.count_needed(curve, 66) == pytest.approx(8)
    assert sample_complexity.count_needed(curve, 30) == 1
    assert np.isnan(sample_complexity.count_needed(curve, 90))


def test_a_method_with_one_rate_is_a_dashed_line_in_the_figure(tmp_path):
    curves = [Curve("pca", (1, 5), np.array([[10.0, 60.0]])), Curve("full", (500,), np.array([[61.0]]))]
    figure = curves_figure(Plot("MNIST", "components", "rate in %", curves))
    [axes] = figure.axes
    assert {text.get_text() for text in axes.figure.legends[0].get_texts()} == {"pca", "full"}
    [level] = [line for line in axes.get_lines() if line.get_linestyle() == "--"]
    assert set(level.get_ydata()) == {61.0}
    figure.savefig(tmp_path / "curves.png")
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.data
@needs_data
def test_a_set_of_digits_is_never_drawn_from_twice(monkeypatch):
    monkeypatch.setattr(sample_complexity, "MAX_SHIFT", 0)
    digits = sample_complexity.Digits(seed=0)
    (first, labels), (second, _) = digits.draw(20), digits.draw(20)
    assert np.array_equal(labels[:16], [*sample_complexity.DIGITS] * 2)
    assert len(np.unique(np.concatenate([first, second]), axis=0)) == 320


@pytest.mark.data
@needs_data
def test_histograms_identify_rotated_digits_far_more_often_than_inner_products():
    sets = {"MNIST": rotated_images.SETS["MNIST"]}
    outcomes = {outcome.method: outcome for outcome in rotated_images.run(2, sets=sets)["MNIST"]}
    assert outcomes["histogram, identified"].mean > 2 * outcomes["inner, identified"].mean
    assert outcomes["histogram, classified"].mean > outcomes["inner, classified"].mean + 8
    for outcome in outcomes.values():
        assert abs(outcome.mean - outcome.paper) < 7  # a single trial deviates by 3


@pytest.mark.data
@needs_data
def test_layers_need_fewer_examples_than_pixels():
    curves = sample_complexity.run(2, methods=("2 layers", "3 layers", "L2"), counts=(5, 11))
    two, three, pixels = (curve.means for curve in curves)
    assert (two > pixels + 5).all()
    assert (three > pixels).all()
    assert two[1] > two[0]
    assert pixels[1] > pixels[0]


@pytest.mark.data
@needs_data
def test_thirty_principal_components_do_nearly_as_well_as_all_and_150_of_a_gaussian_no_worse():
    methods = {
        "pca": Method("3 layers", "pca", (1, 30)),
        "kpca": Method("3 layers", "kpca", (150,)),
        "full": Method("3 layers", None, ()),
    }
    pca, kpca, full = low_rank.run(1, Experiment(5, methods))
    assert pca.means[1] == pytest.approx(full.means[0], abs=4)
    assert pca.means[0] < full.means[0] - 15
    assert kpca.means[0] >= full.means[0]
