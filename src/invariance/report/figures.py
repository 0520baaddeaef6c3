"""General figures for reports, and what all figures share: colours, sizes, and saving.

Figures are made without pyplot, so that no global state changes, and are sized to their content. They have a white
background, on which they are legible in a light or dark page.
"""

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from invariance._core.escaping import escape_controls
from invariance._core.files import GENERATOR, atomic_path
from invariance._version import __version__

BLUE, ORANGE, GREEN, RED = "#2b6ca3", "#d9822b", "#2e8b57", "#c0392b"
INK, GREY, PALE = "#1c2430", "#6b7684", "#c9d6e3"
TITLE_SIZE, SMALL_SIZE = 11, 9  # points
LETTER_WIDTH = 0.085  # inches, of an average letter at matplotlib's default of 10 points
DOTS_PER_INCH = 150  # of saved pixel images: sharp at twice the size of a screen's 72 to 96
# Fixed element names: the same figure gives the same file. Letters as outlines: no font is needed to show it.
SVG_STYLE = {"svg.hashsalt": "invariance", "svg.fonttype": "path"}
# How each format says what wrote it; for JPEG, Pillow writes a comment.
_MARK = f"{GENERATOR} {__version__}"
MARKS: dict[str, dict[str, Any]] = {
    "png": {"metadata": {"Software": _MARK}},
    "svg": {"metadata": {"Creator": _MARK}},
    "pdf": {"metadata": {"Creator": _MARK}},
    "jpg": {"pil_kwargs": {"comment": _MARK}},
    "jpeg": {"pil_kwargs": {"comment": _MARK}},
}

CONFUSION_CELL = 0.62  # inches
DARK_CELL = 0.55  # share of a class above which white digits are more legible than dark ones
BAR_MARGIN = 1.15  # a seventh more than the longest bar leaves room for its value
TILE_STEP = 1.05  # inches: an image is one inch wide, and a twentieth is left between two
MAX_ASPECT = 3.0  # height of an image in a grid over its width


def confusion_figure(counts: np.ndarray, class_names: Sequence[str], title: str = "") -> Figure:
    """Draw a confusion matrix, shaded by the share of the true class.

    Parameters
    ----------
    counts : array-like of shape (n_classes, n_classes)
        Number of samples by true class (rows) and predicted class (columns).
    class_names : sequence of str
    title : str, default=""

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    counts = np.asarray(counts)
    names, n_classes = [printable(name) for name in class_names], len(class_names)
    longest = max(map(len, names))
    side = max(1.8, CONFUSION_CELL * n_classes)
    # Slanted names below take less height than names at the left take width.
    figure = Figure(figsize=(side + 0.9 + LETTER_WIDTH * longest, side + 0.9 + 0.06 * longest), layout="constrained")
    axes = figure.subplots()
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    for (row, column), count in np.ndenumerate(counts):
        ink = "white" if shares[row, column] > DARK_CELL else INK
        axes.text(column, row, f"{count:g}", ha="center", va="center", color=ink, fontsize=10)
    slant = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"} if longest > 2 else {}
    axes.set_xticks(range(n_classes), names, **slant)
    axes.set_yticks(range(n_classes), names)
    axes.tick_params(length=0)
    axes.set(xlabel="predicted class", ylabel="true class")
    # The title is above the whole figure: above the axes alone a long one would be cut off.
    figure.suptitle(printable(title), fontsize=TITLE_SIZE, wrap=True)
    return figure


def bar_figure(values: Mapping[str, float], label: str, title: str = "", limit: float | None = None) -> Figure:
    """Draw horizontal bars, each labelled with its value.

    Parameters
    ----------
    values : mapping of str to float
        The length of each named bar.
    label : str
        What the values are.
    title : str, default=""
    limit : float, default=None
        Largest possible value; the axis ends there. None: it ends at the longest bar.

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    names, lengths = [printable(name) for name in values], np.array(list(values.values()), dtype=float)
    longest = max(map(len, names))
    height = 0.95 + 0.42 * len(names) + 0.25 * bool(title)
    figure = Figure(figsize=(3.6 + LETTER_WIDTH * longest, height), layout="constrained")
    axes = figure.subplots()
    bars = axes.barh(names, lengths, color=BLUE, height=0.62)
    axes.bar_label(bars, [f"{length:.3g}" for length in lengths], padding=4, color=INK)
    axes.invert_yaxis()
    axes.set_xlim(min(0.0, lengths.min() * BAR_MARGIN), (limit or lengths.max() or 1.0) * BAR_MARGIN)
    axes.set_xlabel(printable(label))
    axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(printable(title), fontsize=TITLE_SIZE, wrap=True)
    return figure


