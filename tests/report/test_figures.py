"""Figures are labelled, nothing in them is cut off, and pyplot is never touched."""

import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

from invariance.report import bar_figure, confusion_figure, image_grid_figure, orbit_figure, save_figure
from invariance.report.figures import pick_evenly
from tests.report.drawing import assert_nothing_is_cut_off

LONG = "a class with quite a long name"
IMAGES = np.random.default_rng(0).random((5, 12, 16))

FIGURES = {
    "confusion": lambda: confusion_figure(np.array([[90, 10], [3, 97]]), ["a", "b"], "title"),
    "confusion, long names": lambda: confusion_figure(np.eye(12, dtype=int), [f"{LONG} {i}" for i in range(12)], LONG),
    "confusion, one class": lambda: confusion_figure(np.array([[5]]), ["only"]),
    "bars": lambda: bar_figure({"a": 0.25, LONG: 1.0}, "share", "title"),
    "bars of zero": lambda: bar_figure({"a": 0.0, "b": 0.0}, "share"),
    "negative bars": lambda: bar_figure({"a": -3.0, "b": 2.0}, "gain"),
    "grid": lambda: image_grid_figure(IMAGES, [LONG[:12]] * 5, "title", columns=3),
    "grid of colour": lambda: image_grid_figure([np.zeros((8, 8, 3))]),
    "orbit": lambda: orbit_figure(IMAGES, "title"),
    "orbit of tall images": lambda: orbit_figure(np.zeros((20, 40, 4))),
}


@pytest.mark.parametrize("name", FIGURES)
def test_nothing_is_cut_off(name):
    figure = FIGURES[name]()
    assert isinstance(figure, Figure)
    assert_nothing_is_cut_off(figure)


@pytest.mark.parametrize("name", FIGURES)
def test_no_text_lies_on_another(name):
    figure = FIGURES[name]()
    figure.draw_without_rendering()
    texts = [text for text in figure.findobj(lambda artist: hasattr(artist, "get_text")) if text.get_text().strip()]
    boxes = [text.get_window_extent() for text in texts if text.get_visible() and not text.get_rotation() % 90]
    overlaps = [
        (a, b)
        for i, a in enumerate(boxes)
        for b in boxes[i + 1 :]
        if min(a.x1, b.x1) - max(a.x0, b.x0) > 1 and min(a.y1, b.y1) - max(a.y0, b.y0) > 1
    ]
    assert overlaps == []


def test_pyplot_is_not_imported():
    for make in FIGURES.values():
        make()
    assert "matplotlib.pyplot" not in sys.modules


def test_confusion_shows_the_counts_and_both_axes():
    axes = FIGURES["confusion"]().axes[0]
    assert [text.get_text() for text in axes.texts] == ["90", "10", "3", "97"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("predicted class", "true class")


def test_confusion_of_a_class_without_examples_is_no_division_by_zero():
    figure = confusion_figure(np.array([[3, 0], [0, 0]]), ["a", "b"])
    assert np.isfinite(figure.axes[0].images[0].get_array()).all()


def test_bars_are_labelled_with_their_values():
    axes = bar_figure({"a": 0.25, "b": 12.345}, "share").axes[0]
    assert [text.get_text() for text in axes.texts] == ["0.25", "12.3"]
    assert axes.get_xlabel() == "share"


def test_images_keep_their_absolute_brightness():
    figure = image_grid_figure([np.full((4, 4), 0.5), np.full((4, 4), 7.0), np.full((4, 4), -1.0)])
    shown = [axes.images[0] for axes in figure.axes]
    assert [image.get_array().max() for image in shown] == [0.5, 1.0, 0.0]
    assert all(image.get_clim() == (0, 1) for image in shown)


def test_orbit_marks_the_original_and_numbers_the_rest():
    figure = orbit_figure(IMAGES[:3], numbers=[0, 4, 9])
    assert [axes.get_title() for axes in figure.axes] == ["original", "4", "9"]


@pytest.mark.parametrize("ending", ["png", "svg", "pdf", "jpg"])
def test_saving_writes_the_kind_that_the_name_says(ending, tmp_path):
    path = tmp_path / f"figure.{ending}"
    save_figure(bar_figure({"a": 1.0}, "x"), path)
    beginning = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF", "jpg": b"\xff\xd8"}[ending]
    assert path.read_bytes().startswith(beginning)


def test_saving_as_an_unknown_kind_is_an_error_that_lists_the_known(tmp_path):
    with pytest.raises(ValueError, match=r"figure\.xyz.*png"):
        save_figure(Figure(), tmp_path / "figure.xyz")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("n", "picked"), [(1, [0]), (3, [0, 1, 2]), (9, [0, 2, 5, 8])])
def test_evenly_picked_indices_include_the_first_and_the_last(n, picked):
    assert pick_evenly(n, 4).tolist() == picked
