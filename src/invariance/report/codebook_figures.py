"""Figures of a fitted codebook: where an image has the words of a class, and windows of a word.

The figures are those of [Moosmann06], fig. 3 and fig. 2 (right).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from invariance._core.checks import check_count
from invariance.images import as_float32, resample_boxes
from invariance.report.figures import image_grid_figure, printable

PATCH_SIDE = 32  # pixels; an inch on the page shows no more of a window


def word_map_figure(model: Any, image: np.ndarray, label: Any, n_windows: int = 8000) -> Figure:
    """Draw an image, and a map of the evidence of its words for a class.

    Parameters
    ----------
    model : CodebookClassifier
        A fitted classifier.
    image : ndarray of shape (h, w) or (h, w, c)
    label : object
        One of the classes of the model.
    n_windows : int, default=8000
        Number of windows whose words make the map.

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    image = as_float32(image)
    strength = model.word_map(image, label, n_windows)
    figure = Figure(figsize=(7.2, 3.4 * image.shape[0] / image.shape[1] + 0.7), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.imshow(image, cmap="gray", vmin=0, vmax=1)
    shown = right.imshow(strength, cmap="viridis", vmin=0, vmax=1)
    left.set_title("image", fontsize=10)
    right.set_title(f"words of class {printable(label)}", fontsize=10)
    for axes in (left, right):
        axes.set_axis_off()
    figure.colorbar(shown, ax=right, label="share of the class", shrink=0.85)
    return figure


def word_figure(model: Any, images: Sequence[np.ndarray], word: int, n: int = 24, n_windows: int = 2000) -> Figure:
    """Draw windows of images that are assigned to a word, resampled to one size.

    Parameters
    ----------
    model : CodebookClassifier
        A fitted classifier.
    images : sequence of ndarray of shape (h, w) or (h, w, c)
    word : int
        Index of the word.
    n : int, default=24
        Maximum number of windows; they come from as many images as possible.
    n_windows : int, default=2000
        Number of windows per image that are searched.

    Returns
    -------
    figure : matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If no window is assigned to the word.
    """
    n = check_count("n", n)
    patches: list[np.ndarray] = []
    for image, boxes in zip(images, model.word_windows(images, word, n_windows), strict=True):
        n_each = max(1, -(-n // len(images)))
        patches.extend(resample_boxes(as_float32(image), boxes[:n_each], PATCH_SIDE))
    if not patches:
        raise ValueError(f"no window of these images is assigned to word {word}. Pass more images, or another word.")
    return image_grid_figure(patches[:n], title=f"windows of word {word}")
