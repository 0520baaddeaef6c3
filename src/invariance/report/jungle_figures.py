"""Figures of fitted jungles: filters, the transformation with the largest response to an image, and growth.

The model is a `JungleClassifier`, a `TreeClassifier` or `InvariantFeatures`. A filter is named jungle.node.
"""

import textwrap
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from sklearn.utils.validation import check_is_fitted

from invariance._core.checks import check_count
from invariance.images import validate_images
from invariance.jungles.orbits import Orbits
from invariance.report.figures import BLUE, ORANGE, image_grid_figure
from invariance.report.members import describe_member

TITLE_WIDTH = 14  # characters that fit above an image of one inch


class NamedFilter(NamedTuple):
    """A filter θ (h, w) or (h, w, c), its jungle and node, and the weight of the samples that reached the node."""

    theta: np.ndarray
    jungle: int
    node: int
    n_samples: float

    @property
    def name(self) -> str:
        """The name of the filter, jungle.node."""
        return f"{self.jungle}.{self.node}"


def largest_filters(model: Any, n: int = 24) -> list[NamedFilter]:
    """Return at most `n` filters, those that most samples reached first: the roots, then the layers below."""
    check_is_fitted(model)
    filters = model.filters_
    starts = np.cumsum([0] + [len(dag.filters) for dag in model.dags_])
    named = [
        NamedFilter(filters[starts[j] + dag.feature[node]], j, int(node), float(dag.histogram[node].sum()))
        for j, dag in enumerate(model.dags_)
        for node in np.flatnonzero(dag.feature >= 0)
    ]
    if not named:
        raise ValueError("the model has no filters: no jungle found a split. Give it more images, or more classes.")
    return sorted(named, key=lambda f: (-f.n_samples, f.jungle, f.node))[: check_count("n", n)]


def filter_image(theta: np.ndarray) -> np.ndarray:
    """Return a filter (h, w) or (h, w, c) as an RGB image in [0, 1], scaled symmetrically about zero.

    One channel is shown from blue (negative) over white to red (positive), three as colours about a middle grey, and
    any other number of channels side by side.
    """
    shares = 0.5 + 0.5 * theta / max(np.abs(theta).max(), np.finfo(np.float32).tiny)
    if theta.ndim == 3 and theta.shape[2] == 3:
        return shares
    if theta.ndim == 3:
        shares = np.concatenate(np.moveaxis(shares, 2, 0), axis=1)
    return mpl.colormaps["RdBu_r"](shares)[..., :3]


def filters_figure(model: Any, n: int = 24, columns: int = 8) -> Figure:
    """Draw the filters of the nodes that most samples reached, with the number of these samples.

    Parameters
    ----------
    model : JungleClassifier, TreeClassifier or InvariantFeatures
        A fitted model.
    n : int, default=24
        Maximum number of filters.
    columns : int, default=8
        Number of filters per row.

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    chosen = largest_filters(model, n)
    titles = [f"{f.name}\n{f.n_samples:.0f} images" for f in chosen]
    return image_grid_figure([filter_image(f.theta) for f in chosen], titles, columns=columns)


def winners_figure(model: Any, images: np.ndarray, filter_index: int = 0) -> Figure:
    """Draw images, their versions with the largest response to a filter, and the filter.

    Parameters
    ----------
    model : JungleClassifier, TreeClassifier or InvariantFeatures
        A fitted model.
    images : array-like of shape (n, h, w), (n, h, w, c) or (n, d)
    filter_index : int, default=0
        Index of the filter in the order of `filters_figure`.

    Returns
    -------
    figure : matplotlib.figure.Figure
        One column per image: the image x, the version φ(x) that maximizes the response, and the filter.
    """
    check_is_fitted(model)
    images = validate_images(model, images, model.image_shape, reset=False)
    chosen = largest_filters(model, check_count("filter_index", filter_index, at_least=0) + 1)
    if filter_index >= len(chosen):
        raise ValueError(f"filter_index must be below the number of filters, {len(chosen)}; got {filter_index}.")
    theta, jungle, node, _ = chosen[filter_index]
    dag = model.dags_[jungle]
    orbits = Orbits.of(model.reduced_, images).restrict(dag.members)
    responses = orbits.responses(dag.filters[dag.feature[node]])
    winners = dag.members[responses.argmax(axis=0)]
    operators = model.reduced_.phi.operators(images.shape[1:])
    versions = operators.apply(model.reduced_.phi.normalize(images))[np.arange(len(images)), winners]
    titles = [
        *[f"image {i}" for i in range(len(images))],
        *[textwrap.fill(describe_member(operators.members[t]), TITLE_WIDTH) for t in winners],
        *[f"filter {jungle}.{node}\nresponse {value:.2f}" for value in responses.max(axis=0)],
    ]
    shown = [*_stretch(np.concatenate([images, versions])), *[filter_image(theta)] * len(images)]
    return image_grid_figure(shown, titles, columns=len(images))


def growth_figure(model: Any) -> Figure:
    """Draw the number of leaves of every jungle by depth, and the loss on held-out samples if there are any.

    Parameters
    ----------
    model : JungleClassifier, TreeClassifier or InvariantFeatures
        A fitted model.

    Returns
    -------
    figure : matplotlib.figure.Figure
        The depth to which each jungle was pruned is marked.
    """
    check_is_fitted(model)
    panels = {"leaves": "n_leaves"}
    if not all(np.isnan(layer.loss) for curve in model.growth_curves_ for layer in curve):
        panels["Brier score, held-out samples"] = "loss"
    figure = Figure(figsize=(0.6 + 3.6 * len(panels), 3.2), layout="constrained")
    for axes, (label, field) in zip(figure.subplots(1, len(panels), squeeze=False).flat, panels.items(), strict=True):
        for dag, curve in zip(model.dags_, model.growth_curves_, strict=True):
            depths, values = [layer.depth for layer in curve], [getattr(layer, field) for layer in curve]
            axes.plot(depths, values, color=BLUE, alpha=0.45, linewidth=1.4)
            kept = [(d, v) for d, v in zip(depths, values, strict=True) if d == dag.layer.max()]
            axes.plot(*np.reshape(kept, (-1, 2)).T, "o", color=ORANGE, markersize=5)
        axes.set(xlabel="depth", ylabel=label, ylim=(0, None))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(integer=field == "n_leaves"))
        axes.spines[["top", "right"]].set_visible(False)
    kinds = [
        Line2D([], [], color=BLUE, alpha=0.6, label="one jungle"),
        Line2D([], [], marker="o", linestyle="", color=ORANGE, label="depth kept"),
    ]
    figure.legend(handles=kinds, loc="outside lower center", ncols=2, frameon=False)
    return figure


def _stretch(images: np.ndarray) -> np.ndarray:
    """Images scaled together to [0, 1], unless they are in this range already."""
    low, high = images.min(), images.max()
    if low >= 0 and high <= 1:
        return images
    return (images - low) / max(high - low, np.finfo(np.float32).tiny)
