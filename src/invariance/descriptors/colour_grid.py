"""Colours everywhere: the mean colour of small cells on a grid."""

from collections.abc import Sequence

import numpy as np
from sklearn.base import BaseEstimator

from invariance._core.checks import check_count
from invariance.descriptors.dense_sift import grid_boxes, to_hsv
from invariance.descriptors.hsl import check_image
from invariance.descriptors.summed_areas import describe_cells


class ColourGrid(BaseEstimator):
    """The mean HSV colour of small square cells on a regular grid, for visual words of colour, [Varma07] sec. 4.2.

    Parameters
    ----------
    step : pixels from one cell to the next; size : the cells' side in pixels

    Hue is an angle, and means little where saturation is low: a colour is the point (saturation · cos hue,
    saturation · sin hue, value) of the colour cylinder, so that both ends of the hues meet and greys have no hue.
    """

    def __init__(self, step: int = 4, size: int = 4):
        self.step = step
        self.size = size

    @property
    def invariances(self) -> tuple[str, ...]:
        """What leaves the vectors unchanged, once their places are forgotten: all but the shares of colours."""
        return ("position", "rotation", "shape")

    def describe_all(self, image: np.ndarray) -> np.ndarray:
        """The cells of an image (h, w) or (h, w, 3 or 4) as float32 (n, 3)."""
        hue, saturation, value = np.moveaxis(to_hsv(check_image(image)), 2, 0)
        angle = 2 * np.pi * hue
        planes = np.dstack([saturation * np.cos(angle), saturation * np.sin(angle), value])
        return describe_cells(planes.astype(np.float32), self._boxes(planes.shape), 1)

    def places(self, shape: Sequence[int]) -> np.ndarray:
        """Row and column of the middles of the cells: (n, 2)."""
        boxes = self._boxes(shape)
        return boxes[:, :2] + (boxes[:, 2:] - 1) / 2

    def _boxes(self, shape: Sequence[int]) -> np.ndarray:
        return grid_boxes(shape, check_count("size", self.size), self.step)
