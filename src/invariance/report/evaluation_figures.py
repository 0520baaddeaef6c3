"""Figures of the predictions of a classifier: whether their probabilities are calibrated, and what changes them."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from invariance.methods.evaluation import Reliability
from invariance.report.figures import BLUE, INK, ORANGE, PALE, printable


def reliability_figure(reliability: Reliability) -> Figure:
    """Draw a reliability diagram: accuracy of predictions by their probability, and their number.

    On the diagonal probabilities are calibrated; below it the classifier is overconfident, above it underconfident.

    Parameters
    ----------
    reliability : Reliability
        For example `Evaluation.reliability`.

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    figure = Figure(figsize=(4.2, 4.4), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    edges, counts, confidence, accuracy = reliability
    starts, widths = edges[:-1], np.diff(edges)
    bar = {"align": "edge", "edgecolor": "white"}
    above.bar(starts, np.nan_to_num(accuracy), widths, color=PALE, **bar)
    above.plot([0, 1], [0, 1], "--", color=INK, linewidth=1, label="calibrated")
    above.plot(confidence, accuracy, "o", color=BLUE, markersize=6, label="these predictions")
    above.set(ylim=(0, 1.03), xlim=(0, 1), ylabel="accuracy")
    figure.legend(frameon=False, fontsize=9, loc="outside upper center", ncols=2, labelcolor=INK)
    bars = below.bar(starts, counts, widths, color=BLUE, **bar)
    below.bar_label(bars, [f"{count}" if count else "" for count in counts], fontsize=8, padding=1, color=INK)
    below.set(
        xlabel="probability of the predicted class", ylabel="number", ylim=(0, 1.25 * max(counts.max(), 1)), yticks=[]
    )
    below.xaxis.set_major_formatter(PercentFormatter(1))
    above.yaxis.set_major_formatter(PercentFormatter(1))
    for axes in (above, below):
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def response_figure(degrees: np.ndarray, probabilities: np.ndarray, label: str, ticks: Sequence[float]) -> Figure:
    """Draw the probability of the true class against the degree to which images were changed.

    Thin lines are images, the thick line is their mean; a horizontal line means that the change does not matter.

    Parameters
    ----------
    degrees : ndarray of shape (T,)
        Degrees of the change, in any order.
    probabilities : ndarray of shape (n, T)
        Probability of the true class of each image at each degree.
    label : str
        What the degrees are.
    ticks : sequence of float
        Degrees that are labelled.

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    order = np.argsort(degrees)
    figure = Figure(figsize=(3.4, 2.6), layout="constrained")
    axes = figure.subplots()
    axes.plot(degrees[order], probabilities[:, order].T, color=BLUE, alpha=0.3, linewidth=1)
    axes.plot(degrees[order], probabilities[:, order].mean(axis=0), color=ORANGE, linewidth=2.6)
    axes.set_xticks(list(ticks), [f"{tick:g}" for tick in ticks])
    axes.set(xlabel=printable(label), ylabel="probability of true class", ylim=(0, 1.03))
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    axes.spines[["top", "right"]].set_visible(False)
    return figure
