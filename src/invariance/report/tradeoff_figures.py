"""Figures of the kernel weights of a trade-off: by task or class, by size of the training set, and their similarity."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure

from invariance.report.figures import INK, LETTER_WIDTH, TITLE_SIZE, printable
from invariance.tradeoff.reasoning import class_shares

MAX_TASKS_SHOWN = 30  # bars that fit on a page
SMALL_SIZE = 8  # points; names of kernels and tasks are long


def weights_figure(classifier: Any, title: str = "") -> Figure:
    """Draw the shares of the kernels in the weights as one stacked bar per task.

    Parameters
    ----------
    classifier : TradeoffClassifier
        A fitted classifier. If it has more than 30 tasks, there is one bar per class, the mean over its tasks.
    title : str, default=""

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    if len(classifier.task_names_) <= MAX_TASKS_SHOWN:
        names, shares = [printable(name) for name in classifier.task_names_], classifier.shares_
    else:
        names, shares = [printable(f"{name} or another") for name in classifier.classes_], class_shares(classifier)
    longest = max(map(len, names))
    figure = Figure(figsize=(5.6 + 0.08 * longest, 1.3 + 0.26 * len(names)), layout="constrained")
    axes = figure.subplots()
    starts = np.zeros(len(names))
    for place, kernel in enumerate(classifier.kernel_names_):
        axes.barh(names, shares[:, place], left=starts, color=_colour(place), height=0.74, label=printable(kernel))
        starts += shares[:, place]
    axes.invert_yaxis()
    axes.set(xlim=(0, 1), xlabel="share of the weights")
    axes.spines[["top", "right"]].set_visible(False)
    n_cols = min(3, len(classifier.kernel_names_))
    figure.legend(loc="outside lower center", ncols=n_cols, frameon=False, fontsize=SMALL_SIZE, labelcolor=INK)
    figure.suptitle(printable(title), fontsize=TITLE_SIZE, wrap=True)
    return figure


def weights_by_size_figure(
    shares: np.ndarray, sizes: Sequence[int], kernel_names: Sequence[str], title: str = ""
) -> Figure:
    """Draw the mean shares of the kernels against the number of training images, [Varma07] fig. 3.

    Parameters
    ----------
    shares : ndarray of shape (n_sizes, n_tasks, n_kernels)
    sizes : sequence of int
        Training images per class.
    kernel_names : sequence of str
    title : str, default=""

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    figure = Figure(figsize=(6.4, 3.8), layout="constrained")
    axes = figure.subplots()
    for place, name in enumerate(kernel_names):
        axes.plot(
            sizes, shares[:, :, place].mean(axis=1), "o-", color=_colour(place), label=printable(name), markersize=4
        )
    axes.set_xticks(list(sizes))
    axes.set(xlabel="training images per class", ylabel="mean share of the weights", ylim=(0, None))
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside right upper", frameon=False, fontsize=SMALL_SIZE, labelcolor=INK)
    figure.suptitle(printable(title), fontsize=TITLE_SIZE, wrap=True)
    return figure


def similarity_figure(similarity: np.ndarray, names: Sequence[str], title: str = "") -> Figure:
    """Draw the similarity of the weights of tasks or classes as a shaded matrix.

    Parameters
    ----------
    similarity : ndarray of shape (n, n)
        From 0 to 1, for example of `task_similarity`.
    names : sequence of str
        Names of the tasks or classes.
    title : str, default=""

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    names = [printable(name) for name in names]
    n, longest = len(names), max(map(len, names))
    side = max(2.4, 0.3 * n)
    figure = Figure(figsize=(side + 0.9 + LETTER_WIDTH * longest, side + 0.5 + 0.06 * longest), layout="constrained")
    axes = figure.subplots()
    shown = axes.imshow(similarity, cmap="Blues", vmin=0, vmax=1)
    axes.set_xticks(range(n), names, rotation=60, ha="right", rotation_mode="anchor", fontsize=SMALL_SIZE)
    axes.set_yticks(range(n), names, fontsize=SMALL_SIZE)
    figure.colorbar(shown, ax=axes, label="overlap of the weights", shrink=0.8)
    figure.suptitle(printable(title), fontsize=TITLE_SIZE, wrap=True)
    return figure


def _colour(place: int):
    return colormaps["tab20"](place % 20)
