"""A jungle as a graph: layers from top to bottom, class shares and filters at the nodes, edges as wide as their flow.

All lengths are inches. A node is, from top to bottom, the image of its filter, a bar of its class shares, and the
number of samples that reached it.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch, PathPatch, Rectangle
from matplotlib.path import Path
from sklearn.utils.validation import check_is_fitted

from invariance._core.checks import check_count
from invariance.jungles.dag import Dag, cut_below
from invariance.report.figures import INK, PALE
from invariance.report.jungle_figures import filter_image

COLUMN, ROW = 0.82, 1.5
NODE_WIDTH, IMAGE, BAR, TEXT = 0.56, 0.5, 0.13, 0.17
# Layers wider than this are not legible on a page.
MAX_COLUMNS = 24
WIDEST_EDGE, THINNEST_EDGE = 7.0, 0.7
# Scaling flows to their sums and back settles in far fewer rounds than this.
FLOW_ROUNDS = 100
QUIET = "#6b7684"
SIDES = {"below": (PALE, "-"), "above": (QUIET, "-"), "handed on": (QUIET, ":")}


class Edge(NamedTuple):
    """From a node to a child; side "below" or "above" the threshold, or "handed on" by a node without a filter."""

    parent: int
    child: int
    side: str


def jungle_figure(model: Any, jungle: int = 0, max_layers: int = 6, class_names: Sequence[str] | None = None) -> Figure:
    """Jungle number `jungle` of a fitted model: its first layers, at most `max_layers` and as many as are legible.

    Edges are as wide as the number of samples on them. A node with several parents is a merger of leaves.
    """
    check_is_fitted(model)
    if check_count("jungle", jungle, at_least=0) >= len(model.dags_):
        raise ValueError(f"jungle must be below the number of jungles, {len(model.dags_)}; got {jungle}.")
    whole = model.dags_[jungle]
    dag = _legible_part(whole, check_count("max_layers", max_layers))
    names = [str(name) for name in (model.classes_ if class_names is None else class_names)]
    colours = _class_colours(len(names))
    images = (dag.filters @ model.reduced_.basis.T).reshape(-1, *model.reduced_.image_shape)
    edges = list_edges(dag)
    x, tops = _place_nodes(dag, edges)
    figure, axes = _paper(x, tops, dag, whole, jungle)
    for edge, flow in zip(edges, edge_flows(dag, edges).sum(axis=1), strict=True):
        _draw_edge(axes, edge, x, tops, flow / dag.histogram[0].sum())
    for node in range(dag.n_nodes):
        image = filter_image(images[dag.feature[node]]) if dag.feature[node] >= 0 else None
        _draw_node(axes, node, x[node], tops[node], dag.histogram[node], colours, image)
    kinds = [Patch(color=colour, label=name) for colour, name in zip(colours, names, strict=True)]
    n_columns = max(1, int(figure.get_size_inches()[0] // (0.8 + 0.085 * max(map(len, names)))))
    figure.legend(handles=kinds, loc="outside lower center", ncols=n_columns, frameon=False, fontsize=9)
    return figure


def list_edges(dag: Dag) -> list[Edge]:
    """The edges of a graph, in the order of the nodes they start from."""
    edges = []
    for node in np.flatnonzero(dag.left >= 0).tolist():
        if dag.feature[node] < 0:
            edges.append(Edge(node, int(dag.left[node]), "handed on"))
        else:
            edges += [Edge(node, int(dag.left[node]), "below"), Edge(node, int(dag.right[node]), "above")]
    return edges


def edge_flows(dag: Dag, edges: Sequence[Edge]) -> np.ndarray:
    """Weight of the samples of every class on every edge: (E, K).

    A graph knows how many samples reached its nodes, and flows must add up to that. Where mergers leave a choice, this
    is the most even one (iterative proportional fitting).
    """
    flows = np.ones((len(edges), dag.histogram.shape[1]))
    ends = [np.array([edge[end] for edge in edges], dtype=int) for end in (0, 1)]
    for _ in range(FLOW_ROUNDS):
        for nodes in ends:
            sums = np.zeros_like(dag.histogram)
            np.add.at(sums, nodes, flows)
            flows *= (dag.histogram / np.where(sums > 0, sums, 1))[nodes]
    return flows


def _legible_part(dag: Dag, max_layers: int) -> Dag:
    """The first layers, at most `max_layers`, none of them wider than `MAX_COLUMNS`, but two at least."""
    n_layers = int(dag.layer.max()) + 1
    widths = np.bincount(dag.layer, minlength=n_layers)
    too_wide = np.flatnonzero(widths > MAX_COLUMNS)
    n_shown = min(max_layers, n_layers, max(2, int(too_wide[0])) if len(too_wide) else n_layers)
    return cut_below(dag, n_shown - 1)


def _place_nodes(dag: Dag, edges: Sequence[Edge]) -> tuple[np.ndarray, np.ndarray]:
    """Centre (n,) and top (n,) of every node: a layer is spread evenly, in the order of the parents' mean place."""
    x = np.zeros(dag.n_nodes)
    parents: list[list[float]] = [[] for _ in range(dag.n_nodes)]
    for layer in range(int(dag.layer.max()) + 1):
        nodes = np.flatnonzero(dag.layer == layer)
        order = nodes[
            np.argsort([float(np.mean(parents[node])) if parents[node] else 0.0 for node in nodes], kind="stable")
        ]
        x[order] = (np.arange(len(order)) - (len(order) - 1) / 2) * COLUMN
        for edge in edges:
            if dag.layer[edge.parent] == layer:
                # Half a column aside keeps the child of the lower responses on the left.
                aside = {"below": -0.25, "above": 0.25, "handed on": 0.0}[edge.side] * COLUMN
                parents[edge.child].append(x[edge.parent] + aside)
    return x, -ROW * dag.layer.astype(float)


