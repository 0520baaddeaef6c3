"""Advice says what is true of images of which it is known what matters: nothing is helpful where labels are noise."""

import numpy as np
import pytest
from scipy.ndimage import rotate, shift
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifier

from invariance.datasets import make_glyphs, make_textures
from invariance.methods import advice as module
from invariance.methods.advice import MAX_MEMBERS, advise
from invariance.methods.distances import left_out_probabilities, minimum_distances
from invariance.methods.findings import TEXTURE, WHOLE, Verdict, View, add_part, text_together
from invariance.methods.paired import (
    chance_of_lead,
    compare_paired,
    correct_for_many,
    lead_in_errors,
    mean_gain,
    quadratic_losses,
)
from invariance.report import save_figure
from invariance.report.advice_figures import COLOURS, advice_figure
from invariance.tangents import JitteredDistance
from invariance.transformations import Illumination, Rotations
from invariance.transformations.parsing import parse_transformations


def some_digits(n_each, classes):
    """Digits of 32 x 32 pixels with room around them."""
    data = load_digits()
    rows = np.concatenate([np.flatnonzero(data.target == digit)[:n_each] for digit in classes])
    images = [np.pad(np.kron(data.images[row] / 16, np.ones((3, 3))), 4).astype(np.float32) for row in rows]
    return images, data.target[rows]


def texts(advice, verdict):
    return {finding.text for finding in advice.findings if finding.verdict == verdict}


def test_rotations_hurt_where_they_make_nines_of_sixes():
    sixes, _ = some_digits(50, [6])
    photos = [*sixes[:25], *(np.rot90(photo, 2) for photo in sixes[25:])]
    advice = advise(photos, ["six"] * 25 + ["nine"] * 25)
    assert "rotations:24" in texts(advice, Verdict.HURTS)
    assert "rotations" not in advice.text
    (hurts,) = [reason for reason in advice.reasons if reason.startswith("Hurts")]
    assert "all rotations" in hurts
    assert "predicted as" in hurts


def test_reflections_hurt_where_they_make_right_hands_of_left_ones():
    drawings = make_glyphs(40, rotation=15, shift=0, scale=0.1, random_state=0)
    hooks = drawings.images[drawings.labels == drawings.class_names.index("hook")]
    advice = advise([*hooks[:20], *hooks[20:, :, ::-1]], ["left"] * 20 + ["right"] * 20)
    assert "reflections" in texts(advice, Verdict.HURTS)
    assert "reflections" not in advice.text


@pytest.fixture(scope="module")
def turned():
    rng = np.random.default_rng(0)
    photos, labels = some_digits(12, (2, 3, 4, 5, 7))
    turned = [rotate(photo, rng.uniform(0, 360), reshape=False, order=1) for photo in photos]
    return advise(turned, labels, n_jobs=1)


def test_rotations_help_where_images_are_turned_at_random(turned):
    assert "rotations:24" in texts(turned, Verdict.HELPS)
    assert "rotations:24" in turned.text
    assert turned.advised.accuracy > turned.plain[turned.view].accuracy
    assert repr(parse_transformations(turned.text)).startswith("Rotations(n=24)")
    assert "all rotations" in turned.sentence


def test_shifts_help_where_images_are_shifted_at_random():
    rng = np.random.default_rng(0)
    photos, labels = some_digits(15, (1, 2, 3, 4, 5, 7))
    shifted = [shift(photo, rng.uniform(-4, 4, 2), order=1) for photo in photos]
    advice = advise(shifted, labels)
    assert {"shifts:1", "shifts:2", "shifts:3"} & texts(advice, Verdict.HELPS)
    assert "shifts" in advice.text


@pytest.mark.parametrize("seed", range(4))
def test_nothing_helps_or_hurts_where_labels_are_noise(seed):
    drawings = make_glyphs(10, random_state=seed)
    labels = np.random.default_rng(seed).permutation(drawings.labels)
    advice = advise(drawings.images, labels)
    assert texts(advice, Verdict.HELPS) == set()
    assert advice.text == "identity"
    assert advice.combinations == []
    assert advice.sentence.startswith("No invariance is shown to help")
    assert any("large differences" in reason for reason in advice.reasons)


