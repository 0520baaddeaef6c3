"""The next places worth a stroke: where the model is least sure, spread out, and not beside what is painted already."""

from typing import NamedTuple

import cv2
import numpy as np

from invariance.segmentation.live.strokes import Painted
from invariance.segmentation.tiles import Tile

# Uncertainty is averaged over squares of this side: a place is worth a stroke, a pixel is not.
SMOOTHING = 9
# Suggestions are at least this far from each other and from strokes, in pixels.
MIN_DISTANCE = 24


class Suggestion(NamedTuple):
    """A place worth a stroke.

    Attributes
    ----------
    image : int
        Index of the image.
    row, col : int
        The place, in pixels.
    uncertainty : float
        1 - (probability of the first class - that of the second), mean around the place: 0 is sure, 1 is not.
    """

    image: int
    row: int
    col: int
    uncertainty: float


def measure_uncertainty(probabilities: np.ndarray) -> np.ndarray:
    """Compute 1 - (top - second) of probabilities (h, w, K), averaged over small squares: (h, w) float32."""
    ranked = np.partition(probabilities, -2, axis=-1)
    return cv2.blur(1 - (ranked[..., -1] - ranked[..., -2]), (SMOOTHING, SMOOTHING), borderType=cv2.BORDER_REFLECT)


def choose_places(maps: list[tuple[int, Tile, np.ndarray]], painted: list[Painted], n_places: int) -> list[Suggestion]:
    """Choose the least sure places one after the other, each far from strokes and from those chosen before.

    Parameters
    ----------
    maps : list of tuple
        Index of an image, a tile of it and the uncertainty (h, w) of its pixels.
    painted : list of Painted
        The strokes.
    n_places : int
        Maximum number.

    Returns
    -------
    places : list of Suggestion
        The least sure first; fewer if there is no room for more.
    """
    left = [(image, tile, values.copy()) for image, tile, values in maps]
    for image, tile, values in left:
        _block(image, tile, values, painted)
    chosen: list[Suggestion] = []
    while len(chosen) < n_places and left:
        tops = [float(values.max()) for _, _, values in left]
        image, tile, values = left[int(np.argmax(tops))]
        if max(tops) == -np.inf:
            break
        row, col = np.unravel_index(int(values.argmax()), values.shape)
        chosen.append(Suggestion(image, int(row) + tile.top, int(col) + tile.left, max(tops)))
        for other, other_tile, other_values in left:
            if other == image:
                _block_disc(other_tile, other_values, chosen[-1].row, chosen[-1].col)
    return chosen


def _block(image: int, tile: Tile, values: np.ndarray, painted: list[Painted]) -> None:
    """Rule out what is near a stroke."""
    margin = MIN_DISTANCE + 1
    free = np.ones((values.shape[0] + 2 * margin, values.shape[1] + 2 * margin), np.uint8)
    for part in painted:
        if part.stroke.image == image:
            rows = part.stroke.rows[part.owned] - tile.top + margin
            cols = part.stroke.cols[part.owned] - tile.left + margin
            inside = (rows >= 0) & (rows < free.shape[0]) & (cols >= 0) & (cols < free.shape[1])
            free[rows[inside], cols[inside]] = 0
    if not free.all():
        distance = cv2.distanceTransform(free, cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
        values[distance[margin:-margin, margin:-margin] < MIN_DISTANCE] = -np.inf


def _block_disc(tile: Tile, values: np.ndarray, row: int, col: int) -> None:
    rows = np.arange(tile.top, tile.bottom)[:, None] - row
    cols = np.arange(tile.left, tile.right) - col
    values[rows**2 + cols**2 < MIN_DISTANCE**2] = -np.inf