def _paper(x, tops, dag: Dag, whole: Dag, jungle: int):
    """An empty figure on which one unit is one inch, and what it shows in words above."""
    bottom = np.min(tops - IMAGE * (dag.feature >= 0)) - BAR - TEXT - 0.05
    width, height = max(np.ptp(x) + COLUMN, 5.0), 0.05 - bottom
    figure = Figure(figsize=(width + 0.1, height + 1.0), layout="constrained")
    axes = figure.subplots()
    axes.set(xlim=(-width / 2, width / 2), ylim=(bottom, 0.05), aspect="equal")
    axes.axis("off")
    n_shown, n_layers = int(dag.layer.max()) + 1, int(whole.layer.max()) + 1
    extent = f"all {n_layers} layers" if n_shown == n_layers else f"the first {n_shown} of {n_layers} layers"
    figure.suptitle(f"Jungle {jungle}, {extent}: {dag.n_nodes} of {whole.n_nodes} nodes", fontsize=11)
    axes.set_title("dark: response above the threshold; pale: below; dotted: no filter", fontsize=9, color=INK)
    return figure, axes


def _draw_edge(axes, edge: Edge, x, tops, share: float) -> None:
    start = x[edge.parent] + {"below": -0.3, "above": 0.3, "handed on": 0.0}[edge.side] * NODE_WIDTH
    image = 0 if edge.side == "handed on" else IMAGE
    above, below = tops[edge.parent] - image - BAR - TEXT, tops[edge.child]
    middle = (above + below) / 2
    colour, style = SIDES[edge.side]
    points = [(start, above), (start, middle), (x[edge.child], middle), (x[edge.child], below)]
    axes.add_patch(
        PathPatch(
            Path(points, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4]),
            facecolor="none",
            edgecolor=colour,
            linestyle=style,
            linewidth=max(THINNEST_EDGE, WIDEST_EDGE * share),
            gid=f"edge-{edge.parent}-{edge.child}",
        )
    )


def _draw_node(axes, node: int, x: float, top: float, histogram: np.ndarray, colours, image) -> None:
    if image is not None:
        height, width = np.array(image.shape[:2]) * IMAGE / max(image.shape[:2])
        extent = (x - width / 2, x + width / 2, top - IMAGE, top - IMAGE + height)
        axes.imshow(image, extent=extent, zorder=3, interpolation="nearest")
        top -= IMAGE
    total = histogram.sum()
    ends = x + NODE_WIDTH * (np.append(0, np.cumsum(histogram)) / max(total, 1e-12) - 0.5)
    for start, end, colour in zip(ends[:-1], ends[1:], colours, strict=True):
        axes.add_patch(Rectangle((start, top - BAR), end - start, BAR, facecolor=colour, zorder=3))
    corner = (x - NODE_WIDTH / 2, top - BAR)
    frame = {"facecolor": "none", "edgecolor": INK, "linewidth": 0.8}
    axes.add_patch(Rectangle(corner, NODE_WIDTH, BAR, zorder=4, gid=f"node-{node}", **frame))
    axes.text(x, top - BAR - TEXT / 2, f"{total:.0f}", ha="center", va="center", fontsize=8, color=INK, zorder=4)


def _class_colours(n_classes: int) -> list:
    if n_classes <= 10:
        return list(mpl.colormaps["tab10"].colors[:n_classes])
    return [mpl.colormaps["turbo"](share) for share in np.linspace(0.03, 0.97, n_classes)]
