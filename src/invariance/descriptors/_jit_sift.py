"""Compiled loops of dense SIFT; each has its plain twin in tests/reference.py."""

import numpy as np

from invariance._core.compilation import compiled

# Histograms per side of a window, orientations of the full circle, and values of a window.
N_CELLS, N_BINS, N_VALUES = 4, 8, 128
# As in OpenCV: the bound of a value relative to the length of its vector, and what a length of 1 becomes.
LARGEST_SHARE, LENGTH = 0.2, 512.0
# Grey levels of 255: weaker gradients are what rounding leaves of a flat image.
NEGLIGIBLE = 1e-3
TINY = np.float32(1e-30)  # in place of 0, to divide by
# arctan(x) / (π / 4) for x in [0, 1] as x times a polynomial of x², exact to 3e-6 (C. Hastings, 1955).
A0, A1, A2, A3, A4, A5 = (
    np.float32(4 / np.pi * c) for c in (0.99997726, -0.33262347, 0.19354346, -0.11643287, 0.05265332, -0.01172120)
)


@compiled
def bin_gradients(plane, out):
    """Fill out (h, w, 8) float32 with the gradients of a plane (h, w) float32, shared by the two nearest orientations.

    Orientation 0 is to the right, 2 is up; eight of them make each octant the room between two. Pixels on the border
    have no gradient.
    """
    h, w = plane.shape
    out[:] = 0
    positions, strengths = np.empty(w, np.float32), np.empty(w, np.float32)
    for i in range(1, h - 1):
        above, row, below = plane[i - 1], plane[i], plane[i + 1]
        # Without branches, so that it is computed for several pixels at once.
        for j in range(1, w - 1):
            across, up = row[j + 1] - row[j - 1], above[j] - below[j]
            large, small = max(abs(across), abs(up)), min(abs(across), abs(up))
            ratio = small / max(large, TINY)
            square = ratio * ratio
            position = ratio * (A0 + square * (A1 + square * (A2 + square * (A3 + square * (A4 + square * A5)))))
            position = np.float32(2) - position if abs(up) > abs(across) else position
            position = np.float32(4) - position if across < 0 else position
            positions[j] = np.float32(8) - position if up < 0 else position
            strengths[j] = np.float32(0) if large < NEGLIGIBLE else np.sqrt(across * across + up * up)
        for j in range(1, w - 1):
            strength = strengths[j]
            if strength > 0:
                lower = int(positions[j])
                upper_part = strength * (positions[j] - np.float32(lower))
                out[i, j, lower & 7] = strength - upper_part
                out[i, j, (lower + 1) & 7] = upper_part


@compiled
def describe_grid(maps, tops, lefts, starts, weights, out):
    """Fill out (n_tops * n_lefts, 128) uint8 with the SIFT of windows of one size at every pair of tops and lefts.

    maps (h, w, 8) float32 of `bin_gradients`. A histogram of cell (a, b) sums the pixels from row top + starts[a] and
    from column left + starts[b], weighed by weights[a] and weights[b], (4, n_taps) float32. Rows are summed first, for
    all windows side by side.
    """
    h, w, _ = maps.shape
    n_taps = weights.shape[1]
    rows, strips = maps.reshape(h, w * N_BINS), np.empty((N_CELLS, w * N_BINS), np.float32)
    cells = np.empty(N_VALUES, np.float32)
    for r in range(len(tops)):
        for a in range(N_CELLS):
            first, strip = tops[r] + starts[a], strips[a]
            strip[:] = 0
            for tap in range(max(0, -first), min(n_taps, h - first)):
                weight, row = weights[a, tap], rows[first + tap]
                for k in range(len(strip)):
                    strip[k] += weight * row[k]
        for c in range(len(lefts)):
            for b in range(N_CELLS):
                first = lefts[c] + starts[b]
                low, high = max(0, -first), min(n_taps, w - first)
                for a in range(N_CELLS):
                    sum_columns(strips[a], first, low, high, weights[b], cells[(N_CELLS * a + b) * N_BINS :])
            encode(cells, out[r * len(lefts) + c])


@compiled
def sum_columns(strip, first, low, high, weights, out):
    """Fill out (8,) with the weighed sum of columns first + low to first + high of a strip (w * 8)."""
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = np.float32(0)
    for tap in range(low, high):
        weight, k = weights[tap], (first + tap) * N_BINS
        s0 += weight * strip[k]
        s1 += weight * strip[k + 1]
        s2 += weight * strip[k + 2]
        s3 += weight * strip[k + 3]
        s4 += weight * strip[k + 4]
        s5 += weight * strip[k + 5]
        s6 += weight * strip[k + 6]
        s7 += weight * strip[k + 7]
    out[0], out[1], out[2], out[3], out[4], out[5], out[6], out[7] = s0, s1, s2, s3, s4, s5, s6, s7


@compiled
def encode(cells, out):
    """Fill out (128,) uint8 with cells (128,) brought to length 1, bounded, and brought to length 512, rounded."""
    length = np.float32(0)
    for k in range(N_VALUES):
        length += cells[k] * cells[k]
    bound = np.float32(LARGEST_SHARE) * np.sqrt(length)
    length = np.float32(0)
    for k in range(N_VALUES):
        cells[k] = min(cells[k], bound)
        length += cells[k] * cells[k]
    scale = np.float32(LENGTH) / np.sqrt(length) if length > 0 else np.float32(0)
    for k in range(N_VALUES):
        out[k] = np.uint8(min(cells[k] * scale + np.float32(0.5), np.float32(255)))


@compiled
def normalize_codes(codes, out):
    """Fill out (n, 128) float32 with codes (n, 128) uint8 of length 1; zeros stay."""
    for row in range(len(codes)):
        total = np.int32(0)
        for k in range(N_VALUES):
            total += np.int32(codes[row, k]) * np.int32(codes[row, k])
        scale = np.float32(1 / np.sqrt(total)) if total > 0 else np.float32(0)
        for k in range(N_VALUES):
            out[row, k] = scale * np.float32(codes[row, k])
