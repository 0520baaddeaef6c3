"""Figures of a fitted codebook: where in an image the words of a class fire, and what a word looks like.

The model is a `CodebookClassifier`; the figures are those of [Moosmann06], fig. 3 and fig. 2 right.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from invariance._core.checks import check_count
from invariance.images import as_float32, resample_boxes
from invariance.report.figures import image_grid_figure

PATCH_SIDE = 32


def word_map_figure(model: Any, image: np.ndarray, label: Any, n_windows: int = 8000) -> Figure:
    """An image, and beside it how much the words around every pixel speak for a class."""
    image = as_float32(image)
    strength = model.word_map(image, label, n_windows)
    figure = Figure(figsize=(7.2, 3.4 * image.shape[0] / image.shape[1] + 0.7), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.imshow(image, cmap="gray", vmin=0, vmax=1)
    shown = right.imshow(strength, cmap="viridis", vmin=0, vmax=1)
    left.set_title("image", fontsize=10)
    right.set_title(f"words of class {label}", fontsize=10)
    for axes in (left, right):
        axes.set_axis_off()
    figure.colorbar(shown, ax=right, label="share of the class", shrink=0.85)
    return figure


def word_figure(model: Any, images: Sequence[np.ndarray], word: int, n: int = 24, n_windows: int = 2000) -> Figure:
    """At most `n` windows of images that got a word, resampled to one size, some of every image."""
    n = check_count("n", n)
    patches: list[np.ndarray] = []
    for image, boxes in zip(images, model.word_windows(images, word, n_windows), strict=True):
        n_each = max(1, -(-n // len(images)))
        patches.extend(resample_boxes(as_float32(image), boxes[:n_each], PATCH_SIDE))
    if not patches:
        raise ValueError(f"no window of these images got the word {word}. Show more images, or another word.")
    return image_grid_figure(patches[:n], title=f"windows of word {word}")
