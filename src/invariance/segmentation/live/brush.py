"""The pixels under a brush that is led along a line, and those inside of a closed line.

The page of the studio has the same functions (`raster.js`), pixel for pixel.
"""

from itertools import pairwise
from typing import Any

import numpy as np

from invariance._core.checks import check_number

# Brushes are compared with the image in bands of so many rows, so that a line across a slide takes little memory.
BAND_ROWS = 64
# Places are stored in 32 bits, and squares of such numbers are exact enough.
MAX_PLACE = 2**31
# Pixels are marked in a box around the whole line if it has at most so many, which is faster than sorting them.
MAX_DENSE_PIXELS = 16_000_000
Pixels = tuple[np.ndarray, np.ndarray]


def brush_pixels(points: Any, radius: float, shape: tuple[int, ...]) -> Pixels:
    """Find the pixels under a round brush that is drawn along a line.

    Parameters
    ----------
    points : array-like of shape (n, 2)
        Row and column of the corners of the line, in pixels; one point is a disc.
    radius : float
        Radius of the brush in pixels: pixels whose centre is at most that far from the line. Less than 0.5 counts as
        0.5, the width of one pixel.
    shape : tuple of int
        Height and width of the image, first; pixels outside are left out.

    Returns
    -------
    rows, cols : ndarray of shape (n,), int32
        The pixels, in the order of rows; none if the line is outside the image.
    """
    points = _check_points(points)
    reach = max(check_number("radius", radius, low=0, high=MAX_PLACE), 0.5)
    segments = list(pairwise(points)) if len(points) > 1 else [(points[0], points[0])]
    low, high = _box_around(points.min(axis=0), points.max(axis=0), reach, shape)
    if (low > high).any():
        return np.empty(0, np.int32), np.empty(0, np.int32)
    found = (_near_segment(start, stop, reach, shape) for start, stop in segments)
    if np.prod(high - low + 1) <= MAX_DENSE_PIXELS:
        is_near = np.zeros(high - low + 1, bool)
        for rows, cols in found:
            is_near[rows - low[0], cols - low[1]] = True
        rows, cols = np.nonzero(is_near)
        return (rows + low[0]).astype(np.int32), (cols + low[1]).astype(np.int32)
    places = np.unique(np.concatenate([rows * shape[1] + cols for rows, cols in found]))
    rows, cols = np.divmod(places, shape[1])
    return rows.astype(np.int32), cols.astype(np.int32)


def fill_pixels(points: Any, shape: tuple[int, ...]) -> Pixels:
    """Find the pixels whose centre is inside of a closed polygon, by the even-odd rule.

    Parameters
    ----------
    points : array-like of shape (n, 2)
        Row and column of the corners, in pixels; the last one is joined to the first.
    shape : tuple of int
        Height and width of the image, first; pixels outside are left out.

    Returns
    -------
    rows, cols : ndarray of shape (n,), int32
        The pixels, in the order of rows; none if the polygon has no pixel of the image inside.
    """
    points = _check_points(points)
    height, width = shape[:2]
    low = np.clip(np.ceil(points.min(axis=0)), 0, (height, width)).astype(int)
    high = np.clip(np.floor(points.max(axis=0)) + 1, 0, (height, width)).astype(int)
    # A border of the polygon changes, in its row, the side of all pixels left of it.
    is_changed = np.zeros((max(high[0] - low[0], 0), max(high[1] - low[1], 0) + 1), bool)
    for (r_i, c_i), (r_j, c_j) in zip(points, np.roll(points, 1, axis=0), strict=True):
        first, last = (int(np.clip(np.ceil(row), low[0], high[0])) for row in sorted((r_i, r_j)))
        if first < last:  # pixels with (r_i > r) != (r_j > r)
            rows = np.arange(first, last)
            crossing = (c_j - c_i) * (rows - r_i) / (r_j - r_i) + c_i
            cols = np.clip(np.ceil(crossing), low[1], high[1]).astype(int)
            is_changed[rows - low[0], cols - low[1]] ^= True
    inside = np.bitwise_xor.accumulate(is_changed[:, :0:-1], axis=1)[:, ::-1]
    rows, cols = np.nonzero(inside)
    return (rows + low[0]).astype(np.int32), (cols + low[1]).astype(np.int32)


def _check_points(points: Any) -> np.ndarray:
    points = np.atleast_2d(np.asarray(points, np.float64))
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(f"points must be of shape (n, 2); got an array of shape {points.shape}.")
    if not (np.abs(points) <= MAX_PLACE).all():  # also false for NaN
        raise ValueError(f"points must be from {-MAX_PLACE} to {MAX_PLACE}; got {points.min()} to {points.max()}.")
    return points


def _box_around(low: np.ndarray, high: np.ndarray, reach: float, shape: tuple[int, ...]) -> Pixels:
    """Return the first and the last row and column of an image that are at most `reach` from a box."""
    first = np.maximum(np.ceil(low - reach), 0)
    last = np.minimum(np.floor(high + reach), np.array(shape[:2]) - 1)
    return first.astype(np.int64), last.astype(np.int64)


def _near_segment(start: np.ndarray, stop: np.ndarray, reach: float, shape: tuple[int, ...]) -> Pixels:
    """Find the pixels at most `reach` from a line between two points."""
    low, high = _box_around(np.minimum(start, stop), np.maximum(start, stop), reach, shape)
    found = [(np.empty(0, np.int64), np.empty(0, np.int64))]
    for top in range(low[0], high[0] + 1, BAND_ROWS):
        rows = np.arange(top, min(top + BAND_ROWS, high[0] + 1))[:, None]
        left, right = _columns_beside(start, stop, reach, rows[0, 0], rows[-1, 0])
        cols = np.arange(max(left, low[1]), min(right, high[1]) + 1)
        at_row, at_col = np.nonzero(_squared_distance(start, stop, rows, cols) <= reach**2)
        found.append((at_row + top, cols[at_col]))
    return np.concatenate([rows for rows, _ in found]), np.concatenate([cols for _, cols in found])


def _columns_beside(start: np.ndarray, stop: np.ndarray, reach: float, top: int, bottom: int) -> tuple[int, int]:
    """Return the first and last column, or one beyond, that can be near the line in the rows from `top` to `bottom`."""
    along = stop - start
    shares = np.array([0.0, 1.0])
    if abs(along[0]) > 1:  # a line that is nearly level is beside the rows as a whole
        shares = np.clip(np.sort((np.array([top - reach, bottom + reach]) - start[0]) / along[0]), 0, 1)
    ends = start[1] + shares * along[1]
    return int(np.floor(ends.min() - reach)) - 1, int(np.ceil(ends.max() + reach)) + 1


def _squared_distance(start: np.ndarray, stop: np.ndarray, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
    """Compute the squared distances (h, w) of rows (h, 1) and columns (w,) from a line between two points."""
    along = stop - start
    length = float(along @ along)
    share = ((rows - start[0]) * along[0] + (cols - start[1]) * along[1]) / length if length else np.zeros((1, 1))
    share = np.clip(share, 0, 1)
    return (rows - start[0] - share * along[0]) ** 2 + (cols - start[1] - share * along[1]) ** 2
