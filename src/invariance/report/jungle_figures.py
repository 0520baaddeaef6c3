"""Figures of a fitted jungle: its filters, which transformation won for an image, and how it grew.

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

# Characters of a title that fit above an image of one inch.
TITLE_WIDTH = 14


class NamedFilter(NamedTuple):
    """A filter θ (h, w) or (h, w, c), the node it belongs to, and the weight of the samples that reached that node."""

    theta: np.ndarray
    jungle: int
    node: int
    n_samples: float

    @property
    def name(self) -> str:
        """jungle.node."""
        return f"{self.jungle}.{self.node}"


def largest_filters(model: Any, n: int = 24) -> list[NamedFilter]:
    """At most `n` filters, those that most samples reached first: the roots, then the layers below."""
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
    """A filter (h, w) or (h, w, c) as a colour image (h, w', 3) in [0, 1], on its own symmetric scale.

    One channel: red is above zero, blue below, white is zero. Three: their colours about a middle grey. Any other
    number of channels: one channel beside the other.
    """
    shares = 0.5 + 0.5 * theta / max(np.abs(theta).max(), np.finfo(np.float32).tiny)
    if theta.ndim == 3 and theta.shape[2] == 3:
        return shares
    if theta.ndim == 3:
        shares = np.concatenate(np.moveaxis(shares, 2, 0), axis=1)
    return mpl.colormaps["RdBu_r"](shares)[..., :3]


def filters_figure(model: Any, n: int = 24, columns: int = 8) -> Figure:
    """The filters of the `n` nodes that most samples reached, each with its name and how many samples these were."""
    chosen = largest_filters(model, n)
    titles = [f"{f.name}\n{f.n_samples:.0f} images" for f in chosen]
    return image_grid_figure([filter_image(f.theta) for f in chosen], titles, columns=columns)


def winners_figure(model: Any, images: np.ndarray, filter_index: int = 0) -> Figure:
    """For each image: the image, the version φ(x) whose response is largest, and the filter it responds to.

    `filter_index` counts the filters in the order of `filters_figure`.
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
    versions = operators.apply(images)[np.arange(len(images)), winners]
    titles = [
        *[f"image {i}" for i in range(len(images))],
        *[textwrap.fill(describe_member(operators.members[t]), TITLE_WIDTH) for t in winners],
        *[f"filter {jungle}.{node}\nresponse {value:.2f}" for value in responses.max(axis=0)],
    ]
    photos = [*_brightness(np.concatenate([images, versions])), *[filter_image(theta)] * len(images)]
    return image_grid_figure(photos, titles, columns=len(images))


def growth_figure(model: Any) -> Figure:
    """Leaves and, where samples were held out, their loss, layer by layer for every jungle; marks the depth kept."""
    check_is_fitted(model)
    panels = {"leaves": "n_leaves"}
    if not all(np.isnan(layer.loss) for curve in model.growth_curves_ for layer in curve):
        panels["Brier score, samples held out"] = "loss"
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


def _brightness(images: np.ndarray) -> np.ndarray:
    """Images as they are if they lie in [0, 1], else all stretched alike to lie there."""
    low, high = images.min(), images.max()
    if low >= 0 and high <= 1:
        return images
    return (images - low) / max(high - low, np.finfo(np.float32).tiny)
