"""Compiled loops of the descriptors; each has its plain twin in tests/reference.py."""

import numpy as np

from invariance._core.compilation import compiled

# Of oriented gradients: the part of the mean strength of an image that is added to that around every cell, and the
# bound of a value relative to the strength around its cell.
SMALL_PART, LARGEST_SHARE = 0.01, 0.4


@compiled
def average_cells(table, n_channels, boxes, size, wavelets, out):
    """Fill the rows of out (n, size * size * c) float32 with the means of the cells of every window.

    table (h + 1, (w + 1) * c) float64: the sums of all pixels above and left of a corner, channels side by side. boxes
    (n, 3) of top, left, side, all inside the image. A corner between pixels is interpolated, which is exact: the sum is
    bilinear within a pixel. With `wavelets` each row is replaced by its Haar transform while it is in the cache.
    """
    n_corners, n_cells = (size + 1) * n_channels, size * n_channels
    # Unsigned, so that no place is tested for counting from the end.
    near, far = np.empty(n_corners, np.uint64), np.empty(n_corners, np.uint64)
    shares, corners, strips = np.empty(n_corners), np.empty(n_corners), np.empty(n_cells)
    for window in range(len(boxes)):
        top, left, side = boxes[window, 0], boxes[window, 1], boxes[window, 2]
        row, scale = out[window], (size / side) ** 2
        for k in range(n_corners):
            place, channel = k // n_channels, k % n_channels
            whole, rest = place * side // size, place * side % size
            near[k] = (left + whole) * n_channels + channel
            far[k] = (left + whole + (rest > 0)) * n_channels + channel
            shares[k] = rest / size
        for place in range(size + 1):
            whole, rest = place * side // size, place * side % size
            upper, lower, share = table[top + whole], table[top + whole + (rest > 0)], rest / size
            for k in range(n_corners):
                start = upper[near[k]] + share * (lower[near[k]] - upper[near[k]])
                stop = upper[far[k]] + share * (lower[far[k]] - upper[far[k]])
                corners[k] = start + shares[k] * (stop - start)
            # A strip reaches from the top of the image down to this row of corners.
            first = (place - 1) * n_cells
            for k in range(n_cells):
                strip = corners[k + n_channels] - corners[k]
                if place > 0:
                    row[first + k] = scale * (strip - strips[k])
                strips[k] = strip
        if wavelets:
            transform_cells(row.reshape(size, size, n_channels))


@compiled
def transform_cells(cells):
    """Replace cells (size, size, c), size a power of two, by their orthonormal Haar transform, each channel by itself.

    Every square of 2 x 2 gives a mean and three details; the details stay where they are, and the means, now `step`
    cells apart, are the cells of the next round.
    """
    size, _, n_channels = cells.shape
    step = 1
    while step < size:
        for i in range(0, size, 2 * step):
            for j in range(0, size, 2 * step):
                for channel in range(n_channels):
                    a, b = cells[i, j, channel], cells[i, j + step, channel]
                    c, d = cells[i + step, j, channel], cells[i + step, j + step, channel]
                    half = np.float32(0.5)
                    cells[i, j, channel] = half * (a + b + c + d)
                    cells[i, j + step, channel] = half * (a - b + c - d)
                    cells[i + step, j, channel] = half * (a + b - c - d)
                    cells[i + step, j + step, channel] = half * (a - b - c + d)
        step *= 2


@compiled
def gather_gradients(images, row_weights, column_weights, reaches, across_reaches, n_bins, out):
    """Fill the rows of out (n, g * g * n_bins) float32 with oriented gradients around g x g cells, of length 1 or 0.

    images (n, h, w) float32; row_weights (g, h) and column_weights (g, w) float32: how much a pixel counts for a cell.
    reaches (h, 2): the first and one after the last cell for which a row of pixels counts; across_reaches (g, 2): the
    first and one after the last column of pixels that counts for a cell.
    """
    n, h, w = images.shape
    g = len(row_weights)
    strips, cells, strengths = np.empty((g, w, n_bins)), np.empty((g, g, n_bins)), np.empty((g, g))
    for k in range(n):
        image, vector = images[k], out[k]
        strips[:] = 0.0
        for i in range(h):
            above, below = max(i - 1, 0), min(i + 1, h - 1)
            for j in range(w):
                across = float(image[i, min(j + 1, w - 1)]) - float(image[i, max(j - 1, 0)])
                down = float(image[below, j]) - float(image[above, j])
                strength = np.sqrt(across * across + down * down)
                if strength == 0.0:
                    continue
                position = np.arctan2(down, across) * (n_bins / (2 * np.pi))
                position += n_bins * (position < 0)
                lower = int(position)
                share = position - lower
                first, second = lower % n_bins, (lower + 1) % n_bins
                for a in range(reaches[i, 0], reaches[i, 1]):
                    weight = row_weights[a, i]
                    strips[a, j, first] += weight * strength * (1 - share)
                    strips[a, j, second] += weight * strength * share
        cells[:] = 0.0
        for a in range(g):
            for b in range(g):
                for j in range(across_reaches[b, 0], across_reaches[b, 1]):
                    weight = column_weights[b, j]
                    for o in range(n_bins):
                        cells[a, b, o] += weight * strips[a, j, o]
        normalize_cells(cells, strengths, vector)


@compiled
def normalize_cells(cells, strengths, vector):
    """Fill vector (g * g * n_bins) with cells (g, g, n_bins) relative to what is around them; strengths is scratch.

    The strength around a cell is the mean of the squares in 3 x 3 cells, weighed 1, 2, 1 both ways, plus a small part
    of the mean over the image, so that noise in empty parts of an image stays small.
    """
    g, _, n_bins = cells.shape
    mean = 0.0
    for a in range(g):
        for b in range(g):
            strengths[a, b] = 0.0
            for o in range(n_bins):
                strengths[a, b] += cells[a, b, o] ** 2
            mean += strengths[a, b] / (g * g)
    length, place = 0.0, 0
    for a in range(g):
        for b in range(g):
            around = SMALL_PART * mean
            for c in range(max(a - 1, 0), min(a + 2, g)):
                for d in range(max(b - 1, 0), min(b + 2, g)):
                    around += (2 - abs(c - a)) * (2 - abs(d - b)) / 16 * strengths[c, d]
            scale = 1 / np.sqrt(around) if around > 0 else 0.0
            for o in range(n_bins):
                value = np.sqrt(min(cells[a, b, o] * scale, LARGEST_SHARE))
                vector[place] = value
                length += value * value
                place += 1
    if length > 0:
        for place in range(len(vector)):
            vector[place] /= np.sqrt(length)
