"""Colour as hue, saturation and lightness, and windows described by it."""

import numpy as np
from sklearn.base import BaseEstimator

from invariance._core.checks import check_count
from invariance.descriptors.summed_areas import describe_cells
from invariance.images import as_float32

# What resampling may add to values in [0, 1] by rounding.
ROUNDING = 1e-3


class HslPatches(BaseEstimator):
    """A window as `size` x `size` cells of hue, saturation and lightness in [0, 1], the colour of [Moosmann06] sec. 4.

    A vector is (size, size, 3) made flat: 768 values by default. A grey image has lightness alone, 256 values.

    Differs from [Moosmann06], which does not say how: the image is converted before its windows are averaged, so that
    one table of sums serves them all. Hue is averaged as a number, not as an angle: cells where reds from both ends of
    the scale meet have a hue in between.
    """

    def __init__(self, size: int = 16):
        self.size = size

    @property
    def invariances(self) -> tuple[str, ...]:
        """What leaves the vector unchanged, if the window follows."""
        return ("position", "scale")

    def describe(self, image: np.ndarray, boxes: np.ndarray) -> np.ndarray:
        """The windows `boxes` (n, 3) of top, left, side of an image (h, w) or (h, w, 3 or 4) as float32 (n, D)."""
        return describe_cells(to_hsl(image), boxes, check_count("size", self.size))


def to_hsl(image: np.ndarray) -> np.ndarray:
    """An image of any dtype as float32: colour as (h, w, 3) of hue, saturation, lightness in [0, 1], grey as (h, w)."""
    import cv2

    image = check_image(image)
    if image.ndim == 2:
        return image
    hue, lightness, saturation = cv2.split(cv2.cvtColor(check_range(image), cv2.COLOR_RGB2HLS))
    # OpenCV counts hue in degrees, and rounds some saturations to a little over 1.
    return np.dstack([hue / 360, saturation.clip(0, 1), lightness])


def check_image(image: np.ndarray) -> np.ndarray:
    """An image as float32 (h, w) or (h, w, 3), without alpha and without NaN; a single channel loses its axis."""
    image = as_float32(image)
    n_channels = image.shape[2] if image.ndim == 3 else 1
    if image.ndim not in (2, 3) or image.size == 0 or n_channels not in (1, 3, 4):
        raise ValueError(
            f"image must be (h, w), (h, w, 3) or (h, w, 4) with at least one pixel; got shape {image.shape}. "
            f"Select its channels first."
        )
    if not np.isfinite(image).all():
        raise ValueError("image must hold finite values; got NaN or infinity. Replace them.")
    if n_channels == 1:
        return image.reshape(image.shape[:2])
    return np.ascontiguousarray(image[..., :3])


def check_range(image: np.ndarray) -> np.ndarray:
    """A float image with values in [0, 1]; what rounding put beyond is cut off."""
    low, high = float(image.min()), float(image.max())
    if low < -ROUNDING or high > 1 + ROUNDING:
        raise ValueError(
            f"image must hold values from 0 to 1 (or be uint8 or uint16); got {low:g} to {high:g}. Rescale it."
        )
    return image.clip(0, 1)