def test_textures_turned_at_random_are_compared_as_textures():
    data = make_textures(n_per_class=4, size=64, random_state=0)
    advice = advise(list(data.images), data.labels)
    assert set(advice.plain) == {View.WHOLE, View.TEXTURE}
    assert advice.view == View.TEXTURE
    assert {finding.text for finding in advice.of_view(View.TEXTURE)} == {
        text_together(parts) for parts in TEXTURE.values() if parts
    }


def test_the_advice_is_the_same_for_any_number_of_jobs():
    photos, labels = some_digits(8, (1, 2, 7))
    one, two = (advise(photos, labels, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert one.text == two.text
    for ours, theirs in zip(one.findings, two.findings, strict=True):
        np.testing.assert_array_equal(ours.losses, theirs.losses)


def test_what_does_not_fit_the_budget_is_listed():
    photos, labels = some_digits(5, (1, 2))
    advice = advise(photos, labels, budget=0)
    assert len(advice.untried) == len(WHOLE)
    assert advice.findings == []
    assert advice.text == "identity"
    assert any(reason.startswith("Not tried") for reason in advice.reasons)


def test_of_many_images_some_of_every_class_are_drawn():
    photos, labels = some_digits(30, (1, 2, 7))
    advice = advise(photos, labels, max_images=30)
    assert len(advice.rows) == 30
    assert np.bincount(advice.codes).tolist() == [10, 10, 10]
    assert advice.facts.n_images == 90
    assert "30 of them, drawn at random" in advice.reasons[0]


@pytest.mark.parametrize(("labels", "named"), [(["a"] * 4, "two classes"), (["a", "a", "a", "b"], "'b' has one image")])
def test_too_few_images_or_classes_are_refused(labels, named):
    with pytest.raises(ValueError, match=named):
        advise([np.zeros((8, 8))] * 4, labels)


def test_candidates_are_texts_that_can_be_read_and_products_of_bounded_size():
    for candidate in WHOLE:
        assert len(parse_transformations(candidate.text).members((32, 32))) <= MAX_MEMBERS
    light, turn = (next(c for c in WHOLE if c.family == family) for family in ("illumination", "rotations"))
    assert text_together(add_part((light,), turn)) == "rotations:5:15,illumination:4"
    assert text_together(()) == "identity"


def test_minimum_distances_are_jittered_distances_for_images_on_black():
    images = np.zeros((6, 12, 12), np.float32)
    images[:, 3:9, 3:9] = np.random.default_rng(0).random((6, 6, 6))
    expected = JitteredDistance(Rotations(8)).squared(images)
    np.testing.assert_allclose(minimum_distances(images, Rotations(8)), expected, atol=1e-4)


def test_what_comes_in_from_outside_has_the_grey_of_the_background():
    white = np.ones((1, 12, 12), np.float32)
    white[:, 3:8, 4:9] = np.random.default_rng(0).random((5, 5))
    moved = np.concatenate([white, np.roll(white, 2, axis=2)])
    distances = minimum_distances(moved, parse_transformations("shifts:2"))
    np.testing.assert_allclose(distances, 0, atol=1e-4)


def test_evened_light_is_compared_with_evened_light():
    photo = np.random.default_rng(0).random((16, 16)).astype(np.float32) + 0.5
    both = np.stack([photo, photo * np.linspace(0.6, 1.4, 16, dtype=np.float32)])
    plain = minimum_distances(both, parse_transformations("identity"))
    assert minimum_distances(both, Illumination(4))[0, 1] < 0.3 * plain[0, 1]


def test_left_out_probabilities_are_those_of_machines_that_were_learned_without():
    rng = np.random.default_rng(0)
    points, codes = rng.normal(size=(30, 3)), np.arange(30) % 3
    points[:, 0] += codes
    squared = ((points[:, None] - points) ** 2).sum(axis=2)
    K = np.exp(-2 * squared / (squared.sum() / (30 * 29)))
    root = np.linalg.cholesky(K + 1e-12 * np.eye(30))
    predicted = left_out_probabilities(squared, codes).argmax(axis=1)
    for i in range(30):
        others = np.arange(30) != i
        machine = RidgeClassifier(alpha=0.3).fit(root[others], codes[others])
        assert machine.predict(root[i : i + 1])[0] == predicted[i]


def test_paired_comparison_counts_and_its_interval_holds_zero_where_nothing_differs():
    ours, theirs = np.array([1, 1, 1, 0, 0, 1], bool), np.array([0, 0, 1, 0, 1, 1], bool)
    difference = compare_paired(ours, theirs)
    assert (difference.n_gained, difference.n_lost) == (2, 1)
    assert difference.share == pytest.approx(1 / 6)
    assert difference.p == 1.0
    same = compare_paired(ours, ours)
    assert same.low < 0 < same.high
    assert same.p == 1.0
    clear = compare_paired(np.ones(20, bool), np.zeros(20, bool))
    assert clear.p == pytest.approx(2 * 0.5**20)
    assert clear.low > 0.5


def test_a_mean_gain_has_the_error_of_the_interval_of_a_paired_difference():
    ours, theirs = (np.random.default_rng(seed).random(50) < share for seed, share in ((0, 0.9), (1, 0.6)))
    difference = compare_paired(ours, theirs)
    mean, error = mean_gain(ours.astype(float) - theirs)
    assert mean == pytest.approx((difference.low + difference.high) / 2)
    assert 1.96 * error == pytest.approx((difference.high - difference.low) / 2, rel=1e-3)
    assert mean_gain(np.zeros(3))[1] > 0


def test_the_chance_of_a_lead_is_that_of_the_paired_t_test():
    from scipy.stats import ttest_rel

    rng = np.random.default_rng(0)
    ours, theirs = rng.random(40), rng.random(40) + 0.1
    lead = lead_in_errors(ours, theirs)
    assert lead > 0
    assert chance_of_lead(lead, 40) == pytest.approx(ttest_rel(ours, theirs).pvalue)
    assert lead_in_errors(ours, ours) == 0
    assert quadratic_losses(np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([0, 1])).tolist() == [0, 0.5]


def test_holms_correction():
    np.testing.assert_allclose(correct_for_many([0.01, 0.04, 0.03]), [0.03, 0.06, 0.06])
    assert len(correct_for_many([])) == 0


def test_the_figure_shows_every_finding_with_its_interval(turned, tmp_path):
    figure = advice_figure(turned)
    axes = figure.axes[0]
    expected = [*turned.of_view(turned.view), *turned.best_combinations()]
    assert [label.get_text() for label in axes.get_yticklabels()] == [finding.name for finding in expected]
    bold = [label.get_text() for label in axes.get_yticklabels() if label.get_fontweight() == "bold"]
    assert bold == [turned.advised.name]
    _, *drawn = [line for line in axes.lines if len(line.get_xdata())]
    for finding, interval, point in zip(expected, drawn[::2], drawn[1::2], strict=False):
        np.testing.assert_allclose(interval.get_xdata(), [100 * finding.difference.low, 100 * finding.difference.high])
        np.testing.assert_allclose(point.get_xdata(), [100 * finding.difference.share])
        assert point.get_color() == COLOURS[finding.verdict]
    save_figure(figure, tmp_path / "advice.png")
    drawn_box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    assert min(drawn_box.x0, drawn_box.y0) >= -0.03
    assert drawn_box.x1 <= width + 0.03
    assert drawn_box.y1 <= height + 0.03


def test_combinations_are_tried_with_what_helps_first(monkeypatch):
    looked = []
    original = module._Bench._work_of_whole
    monkeypatch.setattr(
        module._Bench, "_work_of_whole", lambda bench, parts: looked.append(parts) or original(bench, parts)
    )
    drawings = make_glyphs(8, rotation=0, shift=3, scale=0, noise=0.2, random_state=0)
    advice = advise(drawings.images, drawings.labels)
    assert [len(parts) for parts in looked] == sorted(len(parts) for parts in looked)
    for finding in advice.combinations:
        assert finding.n_members <= MAX_MEMBERS
        families = [part.family for part in finding.parts]
        assert len(set(families)) == len(families)
