"""Choices of how the intensities of an image are scaled before a method sees them."""

from typing import Any

import numpy as np

from invariance._core.checks import check_choice
from invariance.images.intensities import as_float32

SCALES = ("dtype", "image", "percentile")
# What "percentile" maps to 0 and 1: hot pixels and dust are fewer than one in a hundred.
LOW, HIGH = 1.0, 99.0


def rescale(image: Any, scale: str = "dtype") -> np.ndarray:
    """Scale the intensities of an image.

    Parameters
    ----------
    image : array-like of shape (h, w) or (h, w, c)
    scale : {"dtype", "image", "percentile"}, default="dtype"
        "dtype" divides integers by the white of their dtype, 255 or 65535, and leaves floats alone. "image" maps the
        smallest value of the image to 0 and the largest to 1; "percentile" maps the 1st percentile to 0 and the 99th to
        1, and clips. The channels of an image are mapped alike, without alpha.

    Returns
    -------
    scaled : ndarray, float32
        Can share the memory of the image: do not write into it.
    """
    floats = as_float32(image)
    if check_choice("scale", scale, SCALES) == "dtype":
        return floats
    n_colours = floats.shape[2] - 1 if floats.ndim == 3 and floats.shape[2] in (2, 4) else None
    colours = floats if n_colours is None else floats[..., :n_colours]
    low, high = find_extremes(colours, scale)
    scaled = np.clip((colours - low) / ((high - low) or np.float32(1)), 0, 1)
    return scaled if n_colours is None else np.concatenate([scaled, floats[..., n_colours:]], axis=2)


def find_extremes(values: np.ndarray, scale: str) -> tuple[np.float32, np.float32]:
    """Return the values that "image" or "percentile" map to 0 and 1.

    Percentiles are values of the image, not between two of them: then an image that was scaled stays as it is if it is
    scaled again.
    """
    if scale == "image":
        return np.float32(values.min()), np.float32(values.max())
    low = np.percentile(values, LOW, method="higher")
    return np.float32(low), np.float32(max(low, np.percentile(values, HIGH, method="lower")))
