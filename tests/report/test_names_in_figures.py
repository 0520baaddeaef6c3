"""Names of classes, files and kernels are drawn as they are: no formulas, no warnings, whatever they hold."""

import io
import xml.etree.ElementTree as ElementTree
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest

from invariance import report
from invariance.jungles import JungleClassifier
from invariance.report.figures import drawing
from invariance.transformations import InvarianceProfile

NAMES = [r"$\frac{$", r"5$ or 6$ $x_1$", r"a\$b$c", "🍃\x1b[0m"]
SHOWN = [*NAMES[:3], r"🍃\x1b[0m"]
IMAGES = np.random.default_rng(0).random((4, 8, 8)).astype(np.float32)
SHARES = np.full((4, 4), 0.25)
WITHOUT_NAMES = {
    "advice_figure",
    "pixel_advice_figure",
    "reliability_figure",
    "word_figure",
    "filters_figure",
    "growth_figure",
    "winners_figure",
    "save_figure",
}


def draw_jungle():
    model = JungleClassifier(n_jungles=1, max_depth=2, random_state=0).fit(
        np.tile(IMAGES, (5, 1, 1)), np.arange(20) % 4
    )
    return report.jungle_figure(model, class_names=NAMES)


def draw_weights():
    return report.weights_figure(SimpleNamespace(task_names_=NAMES, shares_=SHARES, kernel_names_=NAMES), NAMES[0])


def draw_profiles():
    profile = InvarianceProfile(np.linspace(0, 1, 9), np.linspace(1, 2, 9))
    return report.profile_figure(dict.fromkeys(NAMES, profile), NAMES[0])


FIGURES = {
    "confusion_figure": lambda: report.confusion_figure(np.eye(4), NAMES, NAMES[0]),
    "bar_figure": lambda: report.bar_figure(dict.fromkeys(NAMES, 1.0), NAMES[0], NAMES[1]),
    "image_grid_figure": lambda: report.image_grid_figure(IMAGES, NAMES, NAMES[0]),
    "orbit_figure": lambda: report.orbit_figure(IMAGES, " and ".join(NAMES)),
    "jungle_figure": draw_jungle,
    "word_map_figure": lambda: report.word_map_figure(
        SimpleNamespace(word_map=lambda *_: IMAGES[0]), IMAGES[0], " and ".join(NAMES)
    ),
    "weights_figure": draw_weights,
    "weights_by_size_figure": lambda: report.weights_by_size_figure(np.ones((2, 3, 4)), [1, 2], NAMES, NAMES[0]),
    "similarity_figure": lambda: report.similarity_figure(np.eye(4), NAMES, NAMES[0]),
    "profile_figure": draw_profiles,
    "response_figure": lambda: report.response_figure(np.arange(3), np.ones((2, 3)), " and ".join(NAMES), [0, 1]),
}


def texts_of(figure):
    """All texts that a figure shows."""
    buffer = io.BytesIO()
    with drawing(), mpl.rc_context({"svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg")
    elements = ElementTree.fromstring(buffer.getvalue()).iter("{http://www.w3.org/2000/svg}text")
    return ["".join(element.itertext()) for element in elements]


def test_all_figures_are_tried():
    assert {name for name in report.__all__ if name.endswith("_figure")} == {*FIGURES, *WITHOUT_NAMES}


@pytest.mark.parametrize("name", FIGURES)
def test_names_are_drawn_as_they_are(name):
    shown = "\n".join(texts_of(FIGURES[name]()))
    assert [name for name in SHOWN if name not in shown] == []


def test_saving_a_character_that_the_font_lacks_needs_no_warning(tmp_path):
    for ending in ("png", "svg", "pdf", "jpg"):
        report.save_figure(FIGURES["confusion_figure"](), tmp_path / f"x.{ending}")
    report.Report("x").figure(FIGURES["confusion_figure"](), "x").save(tmp_path / "x.html")
    assert len(list(tmp_path.iterdir())) == 5
