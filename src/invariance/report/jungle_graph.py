"""A jungle as a graph: layers from top to bottom, and edges as wide as the number of samples on them.

A node is, from top to bottom, the image of its filter, a bar of its class shares, and the number of samples that
reached it. All lengths are in inches.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch, PathPatch, Rectangle
from matplotlib.path import Path
from sklearn.utils.validation import check_is_fitted

from invariance._core.checks import check_count
from invariance.jungles.dag import Dag, cut_below
from invariance.report.figures import GREY, INK, LETTER_WIDTH, PALE, SMALL_SIZE, TITLE_SIZE, class_colours, printable
from invariance.report.jungle_figures import filter_image

COLUMN, ROW = 0.82, 1.5  # distances between nodes
NODE_WIDTH, IMAGE, BAR, TEXT = 0.56, 0.5, 0.13, 0.17  # width of a node, heights of its parts
MIN_WIDTH = 5.0  # room for the title
MARGIN = 0.05
MAX_COLUMNS = 24  # nodes of a layer that is legible on a page
MAX_LINE, MIN_LINE = 7.0, 0.7  # width in points of an edge with all samples, and of one with few
MAX_FLOW_ROUNDS = 100  # iterative proportional fitting converges in far fewer


class Side(NamedTuple):
    """How an edge is drawn, and where between left (-1) and right (1) it leaves its node."""

    colour: str
    line: str
    place: float


SIDES = {"below": Side(PALE, "-", -1.0), "above": Side(GREY, "-", 1.0), "passed on": Side(GREY, ":", 0.0)}


class Edge(NamedTuple):
    """From a node to a child; its side is "below" or "above" the threshold, or "passed on" by a node without filter."""

    parent: int
    child: int
    side: str


def jungle_figure(model: Any, jungle: int = 0, max_layers: int = 6, class_names: Sequence[str] | None = None) -> Figure:
    """Draw the first layers of a jungle as a graph.

    Parameters
    ----------
    model : JungleClassifier, TreeClassifier or InvariantFeatures
        A fitted model.
    jungle : int, default=0
        Index of the jungle in the model.
    max_layers : int, default=6
        Maximum number of layers; layers from the first that is too wide to be legible are left out as well.
    class_names : sequence of str, default=None
        Names for the legend; None takes the classes of the model.

    Returns
    -------
    figure : matplotlib.figure.Figure
        Edges are as wide as the number of samples on them. A node with several parents results from merged leaves.
    """
    check_is_fitted(model)
    if check_count("jungle", jungle, at_least=0) >= len(model.dags_):
        raise ValueError(f"jungle must be below the number of jungles, {len(model.dags_)}; got {jungle}.")
    whole = model.dags_[jungle]
    dag = _legible_part(whole, check_count("max_layers", max_layers))
    names = [printable(name) for name in (model.classes_ if class_names is None else class_names)]
    colours = class_colours(len(names))
    images = (dag.filters @ model.reduced_.basis.T).reshape(-1, *model.reduced_.image_shape)
    edges = list_edges(dag)
    x, tops = _place_nodes(dag, edges)
    figure, axes = _empty_figure(x, tops, dag, whole, jungle)
    for edge, flow in zip(edges, edge_flows(dag, edges).sum(axis=1), strict=True):
        _draw_edge(axes, edge, x, tops, flow / dag.histogram[0].sum())
    for node in range(dag.n_nodes):
        image = filter_image(images[dag.feature[node]]) if dag.feature[node] >= 0 else None
        _draw_node(axes, node, x[node], tops[node], dag.histogram[node], colours, image)
    kinds = [Patch(color=colour, label=name) for colour, name in zip(colours, names, strict=True)]
    n_columns = max(1, int(figure.get_size_inches()[0] // (0.8 + LETTER_WIDTH * max(map(len, names)))))
    figure.legend(handles=kinds, loc="outside lower center", ncols=n_columns, frameon=False, fontsize=SMALL_SIZE)
    return figure


def list_edges(dag: Dag) -> list[Edge]:
    """Return the edges of a graph, in the order of the nodes that they start from."""
    edges = []
    for node in np.flatnonzero(dag.left >= 0).tolist():
        if dag.feature[node] < 0:
            edges.append(Edge(node, int(dag.left[node]), "passed on"))
        else:
            edges += [Edge(node, int(dag.left[node]), "below"), Edge(node, int(dag.right[node]), "above")]
    return edges


def edge_flows(dag: Dag, edges: Sequence[Edge]) -> np.ndarray:
    """Return the weight (n_edges, n_classes) of the samples on every edge.

    The graph stores how many samples reached its nodes, and flows must add up to that. Where merged nodes leave a
    choice, iterative proportional fitting finds the flows of maximum entropy.
    """
    flows = np.ones((len(edges), dag.histogram.shape[1]))
    ends = [np.array([edge[end] for edge in edges], dtype=int) for end in (0, 1)]
    for _ in range(MAX_FLOW_ROUNDS):
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
    """Centre (n,) and top (n,) of every node: layers are evenly spaced, in the order of the mean place of parents."""
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
                # A quarter of a column to the side keeps the child of the lower responses on the left.
                parents[edge.child].append(x[edge.parent] + 0.25 * COLUMN * SIDES[edge.side].place)
    return x, -ROW * dag.layer.astype(float)


def _empty_figure(x, tops, dag: Dag, whole: Dag, jungle: int):
    """A figure with titles, on whose axes one unit is one inch."""
    bottom = np.min(tops - IMAGE * (dag.feature >= 0)) - BAR - TEXT - MARGIN
    width, height = max(np.ptp(x) + COLUMN, MIN_WIDTH), MARGIN - bottom
    figure = Figure(figsize=(width + 2 * MARGIN, height + 1.0), layout="constrained")
    axes = figure.subplots()
    axes.set(xlim=(-width / 2, width / 2), ylim=(bottom, MARGIN), aspect="equal")
    axes.axis("off")
    n_shown, n_layers = int(dag.layer.max()) + 1, int(whole.layer.max()) + 1
    extent = f"all {n_layers} layers" if n_shown == n_layers else f"the first {n_shown} of {n_layers} layers"
    figure.suptitle(f"Jungle {jungle}, {extent}: {dag.n_nodes} of {whole.n_nodes} nodes", fontsize=TITLE_SIZE)
    axes.set_title("dark: response above the threshold; pale: below; dotted: no filter", fontsize=SMALL_SIZE, color=INK)
    return figure, axes


def _draw_edge(axes, edge: Edge, x, tops, share: float) -> None:
    side = SIDES[edge.side]
    start = x[edge.parent] + 0.3 * NODE_WIDTH * side.place
    image = 0 if edge.side == "passed on" else IMAGE
    above, below = tops[edge.parent] - image - BAR - TEXT, tops[edge.child]
    middle = (above + below) / 2
    points = [(start, above), (start, middle), (x[edge.child], middle), (x[edge.child], below)]
    axes.add_patch(
        PathPatch(
            Path(points, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4]),
            facecolor="none",
            edgecolor=side.colour,
            linestyle=side.line,
            linewidth=max(MIN_LINE, MAX_LINE * share),
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
