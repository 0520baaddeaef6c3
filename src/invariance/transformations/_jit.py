"""The compiled loop of the transformations; its plain twin is in tests/reference.py."""

import math

import numpy as np

from invariance._core.compilation import compiled

# The borders, numbered as in `resampling.BORDERS`.
ZERO, EDGE, REFLECT, WRAP = 0, 1, 2, 3


@compiled
def warp_pixels(image, homography, border, nearest, snap, out):
    """Fill out (h, w, c) with the image (h, w, c) float32 read at homography @ (x, y, 1), counted from the centre.

    This is `Warp.matrix` times the image, without the matrix. Positions within `snap` of a pixel are that pixel.
    """
    height, width, n_channels = image.shape
    middle_row, middle_column = (height - 1) / 2, (width - 1) / 2
    a, b, c = homography[0]
    d, e, f = homography[1]
    g, h, i = homography[2]
    is_affine = g == 0 and h == 0 and i == 1
    for row in range(height):
        y = row - middle_row
        for column in range(width):
            x = column - middle_column
            source_x, source_y = a * x + b * y + c, d * x + e * y + f
            if not is_affine:
                depth = max(g * x + h * y + i, 1e-6)
                source_x, source_y = source_x / depth, source_y / depth
            source_x, source_y = source_x + middle_column, source_y + middle_row
            top, share_y = split_position(source_y, nearest, snap)
            left, share_x = split_position(source_x, nearest, snap)
            upper, lower = top, top + 1
            near, far = left, left + 1
            if top < 0 or left < 0 or top >= height - 1 or left >= width - 1:
                upper, lower = bring_inside(upper, height, border), bring_inside(lower, height, border)
                near, far = bring_inside(near, width, border), bring_inside(far, width, border)
            upper_near, upper_far = (1 - share_y) * (1 - share_x), (1 - share_y) * share_x
            lower_near, lower_far = share_y * (1 - share_x), share_y * share_x
            # A zero border has no pixel, and one of weight zero is read where there is one.
            if upper < 0:
                upper, upper_near, upper_far = 0, 0.0, 0.0
            if lower < 0:
                lower, lower_near, lower_far = 0, 0.0, 0.0
            if near < 0:
                near, upper_near, lower_near = 0, 0.0, 0.0
            if far < 0:
                far, upper_far, lower_far = 0, 0.0, 0.0
            # Unsigned, so that no place is tested for counting from the end.
            first, second, start, stop = np.uint64(upper), np.uint64(lower), np.uint64(near), np.uint64(far)
            for channel in range(n_channels):
                out[row, column, channel] = (
                    upper_near * image[first, start, channel]
                    + upper_far * image[first, stop, channel]
                    + lower_near * image[second, start, channel]
                    + lower_far * image[second, stop, channel]
                )


@compiled
def split_position(position, nearest, snap):
    """The pixel at or below a position, and the share of the next one."""
    whole = np.rint(position)
    if nearest or abs(position - whole) < snap:
        return np.int64(whole), 0.0
    below = math.floor(position)
    return np.int64(below), position - below


@compiled
def bring_inside(index, size, border):
    """The index from 0 to size - 1 that stands for an index outside, or -1 where a zero border has nothing."""
    if 0 <= index < size:
        return index
    if border == ZERO:
        return -1
    if border == REFLECT:
        period = max(2 * (size - 1), 1)
        return min(abs((index + size - 1) % period - (size - 1)), size - 1)
    if border == WRAP:
        return index % size
    return min(max(index, 0), size - 1)
