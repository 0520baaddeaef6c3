"""The compiled loop of the codebooks; its plain twin is in tests/reference.py."""

import math

import numba
import numpy as np

ZERO, EDGE, REFLECT, WRAP = 0, 1, 2, 3


@numba.njit(cache=True, nogil=True)
def warp_pixels(image, homography, border, nearest, snap, out):
    """Fill out (h, w, c) with the image (h, w, c) float32 read at homography @ (x, y, 1), counted from the centre.

    This is `Warp.matrix` times the image, without the matrix: building one takes some ten times as long as this, and
    images of any sizes would need one each. Positions within `snap` of a pixel are that pixel.
    """
    height, width, n_channels = image.shape
    middle_row, middle_column = (height - 1) / 2, (width - 1) / 2
    for row in range(height):
        for column in range(width):
            x, y = column - middle_column, row - middle_row
            depth = max(homography[2, 0] * x + homography[2, 1] * y + homography[2, 2], 1e-6)
            source_x = (homography[0, 0] * x + homography[0, 1] * y + homography[0, 2]) / depth + middle_column
            source_y = (homography[1, 0] * x + homography[1, 1] * y + homography[1, 2]) / depth + middle_row
            top, share_y = split_position(source_y, nearest, snap)
            left, share_x = split_position(source_x, nearest, snap)
            for channel in range(n_channels):
                out[row, column, channel] = 0
            for i in range(2):
                weight_y = share_y if i else 1 - share_y
                source_row = bring_inside(top + i, height, border)
                if weight_y == 0 or source_row < 0:
                    continue
                for j in range(2):
                    weight = weight_y * (share_x if j else 1 - share_x)
                    source_column = bring_inside(left + j, width, border)
                    if weight == 0 or source_column < 0:
                        continue
                    for channel in range(n_channels):
                        out[row, column, channel] += np.float32(weight) * image[source_row, source_column, channel]


@numba.njit(cache=True, nogil=True)
def split_position(position, nearest, snap):
    """The pixel at or below a position, and the share of the next one."""
    whole = np.rint(position)
    if nearest or abs(position - whole) < snap:
        return np.int64(whole), 0.0
    below = math.floor(position)
    return np.int64(below), position - below


@numba.njit(cache=True, nogil=True)
def bring_inside(index, size, border):
    """The index from 0 to size - 1 that stands for an index outside, or -1 where a zero border has nothing."""
    if 0 <= index < size:
        return index
    if border == ZERO:
        return -1
    if border == REFLECT:
        period = max(2 * (size - 1), 1)
        return min(max(abs((index + size - 1) % period - (size - 1)), 0), size - 1)
    if border == WRAP:
        return index % size
    return min(max(index, 0), size - 1)
