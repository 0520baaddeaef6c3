"""Figures for reports: labelled, sized to their content, made without pyplot so that nothing global changes.

All have a white background, on which they are legible whatever surrounds them.
"""

import base64
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from invariance._core.files import atomic_path

BLUE, ORANGE, GREEN, RED, INK, PALE = "#2b6ca3", "#d9822b", "#2e8b57", "#c0392b", "#1c2430", "#c9d6e3"
# Fixed element names and no date: the same figure is the same file. Letters as outlines: no font is needed to show it.
SVG_STYLE = {"svg.hashsalt": "invariance", "svg.fonttype": "path"}


def confusion_figure(counts: np.ndarray, class_names: Sequence[str], title: str = "") -> Figure:
    """Counts (classes, classes) of true class by predicted class; shaded by the share of the true class."""
    counts = np.asarray(counts)
    class_names, n_classes = [printable(name) for name in class_names], len(class_names)
    longest = max(len(str(name)) for name in class_names)
    side = max(1.8, 0.62 * n_classes)
    figure = Figure(figsize=(side + 0.9 + 0.085 * longest, side + 0.9 + 0.06 * longest), layout="constrained")
    axes = figure.subplots()
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    for (row, column), count in np.ndenumerate(counts):
        ink = "white" if shares[row, column] > 0.55 else INK
        axes.text(column, row, f"{count:g}", ha="center", va="center", color=ink, fontsize=10)
    slant = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"} if longest > 2 else {}
    axes.set_xticks(range(n_classes), class_names, parse_math=False, **slant)
    axes.set_yticks(range(n_classes), class_names, parse_math=False)
    axes.tick_params(length=0)
    axes.set(xlabel="predicted class", ylabel="true class")
    # The title stands above the whole figure: above the axes alone a long one would be cut off.
    figure.suptitle(title, fontsize=11, wrap=True)
    return figure


def printable(name: object) -> str:
    """A name as text that can be drawn and written: bytes of a file system that are no text are spelled out."""
    return str(name).encode("utf-8", "backslashreplace").decode("utf-8")


def bar_figure(values: Mapping[str, float], label: str, title: str = "", limit: float | None = None) -> Figure:
    """Horizontal bars, name -> value, from 0 to `limit`; each bar is labelled with its value."""
    names, heights = list(values), np.array(list(values.values()), dtype=float)
    longest = max(len(name) for name in names)
    figure = Figure(
        figsize=(3.6 + 0.085 * longest, 0.95 + 0.42 * len(names) + 0.25 * bool(title)), layout="constrained"
    )
    axes = figure.subplots()
    bars = axes.barh(names, heights, color=BLUE, height=0.62)
    axes.bar_label(bars, [f"{height:.3g}" for height in heights], padding=4, color=INK)
    axes.invert_yaxis()
    # A seventh more than the longest bar leaves room for its number.
    axes.set_xlim(min(0.0, heights.min() * 1.15), (limit or heights.max() or 1.0) * 1.15)
    axes.set_xlabel(label)
    axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(title, fontsize=11, wrap=True)
    return figure


def image_grid_figure(
    images: Sequence[np.ndarray],
    titles: Sequence[str] | None = None,
    title: str = "",
    columns: int = 8,
    frames: Sequence[str | None] | None = None,
) -> Figure:
    """Images, each (h, w) or (h, w, c), in rows of `columns`, each with its own title and coloured frame if given.

    Values from 0 to 1 are shown from black to white, and values beyond as black or white.
    """
    columns = min(columns, len(images))
    rows = -(-len(images) // columns)
    title_height = 0.15 * max(name.count("\n") + 1 for name in titles) + 0.04 if titles else 0.0
    height, width = np.shape(images[0])[:2]
    tile_height = min(height / width, 3.0) + title_height + 0.06
    # In inches: a tile is one inch wide, and a twentieth is left between two.
    figure = Figure(figsize=(1.05 * columns + 0.05, rows * tile_height + 0.3 * bool(title)), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.025, h_pad=0.02, wspace=0, hspace=0)
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes in grid.flat:
        axes.axis("off")
    for i, (axes, image) in enumerate(zip(grid.flat, images, strict=False)):
        axes.axis("on")
        axes.set(xticks=[], yticks=[])
        axes.imshow(np.clip(image, 0, 1), cmap="gray", vmin=0, vmax=1, interpolation="nearest")
        frame = frames[i] if frames else None
        for spine in axes.spines.values():
            spine.set(color=frame or PALE, linewidth=2.5 if frame else 0.8)
        if titles:
            axes.set_title(titles[i], fontsize=9, pad=3, color=INK)
    figure.suptitle(title, fontsize=11, wrap=True)
    return figure


def orbit_figure(orbit: np.ndarray, title: str = "", columns: int = 8, numbers: Sequence[int] | None = None) -> Figure:
    """The transformed versions (T, h, w) or (T, h, w, c) of one image, numbered; number 0 is the image itself."""
    numbers = range(len(orbit)) if numbers is None else numbers
    titles = ["original" if number == 0 else str(number) for number in numbers]
    frames = [ORANGE if number == 0 else None for number in numbers]
    return image_grid_figure(list(orbit), titles, title, columns, frames)


def save_figure(figure: Figure, path: str | os.PathLike) -> None:
    """Write a figure as PNG, SVG, PDF or JPEG, told by the ending of `path`; atomic."""
    kind = Path(path).suffix.lstrip(".").lower()
    known = figure.canvas.get_supported_filetypes()
    if kind not in known:
        raise ValueError(f"cannot write '{path}': an image's name must end in one of {', '.join(sorted(known))}.")
    with atomic_path(path) as neighbour, mpl.rc_context(SVG_STYLE):
        figure.savefig(neighbour, format=kind, dpi=150)


def svg_address(figure: Figure) -> str:
    """The figure as a `data:` address, an SVG image inside the page itself."""
    buffer = io.BytesIO()
    with mpl.rc_context(SVG_STYLE):
        figure.savefig(buffer, format="svg", metadata={"Date": None}, facecolor="white")
    return "data:image/svg+xml;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
