import os
from types import SimpleNamespace

import numpy as np
import pytest

from experiments import low_rank, rotated_images, rotation_distributions, sample_complexity
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


@pytest.fixture
def numbered_digits(monkeypatch):
    """1,600 images of digits 2 to 9, each of one grey level of its own, which are not shifted."""
    images = np.broadcast_to(np.arange(1, 1601, dtype=np.float32)[:, None, None], (1600, 28, 28))
    digits = SimpleNamespace(images=images, labels=np.arange(1600) % 8 + 2)
    monkeypatch.setattr(sample_complexity, "load_mnist", lambda: digits)
    monkeypatch.setattr(sample_complexity, "MAX_SHIFT", 0)


def levels(images):
    """The images by their numbers."""
    return set(np.rint(255 * images[:, 14, 14]).astype(int))


def test_every_run_draws_its_own_templates_training_and_test_images(numbered_digits, monkeypatch):
    learned, compared = [], []
    learn = sample_complexity._learn

    def keep_learned(method, template_images, seed):
        learned.append((levels(template_images), seed))
        return learn("L2", template_images, seed)

    def keep_compared(training, labels, test, test_labels):
        compared.append([levels(rows.reshape(-1, 28, 28)) for rows in (training, test)])
        return 50.0

    monkeypatch.setattr(sample_complexity, "_learn", keep_learned)
    monkeypatch.setattr(sample_complexity, "classify", keep_compared)
    [curve] = sample_complexity.run(3, methods=("2 layers",), counts=(5,), seed=4)
    assert curve.rates.shape == (3, 1)
    assert [seed for _, seed in learned] == [4, 5, 6]
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert learned[one][0] != learned[other][0]
        for part in (0, 1):
            assert len(compared[one][part] & compared[other][part]) < 0.5 * len(compared[one][part])
    for (templates, _), (training, test) in zip(learned, compared, strict=True):
        assert (len(templates), len(training), len(test)) == (1000, 40, 240)
        assert len(templates | training | test) == 1280


def test_feature_maps_are_those_of_definition_31():
    """Of all responses but not of the smallest patches, and followed by the lengths."""
    three = sample_complexity.make_response("3 layers", 0, "kpca", 7)
    assert [layer.embedding for layer in three.layers] == [None, "kpca"]
    assert (three.embedding, three.embedding_components, three.layers[1].n_components) == ("kpca", 7, 7)
    assert three.layers[1].normalize
    two = sample_complexity.make_response("2 layers", 0, "pca", 3)
    assert ([layer.embedding for layer in two.layers], two.embedding) == ([None], "pca")
    assert sample_complexity.make_response("3 layers", 0).embedding is None


def test_the_distributions_are_those_of_one_minus_the_kernel(monkeypatch):
    images = np.random.default_rng(0).random((40, 12, 12)).astype(np.float32)
    photos = rotated_images.Images(images, np.repeat([0, 1], 20), (4, 8), 2)
    monkeypatch.setattr(rotated_images, "N_TEMPLATES", 6)
    seen = []
    turn = rotation_distributions.turn
    monkeypatch.setattr(rotation_distributions, "turn", lambda images: seen.append(images) or turn(images))
    found = rotation_distributions.compare("inner", photos, seed=3)
    [chosen] = seen
    is_chosen = (images[:, None] == chosen).all(axis=(2, 3)).any(axis=1)
    assert is_chosen.sum() == 2
    others = np.random.default_rng(3)
    places = [others.choice(np.flatnonzero(photos.labels == label)) for label in (0, 1)]
    templates = images[others.permutation(np.setdiff1d(np.arange(40), places))]
    response = rotated_images.make_response("inner", (4, 8), 2, 3).fit(templates)
    rows = response.transform(turn(chosen).reshape(-1, 12, 12))
    distances = 1 - rows @ rows.T
    same = np.repeat([0, 1], 12)[:, None] == np.repeat([0, 1], 12)
    upper = np.triu(np.ones((24, 24), bool), 1)
    np.testing.assert_allclose(np.sort(found.within), np.sort(distances[same & upper]), atol=1e-9)
    np.testing.assert_allclose(np.sort(found.between), np.sort(distances[~same & upper]), atol=1e-9)
    assert found.share == pytest.approx(100 * distances[same & upper].mean() / distances[~same & upper].mean())


def test_a_quantile_plot_has_the_diagonal_and_begins_vertically_where_rotations_coincide():
    values = np.random.default_rng(0).random(400)
    trials = {
        "alike": [rotation_distributions.Distributions(values, values)],
        "coincide": [
            rotation_distributions.Distributions(np.zeros(50), values[:200]),
            rotation_distributions.Distributions(values[:20], values[200:]),
        ],
    }
    plot = rotation_distributions.quantile_plot("any", trials)
    alike, coincide, diagonal = plot.curves
    np.testing.assert_allclose(alike.places, alike.rates[0])
    np.testing.assert_allclose(coincide.rates, alike.rates)  # in units of the same mean, of both trials together
    assert coincide.places[30] == 0 < coincide.rates[0, 30]
    assert coincide.places[-1] == pytest.approx(values[:20].max() / values.mean())
    assert diagonal.places == pytest.approx(diagonal.rates[0])
    assert diagonal.places[-1] == pytest.approx(values.max() / values.mean())
    assert len(curves_figure(plot).axes[0].get_lines()) >= 3


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
