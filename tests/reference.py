"""Slow, plain twins of everything that was made fast: the oracles of the tests."""

import math

import numpy as np


def warp_image(image, homography, border):
    """Read every pixel of the result at homography @ (x, y, 1) of the source, one pixel at a time, bilinearly."""
    height, width = image.shape
    result = np.zeros((height, width))
    for row in range(height):
        for col in range(width):
            x, y, depth = homography @ [col - (width - 1) / 2, row - (height - 1) / 2, 1.0]
            source_row, source_col = y / depth + (height - 1) / 2, x / depth + (width - 1) / 2
            top, left = math.floor(source_row + 1e-9), math.floor(source_col + 1e-9)
            for r, row_weight in ((top, top + 1 - source_row), (top + 1, source_row - top)):
                for c, col_weight in ((left, left + 1 - source_col), (left + 1, source_col - left)):
                    result[row, col] += row_weight * col_weight * pixel_or_border(image, r, c, border)
    return result


def pixel_or_border(image, row, col, border):
    """One pixel, or what the border puts in its place."""
    height, width = image.shape
    if 0 <= row < height and 0 <= col < width:
        return image[row, col]
    if border == "zero":
        return 0.0
    mode = {"edge": "edge", "reflect": "reflect", "wrap": "wrap"}[border]
    margin = 3 * max(height, width)
    return np.pad(image, margin, mode=mode)[row + margin, col + margin]