def image_grid_figure(
    images: Sequence[np.ndarray],
    titles: Sequence[str] | None = None,
    title: str = "",
    columns: int = 8,
    frames: Sequence[str | None] | None = None,
) -> Figure:
    """Draw images in rows.

    Parameters
    ----------
    images : sequence of ndarray of shape (h, w) or (h, w, c)
        Values from 0 to 1 are shown from black to white; values outside are clipped.
    titles : sequence of str, default=None
        Title of each image.
    title : str, default=""
        Title of the figure.
    columns : int, default=8
        Number of images per row.
    frames : sequence of str or None, default=None
        Colour of the frame of each image.

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    columns = min(columns, len(images))
    rows = -(-len(images) // columns)
    title_height = 0.15 * max(name.count("\n") + 1 for name in titles) + 0.04 if titles else 0.0
    height, width = np.shape(images[0])[:2]
    tile_height = min(height / width, MAX_ASPECT) + title_height + 0.06
    size = (TILE_STEP * columns + 0.05, rows * tile_height + 0.3 * bool(title))
    figure = Figure(figsize=size, layout="constrained")
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
            axes.set_title(printable(titles[i]), fontsize=SMALL_SIZE, pad=3, color=INK)
    figure.suptitle(printable(title), fontsize=TITLE_SIZE, wrap=True)
    return figure


def orbit_figure(orbit: np.ndarray, title: str = "", columns: int = 8, numbers: Sequence[int] | None = None) -> Figure:
    """Draw the transformed versions of one image.

    Parameters
    ----------
    orbit : ndarray of shape (T, h, w) or (T, h, w, c)
    title : str, default=""
    columns : int, default=8
        Number of images per row.
    numbers : sequence of int, default=None
        The members of Φ that the versions belong to; number 0 is marked as the original. None: 0 to T - 1.

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    numbers = range(len(orbit)) if numbers is None else numbers
    titles = ["original" if number == 0 else str(number) for number in numbers]
    frames = [ORANGE if number == 0 else None for number in numbers]
    return image_grid_figure(list(orbit), titles, title, columns, frames)


def save_figure(figure: Figure, path: str | os.PathLike) -> None:
    """Write a figure to a file; an existing file is replaced only when the new one is complete.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    path : str or path-like
        Its ending determines the format, such as .png, .svg, .pdf or .jpg.
    """
    kind = Path(path).suffix.lstrip(".").lower()
    known = figure.canvas.get_supported_filetypes()
    if kind not in known:
        raise ValueError(f"cannot write '{path}': its name must end in one of {', '.join(sorted(known))}.")
    with atomic_path(path) as neighbour, drawing():
        figure.savefig(neighbour, format=kind, dpi=DOTS_PER_INCH, **MARKS.get(kind, {}))


@contextmanager
def drawing() -> Iterator[None]:
    """Draw figures the same everywhere; characters that the font lacks are boxes, which needs no warning."""
    with mpl.rc_context(SVG_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"(?s)Glyph \d+ .*missing from font")
        yield


def class_colours(n_classes: int) -> list[Any]:
    """Return one colour per class; they are easily distinguished for up to ten classes."""
    if n_classes <= 10:
        return list(mpl.colormaps["tab10"].colors[:n_classes])
    return [mpl.colormaps["turbo"](share)[:3] for share in np.linspace(0.03, 0.97, n_classes)]


def pick_evenly(n: int, n_picked: int) -> np.ndarray:
    """Return at most `n_picked` of the indices 0 to n - 1, evenly spaced, with the first and the last."""
    return np.unique(np.linspace(0, n - 1, min(n, n_picked)).astype(int))


def printable(name: object) -> str:
    """Return a name as text that is drawn as it is: a dollar begins no formula; control characters are escaped."""
    return escape_controls(str(name)).replace("$", r"\$")
