"""Advice on pixels says what is true of tasks of which it is known what matters."""

import numpy as np
import pytest

from invariance.methods import advise_pixels
from invariance.methods import pixel_advice as module
from invariance.methods.findings import Verdict
from invariance.methods.pixel_findings import CANDIDATES, DEFAULT_TEXT, compare_runs
from invariance.report import pixel_advice_figure, save_figure
from invariance.report.advice_figures import COLOURS
from invariance.report.pixel_advice_page import pixel_advice_report
from invariance.segmentation import JungleSegmenter, trials
from invariance.segmentation.segmenter import DEFAULT_TRANSFORMATIONS
from invariance.transformations.parsing import format_transformations, parse_transformations
from tests.segmentation.pixel_tasks import dots_in_uneven_light, handed_figures, striped_squares


def advise(task, texts, n_runs=6, **settings):
    """The advice on a task, with few candidates, runs and trees, for time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CANDIDATES", [candidate for candidate in CANDIDATES if candidate.text in texts])
        patch.setattr(trials, "N_RUNS", n_runs)
        patch.setattr(trials, "N_TREES", 30)
        return advise_pixels(*task, patch_size=11, **{"max_pixels": 900} | settings)


def verdicts(advice):
    return {finding.text: finding.verdict for finding in advice.findings}


@pytest.fixture(scope="module")
def handed():
    return advise(handed_figures(6), ("rotations:16", "reflections"), unlabelled=0)


def test_rotations_help_and_mirror_images_hurt_where_the_hand_matters_and_figures_are_turned(handed):
    assert verdicts(handed) == {"rotations:16": Verdict.HELPS, "reflections": Verdict.HURTS}
    assert handed.text == "rotations:16"
    assert handed.advised.accuracy > handed.plain.accuracy + 0.05
    assert "all rotations" in handed.sentence
    assert [part.text for part in handed.plan] == ["rotations:16"]
    assert (handed.unit, handed.n_units, handed.n_images, handed.n_runs) == ("images", 6, 6, 6)
    assert handed.n_learned == 200
    assert any(reason.startswith("Hurts: mirror images") for reason in handed.reasons)


def test_rotations_hurt_where_the_orientation_matters():
    advice = advise(striped_squares(), ("rotations:16", "rotations:5:15"))
    assert verdicts(advice)["rotations:16"] == Verdict.HURTS
    assert verdicts(advice)["rotations:5:15"] != Verdict.HURTS
    assert "rotations:16" not in advice.text
    assert all("rotations:16" not in part.text for part in advice.plan)


def test_light_helps_where_it_is_uneven():
    advice = advise(dots_in_uneven_light(), ("rotations:16", "illumination:8"), n_runs=8, unlabelled=0)
    assert verdicts(advice)["illumination:8"] == Verdict.HELPS
    assert advice.text.endswith("illumination:8")
    assert str(advice.plan[-1].treatment) == "normalized"


@pytest.mark.parametrize("seed", range(2))
def test_nothing_helps_or_hurts_where_labels_are_noise(seed):
    images, masks = handed_figures(seed=seed)
    rng = np.random.default_rng(seed)
    noise = [np.where(mask > 0, np.kron(rng.integers(1, 3, (6, 6)), np.ones((16, 16), int)), 0) for mask in masks]
    advice = advise((images, noise), ("rotations:16", "reflections", "illumination:8"), unlabelled=0, max_pixels=400)
    assert set(verdicts(advice).values()) == {Verdict.UNCLEAR}
    assert advice.combinations == []
    assert advice.text == DEFAULT_TEXT
    assert "default" in advice.sentence


def test_the_advice_is_the_same_for_any_number_of_jobs_and_depends_on_the_seed():
    task = striped_squares()
    one, two, other = (
        advise(task, ("rotations:16",), n_runs=3, n_jobs=n_jobs, random_state=seed)
        for n_jobs, seed in ((1, 0), (2, 0), (1, 1))
    )
    np.testing.assert_array_equal(one.findings[0].shares, two.findings[0].shares)
    assert one.plain.accuracy == two.plain.accuracy
    assert not np.array_equal(one.findings[0].shares, other.findings[0].shares)


def test_the_first_advice_among_findings_without_help_is_the_default_of_the_segmenter():
    assert JungleSegmenter().transformations is None
    assert repr(parse_transformations(DEFAULT_TEXT)) == repr(DEFAULT_TRANSFORMATIONS)
    assert DEFAULT_TEXT in [candidate.text for candidate in CANDIDATES]


@pytest.mark.parametrize(("gain", "expected"), [(0.0, "identity"), (0.03, DEFAULT_TEXT), (-0.3, "identity")])
def test_where_nothing_helps_the_default_stays_unless_it_hurts_or_makes_no_difference(gain, expected, handed):
    spread = max(gain, 1e-4)  # a gain that is not certain, otherwise certain
    difference = compare_runs(np.array([gain, gain - spread, gain + spread]), 6)
    default = next(finding for finding in handed.findings if finding.text == DEFAULT_TEXT)
    finding = default._replace(difference=difference).with_p(difference.p)
    assert module._advise_default([finding], handed.plain).text == expected


def test_what_is_added_must_pay_and_of_equals_the_smallest_is_advised(monkeypatch):
    shares = {
        "identity": 0.5,
        "rotations:16": 0.7,
        "rotations:5:15": 0.7,
        "reflections": 0.6,
        "scales:5:2": 0.4,
        "illumination:8": 0.6,
        "reflections,rotations:5:15": 0.7,
        "rotations:5:15,illumination:8": 0.8,
    }

    def score(self, phi):
        text = format_transformations(phi)
        return shares.get(text, 0.5) + np.random.default_rng(len(text)).normal(0, 0.001, (10, 2))

    monkeypatch.setattr(trials.PixelTrials, "score", score)
    advice = advise_pixels(*striped_squares(), patch_size=9, max_pixels=200)
    assert verdicts(advice)["scales:5:2"] == Verdict.HURTS
    assert advice.text == "rotations:5:15,illumination:8"
    assert "reflections,rotations:5:15" in [finding.text for finding in advice.combinations]
    assert not any("scales:5:2" in finding.text for finding in advice.combinations)


def test_the_corrected_t_test_by_hand():
    gains = np.array([0.02, 0.04, 0.03, 0.03])
    difference = compare_runs(gains, n_folds=5)
    error = np.sqrt(gains.var(ddof=1) * (1 / 4 + 1 / 4))
    assert difference.share == pytest.approx(0.03)
    assert difference.lead == pytest.approx(0.03 / error)
    assert difference.high - difference.low == pytest.approx(2 * 3.182446 * error)  # t with three degrees of freedom
    assert difference.p == pytest.approx(0.0138, abs=2e-4)
    same = compare_runs(np.zeros(5), 5)
    assert (same.low, same.high, same.p) == (0, 0, 1)


def test_the_figure_shows_every_finding_with_its_interval_and_runs(handed, tmp_path):
    figure = pixel_advice_figure(handed)
    axes = figure.axes[0]
    expected = [*handed.ranked(), *handed.ranked_combinations()]
    labels = axes.get_yticklabels()
    assert [label.get_text() for label in labels] == [finding.name for finding in expected]
    assert [label.get_text() for label in labels if label.get_fontweight() == "bold"] == [handed.advised.name]
    _, *drawn = [line for line in axes.lines if len(line.get_xdata())]
    for number, finding in enumerate(expected):
        interval, point, runs = drawn[3 * number : 3 * number + 3]
        np.testing.assert_allclose(interval.get_xdata(), [100 * finding.difference.low, 100 * finding.difference.high])
        np.testing.assert_allclose(point.get_xdata(), [100 * finding.difference.share])
        np.testing.assert_allclose(runs.get_xdata(), 100 * finding.gains)
        assert point.get_color() == COLOURS[finding.verdict]
    save_figure(figure, tmp_path / "advice.png")
    box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    assert min(box.x0, box.y0) >= -0.03
    assert box.x1 <= width + 0.03
    assert box.y1 <= height + 0.03


def test_the_page_holds_the_advice_the_plan_and_the_command(handed):
    page = pixel_advice_report(handed, "invariance fit-pixels a b", {"seed": 0}).to_html()
    for text in ("all rotations", "hurts", "rotations:16", "invariance fit-pixels a b", "exact", "200 at most"):
        assert text in page
