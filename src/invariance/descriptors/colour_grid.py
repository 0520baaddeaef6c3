"""Colours on a grid: the mean colours of small cells."""

import numpy as np

from invariance._core.checks import check_count
from invariance.descriptors.cells import describe_cells
from invariance.descriptors.dense_sift import to_hsv
from invariance.descriptors.protocol import RegularDescriptor, grid_windows, window_centres
from invariance.images import check_image
from invariance.transformations import Reflections, Rotations, Shifts


class ColourGrid(RegularDescriptor):
    """The mean HSV colour of small square cells on a regular grid, for visual words of colour, [Varma07] sec. 4.2.

    Parameters
    ----------
    step : int, default=4
        Pixels from one cell to the next.
    size : int, default=4
        Side of a cell in pixels.

    Notes
    -----
    Hue is an angle, and means little where saturation is low: a colour is the point (saturation · cos hue,
    saturation · sin hue, value) of the colour cylinder, so that both ends of the hues meet and greys have no hue.
    """

    kept_version = 1

    def __init__(self, step: int = 4, size: int = 4):
        self.step = step
        self.size = size

    @property
    def invariances(self):
        """The kinds of transformations that leave the vectors unchanged if their places follow."""
        return (Shifts, Rotations, Reflections)

    def _describe(self, image):
        hue, saturation, value = np.moveaxis(to_hsv(check_image(image)), 2, 0)
        angle = 2 * np.pi * hue
        planes = np.dstack([saturation * np.cos(angle), saturation * np.sin(angle), value]).astype(np.float32)
        return describe_cells(planes, self._cells(planes.shape), 1)

    def _places(self, shape):
        return window_centres(self._cells(shape))

    def _cells(self, shape) -> np.ndarray:
        return grid_windows(shape, check_count("size", self.size), self.step)
