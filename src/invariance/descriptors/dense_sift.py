"""SIFT everywhere: at every place of a grid, in windows of a few fixed sizes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from invariance._core.checks import check_choice, check_count
from invariance.descriptors.hsl import check_image, check_range
from invariance.descriptors.sift import SiftWindows
from invariance.images import to_grey

CHANNELS = ("grey", "hsv", "opponent")


class DenseSift(BaseEstimator):
    """The SIFT of windows on a regular grid, for visual words of shape, [Varma07] sec. 4.2 and 4.3.

    Parameters
    ----------
    step : pixels from one window to the next
    radii : half the sides of the windows, in pixels; each place of the grid where it fits has one window a radius
    channels : "grey" (the paper's AppGray), 128 values; "hsv", the SIFTs of hue, saturation and value one after the
        other (its AppColour); "opponent", those of red minus green, yellow minus blue, and grey: 384 values

    A grey image has colour without saturation. Hue jumps at red: its SIFT sees an edge between reds of either end,
    which "opponent" does not.
    """

    def __init__(self, step: int = 6, radii: Sequence[int] = (8, 12, 16, 24), channels: str = "grey"):
        self.step = step
        self.radii = radii
        self.channels = channels

    @property
    def invariances(self) -> tuple[str, ...]:
        """What leaves the vectors unchanged, up to rounding; position is that of windows that follow."""
        return ("position", "brightness", "contrast")

    def describe_all(self, image: np.ndarray) -> np.ndarray:
        """The windows of an image (h, w) or (h, w, 3 or 4) as float32 (n, 128) or (n, 384), radius by radius."""
        return self.describe_some(image, slice(None))

    def describe_some(self, image: np.ndarray, rows: Any) -> np.ndarray:
        """Some rows of `describe_all`, in the time that so many windows take."""
        channels = check_choice("channels", self.channels, CHANNELS)
        image = check_image(image)
        boxes = self._boxes(image.shape)[rows]
        return np.hstack([SiftWindows().describe(plane, boxes) for plane in split_channels(image, channels)])

    def places(self, shape: Sequence[int]) -> np.ndarray:
        """Row and column of the middles of the windows: (n, 2)."""
        boxes = self._boxes(shape)
        return boxes[:, :2] + (boxes[:, 2:] - 1) / 2

    def _boxes(self, shape: Sequence[int]) -> np.ndarray:
        radii = [check_count("radii", radius) for radius in self.radii]
        if not radii:
            raise ValueError(f"radii must name at least one window size; got {self.radii!r}.")
        return np.concatenate([grid_boxes(shape, 2 * radius, self.step) for radius in radii])


def grid_boxes(shape: Sequence[int], side: int, step: int) -> np.ndarray:
    """Windows of one side, every `step` pixels, in the middle of an image (h, w, ...): (n, 3) of top, left, side.

    There are none if the image is smaller than a window.
    """
    step = check_count("step", step)
    tops, lefts = (_spread(length - side, step) for length in shape[:2])
    corners = np.stack(np.meshgrid(tops, lefts, indexing="ij"), axis=-1).reshape(-1, 2)
    return np.column_stack([corners, np.full(len(corners), side)])


def _spread(room: int, step: int) -> np.ndarray:
    """Places from 0 to `room`, `step` apart, with what is left over shared by both ends."""
    if room < 0:
        return np.empty(0, np.int64)
    return np.arange(room % step // 2, room + 1, step)


def to_hsv(image: np.ndarray) -> np.ndarray:
    """A checked float32 image as (h, w, 3) of hue, saturation and value in [0, 1]; grey has no hue and saturation."""
    import cv2

    hue, saturation, value = cv2.split(cv2.cvtColor(_in_colour(image), cv2.COLOR_RGB2HSV))
    return np.dstack([hue / 360, saturation.clip(0, 1), value])


def split_channels(image: np.ndarray, channels: str) -> list[np.ndarray]:
    """The planes (h, w) in [0, 1] that `DenseSift` describes, of a checked float32 image."""
    if channels == "grey":
        return [to_grey(image)]
    if channels == "hsv":
        return [np.ascontiguousarray(plane) for plane in np.moveaxis(to_hsv(image), 2, 0)]
    red, green, blue = np.moveaxis(_in_colour(image), 2, 0)
    return [(red - green + 1) / 2, ((red + green) / 2 - blue + 1) / 2, to_grey(image)]


def _in_colour(image: np.ndarray) -> np.ndarray:
    return np.repeat(check_range(image)[..., None], 3, axis=2) if image.ndim == 2 else check_range(image)
