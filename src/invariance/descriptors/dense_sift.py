"""SIFT on a grid: at every place, in windows of a few fixed sizes, from gradients that all windows of a size share."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from invariance._core.checks import check_choice, check_count
from invariance.descriptors import _jit_sift
from invariance.descriptors._jit_sift import N_BINS, N_CELLS, N_VALUES
from invariance.descriptors.protocol import RegularDescriptor, grid_windows, spread, window_centres
from invariance.images import check_image, check_range, to_grey
from invariance.transformations import Brightness, Contrast, Shifts

CHANNELS = ("grey", "hsv", "opponent")
# As in OpenCV's scale space: the blur that an image comes with, and the least at which it is described. A window is
# seen with a blur of a twelfth of its side, as a detected point of its size would be.
BLUR_BEFORE, MIN_BLUR, BLUR_SHARE = 0.5, 1.6, 1 / 12


class DenseSift(RegularDescriptor):
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

    Histograms, their weights and the rounding to 8 bits are those of OpenCV, see `SiftWindows`. Differs from it: the
    middle of a window lies between pixels, as its side is even, and no image is reduced. The vectors of a window, 128
    per channel, have length 1, or are 0 where it is flat.
    """

    kept_version = 1

    def __init__(self, step: int = 6, radii: Sequence[int] = (8, 12, 16, 24), channels: str = "grey"):
        self.step = step
        self.radii = radii
        self.channels = channels

    @property
    def invariances(self):
        """The kinds of transformations that leave the vectors unchanged if their places follow; light not in "hsv"."""
        return (Shifts,) if self.channels == "hsv" else (Shifts, Brightness, Contrast)

    def _describe(self, image):
        channels = check_choice("channels", self.channels, CHANNELS)
        planes = [np.rint(255 * check_range(plane)) for plane in split_channels(check_image(image), channels)]
        sides = self._sides()
        maps = np.empty((*planes[0].shape, N_BINS), np.float32)
        codes = [np.concatenate([describe_plane(plane, side, self.step, maps) for side in sides]) for plane in planes]
        return np.concatenate(codes, axis=1)

    def _expand(self, values):
        vectors = np.empty(values.shape, np.float32)
        _jit_sift.normalize_codes(values.reshape(-1, N_VALUES), vectors.reshape(-1, N_VALUES))
        return vectors

    def _places(self, shape):
        windows = [grid_windows(shape, side, self.step) for side in self._sides()]
        return window_centres(np.concatenate(windows))

    def _sides(self) -> list[int]:
        """The sides of the windows."""
        radii = [check_count("radii", radius) for radius in self.radii]
        if not radii:
            raise ValueError(f"radii must name at least one window size; got {self.radii!r}.")
        return [2 * radius for radius in radii]


def describe_plane(plane: np.ndarray, side: int, step: int, maps: np.ndarray | None = None) -> np.ndarray:
    """The SIFT (n, 128) uint8, of length 512, of windows of one side every `step` pixels.

    Parameters
    ----------
    plane : ndarray of shape (h, w), float32
        Values from 0 to 255.
    side, step : int
        As in `grid_windows`.
    maps : ndarray of shape (h, w, 8), float32, default=None
        Room for the gradients, which is overwritten: fresh memory takes as long as they do.
    """
    import cv2

    step = check_count("step", step)
    tops, lefts = (spread(length - side, step) for length in plane.shape)
    codes = np.empty((len(tops) * len(lefts), N_VALUES), np.uint8)
    if len(codes) == 0:
        return codes
    blur = np.sqrt(max(MIN_BLUR, BLUR_SHARE * side) ** 2 - BLUR_BEFORE**2)
    if maps is None:
        maps = np.empty((*plane.shape, N_BINS), np.float32)
    _jit_sift.bin_gradients(cv2.GaussianBlur(plane, (0, 0), blur), maps)
    _jit_sift.describe_grid(maps, tops, lefts, *cell_weights(side), codes)
    return codes


@lru_cache(maxsize=64)
def cell_weights(side: int) -> tuple[np.ndarray, np.ndarray]:
    """How much the pixels along one side of a window count for its four cells.

    Returns
    -------
    starts : ndarray of shape (4,), int64
        The first pixel of every cell, from the beginning of the window.
    weights : ndarray of shape (4, n_taps), float32
        Of this pixel and the next ones: linear in their distance from the middle of the cell, 0 at the middles of its
        neighbours, under a Gaussian around the middle of the window that is half the window wide.
    """
    width = side / N_CELLS
    middles = (np.arange(N_CELLS) + 0.5) * width - 0.5
    starts = np.floor(middles - width).astype(np.int64) + 1
    pixels = starts[:, None] + np.arange(int(np.ceil(2 * width)))
    nearness = np.maximum(0, 1 - np.abs(pixels - middles[:, None]) / width)
    away = (pixels - (side - 1) / 2) / (side / 2)
    return starts, (nearness * np.exp(-0.5 * away**2)).astype(np.float32)


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
