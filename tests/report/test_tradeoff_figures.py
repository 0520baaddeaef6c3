"""Figures of the weights of a trade-off show what was learned."""

import numpy as np
import pytest

from invariance.report import save_figure, similarity_figure, weights_by_size_figure, weights_figure
from invariance.tradeoff import TradeoffClassifier
from invariance.tradeoff.tasks import make_tasks
from tests.report.drawing import assert_nothing_is_cut_off

KERNELS = ["patches", "rotated", "scaled"]


def make_classifier(n_classes):
    """What the figures read of a fitted classifier."""
    classes = np.array([f"class {letter}" for letter in "abcdefghij"[:n_classes]])
    tasks = make_tasks(np.arange(n_classes), "ovo")
    classifier = TradeoffClassifier("precomputed")
    classifier.classes_, classifier.tasks_, classifier.kernel_names_ = classes, tasks, KERNELS
    classifier.task_names_ = [f"{classes[task.negative]} or {classes[task.positive]}" for task in tasks]
    classifier.weights_ = np.random.default_rng(0).random((len(tasks), 3))
    return classifier


def bars_of(axes):
    """Widths and starts (bars, kernels)."""
    widths = [[bar.get_width() for bar in container] for container in axes.containers]
    starts = [[bar.get_x() for bar in container] for container in axes.containers]
    return np.transpose(widths), np.transpose(starts)


def legend_of(figure):
    (legend,) = figure.legends
    return [text.get_text() for text in legend.get_texts()]


def test_every_task_has_a_stacked_bar_of_its_shares(tmp_path):
    classifier = make_classifier(4)
    figure = weights_figure(classifier, "what matters")
    (axes,) = figure.axes
    widths, starts = bars_of(axes)
    np.testing.assert_allclose(widths, classifier.shares_)
    np.testing.assert_allclose(starts, np.cumsum(classifier.shares_, axis=1) - classifier.shares_, atol=1e-12)
    assert [label.get_text() for label in axes.get_yticklabels()] == classifier.task_names_
    assert axes.yaxis_inverted()
    assert axes.get_xlim() == (0, 1)
    assert axes.get_xlabel() == "share of the weights"
    assert legend_of(figure) == KERNELS
    assert len({container[0].get_facecolor() for container in axes.containers}) == 3
    assert figure.get_suptitle() == "what matters"
    assert_nothing_is_cut_off(figure)
    save_figure(figure, tmp_path / "weights.png")
    assert (tmp_path / "weights.png").stat().st_size > 1000


def test_many_tasks_become_one_bar_per_class():
    classifier = make_classifier(9)
    assert len(classifier.tasks_) == 36
    axes = weights_figure(classifier).axes[0]
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == [f"{name} or another" for name in classifier.classes_]
    takes_part = [4 in (task.positive, task.negative) for task in classifier.tasks_]
    np.testing.assert_allclose(bars_of(axes)[0][4], classifier.shares_[takes_part].mean(axis=0))


def test_weights_against_the_size_of_the_training_set():
    shares = np.random.default_rng(1).dirichlet(np.ones(3), (4, 5))
    sizes = [2, 5, 10, 20]
    figure = weights_by_size_figure(shares, sizes, KERNELS, "more images")
    (axes,) = figure.axes
    assert len(axes.lines) == 3
    for place, line in enumerate(axes.lines):
        assert line.get_xdata().tolist() == sizes
        np.testing.assert_allclose(line.get_ydata(), shares[:, :, place].mean(axis=1))
    assert axes.get_xlabel() == "training images per class"
    assert axes.get_ylabel() == "mean share of the weights"
    assert axes.get_ylim()[0] == 0
    assert legend_of(figure) == KERNELS
    assert figure.get_suptitle() == "more images"
    assert_nothing_is_cut_off(figure)


@pytest.mark.parametrize(
    "names", [["a", "b", "c"], ["a class with a very long name", "b", "the last of three classes"]]
)
def test_similarities_are_a_shaded_matrix(names):
    similarity = np.array([[1.0, 0.2, 0.5], [0.2, 1.0, 0.7], [0.5, 0.7, 1.0]])
    figure = similarity_figure(similarity, names, "alike")
    axes, scale = figure.axes
    (shown,) = axes.images
    assert np.array_equal(shown.get_array(), similarity)
    assert shown.get_clim() == (0, 1)
    assert [label.get_text() for label in axes.get_xticklabels()] == names
    assert [label.get_text() for label in axes.get_yticklabels()] == names
    assert scale.get_ylabel() == "overlap of the weights"
    assert figure.get_suptitle() == "alike"
    assert_nothing_is_cut_off(figure)
