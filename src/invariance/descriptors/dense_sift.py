"""SIFT on a grid: at every place, in windows of a few fixed sizes."""

from collections.abc import Sequence

import numpy as np

from invariance._core.checks import check_choice, check_count
from invariance.descriptors.protocol import DrawRows, GridDescriptor, grid_windows, window_centres
from invariance.descriptors.sift import SiftWindows
from invariance.images import check_image, check_range, to_grey
from invariance.transformations import Brightness, Contrast, Shifts

CHANNELS = ("grey", "hsv", "opponent")


class DenseSift(GridDescriptor):
    """The SIFT of windows on a regular grid, for visual words of shape, [Varma07] sec. 4.2 and 4.3.

    Parameters
    ----------
    step : int, default=6
        Pixels from one window to the next.
    radii : sequence of int, default=(8, 12, 16, 24)
        Half the sides of the windows, in pixels. Every place of the grid has one window per radius that fits.
    channels : {"grey", "hsv", "opponent"}, default="grey"
        "grey" (the paper's AppGray) gives 128 values; "hsv" the SIFTs of hue, saturation and value side by side (its
        AppColour); "opponent" those of red minus green, yellow minus blue, and grey: 384 values.

    Notes
    -----
    Vectors are ordered radius by radius. A grey image has colour without saturation. Hue jumps at red: its SIFT sees an
    edge between reds of either end, which "opponent" does not.
    """

    def __init__(self, step: int = 6, radii: Sequence[int] = (8, 12, 16, 24), channels: str = "grey"):
        self.step = step
        self.radii = radii
        self.channels = channels

    @property
    def invariances(self):
        """The kinds of transformations that leave the vectors unchanged if their places follow; light not in "hsv"."""
        return (Shifts,) if self.channels == "hsv" else (Shifts, Brightness, Contrast)

    def _extract(self, image):
        windows = self._windows(np.shape(image))
        return self._describe(image, windows), window_centres(windows)

    def _extract_some(self, image: np.ndarray, draw_rows: DrawRows) -> np.ndarray:
        """The vectors of some rows, in the time that as many windows take."""
        windows = self._windows(np.shape(image))
        return self._describe(image, windows[draw_rows(len(windows))])

    def _describe(self, image, windows):
        channels = check_choice("channels", self.channels, CHANNELS)
        planes = split_channels(check_image(image), channels)
        return np.hstack([SiftWindows().extract(plane, windows)[0] for plane in planes])

    def _windows(self, shape: Sequence[int]) -> np.ndarray:
        """All windows (n, 3) of an image, radius by radius."""
        radii = [check_count("radii", radius) for radius in self.radii]
        if not radii:
            raise ValueError(f"radii must name at least one window size; got {self.radii!r}.")
        return np.concatenate([grid_windows(shape, 2 * radius, self.step) for radius in radii])


def to_hsv(image: np.ndarray) -> np.ndarray:
    """Convert a checked float32 image to hue, saturation and value in [0, 1]; grey has no hue and no saturation."""
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
