"""Compiled loops of the descriptors; each has its plain twin in tests/reference.py."""

import numpy as np

from invariance._core.compilation import compiled


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
