"""Compiled loops of hierarchies, and the memory they work in: patches, running histograms, running maxima."""

import numpy as np

from invariance._core._jit import copy_values
from invariance._core.compilation import compiled


class Scratch:
    """Float32 arrays that are used again for every image: allocating them each time costs more than filling them."""

    def __init__(self):
        self._arrays: dict[tuple, np.ndarray] = {}

    def array(self, name: str, *shape: int) -> np.ndarray:
        """Return the array of this name and shape, with whatever values it holds."""
        key = (name, *shape)
        if key not in self._arrays:
            self._arrays[key] = np.empty(shape, np.float32)
        return self._arrays[key]


@compiled(fastmath={"reassoc"})
def _normalize(vector):
    """Scale a vector to length 1 in place; zeros stay zeros. The sum may be reordered, so that it is vectorised."""
    total = 0.0
    for k in range(vector.shape[0]):
        total += np.float64(vector[k]) * np.float64(vector[k])
    if total > 1e-60:
        scale = np.float32(1 / np.sqrt(total))
        for k in range(vector.shape[0]):
            vector[k] *= scale
    elif total > 0:  # the factor would overflow float32
        for k in range(vector.shape[0]):
            vector[k] = np.float32(np.float64(vector[k]) / np.sqrt(total))


@compiled
def normalize_rows(values):
    """Scale every row (n, q) to length 1 in place; a row of zeros stays zero."""
    for row in range(values.shape[0]):
        _normalize(values[row])


@compiled
def cut_patches(lines, height, width, n_channels, hop, normalized, out):
    """Copy the patches at every `hop`-th row and column into out (rows, cols, height * width * n_channels).

    `lines` (h, w * n_channels) is the image with interleaved channels. Normalised patches have length 1; a patch of
    zeros stays zero.
    """
    length = width * n_channels
    for row in range(out.shape[0]):
        for col in range(out.shape[1]):
            patch = out[row, col]
            left = col * hop * n_channels
            for i in range(height):
                line = lines[row * hop + i]
                for k in range(length):
                    patch[i * length + k] = line[left + k]
            if normalized:
                _normalize(patch)


@compiled
def cut_histograms(codes, height, width, hop, n_bins, out):
    """Histograms of length 1 of all patches of an image of bin numbers (h, w, c), one per channel, concatenated.

    out is (rows, cols, c * n_bins). Along a row the counts of a patch are those of its left neighbour, minus the
    columns that leave the window, plus those that enter it.
    """
    n_channels = codes.shape[2]
    counts = np.empty(n_channels * n_bins, np.int64)
    for row in range(out.shape[0]):
        top = row * hop
        counts[:] = 0
        for col in range(out.shape[1]):
            left = col * hop
            first_new = left if col == 0 or hop >= width else left + width - hop
            if col > 0:
                for i in range(top, top + height):
                    for j in range(left - hop, min(left, left - hop + width)):
                        for channel in range(n_channels):
                            counts[channel * n_bins + codes[i, j, channel]] -= 1
            for i in range(top, top + height):
                for j in range(first_new, left + width):
                    for channel in range(n_channels):
                        counts[channel * n_bins + codes[i, j, channel]] += 1
            total = 0.0
            for k in range(len(counts)):
                total += np.float64(counts[k]) * counts[k]
            scale = 1 / np.sqrt(total)
            histogram = out[row, col]
            for k in range(len(counts)):
                histogram[k] = np.float32(counts[k] * scale)


@compiled
def _maximum(one, other, out):
    """Larger of two vectors, element by element."""
    for k in range(out.shape[0]):
        out[k] = one[k] if one[k] > other[k] else other[k]


@compiled
def _slide(source, first, apart, window, n_windows, memory, out, first_out, apart_out):
    """Maxima of `window` neighbours along a line of vectors, by van Herk's algorithm.

    The line is source[first], source[first + apart], ... of (n, q); its maxima go to out[first_out], out[first_out +
    apart_out], ... A window is the end of one block of `window` vectors and the start of the next. memory[k] holds the
    maximum of a block from its k-th vector on, the last row of memory that of the start of the next block. Both grow by
    one vector at a time, so each vector is compared about three times, whatever the window.
    """
    begun = memory[window]
    for start in range(0, n_windows, window):
        copy_values(source[first + (start + window - 1) * apart], memory[window - 1])
        for k in range(window - 2, -1, -1):
            _maximum(memory[k + 1], source[first + (start + k) * apart], memory[k])
        copy_values(memory[0], out[first_out + start * apart_out])
        for k in range(1, min(window, n_windows - start)):
            new = source[first + (start + window + k - 1) * apart]
            if k == 1:
                copy_values(new, begun)
            else:
                _maximum(begun, new, begun)
            _maximum(memory[k], begun, out[first_out + (start + k) * apart_out])


@compiled
def running_maximum(values, window_rows, window_cols, along, memory, out):
    """Maxima over windows of a grid of vectors: values (r, c, q) into out (r - wr + 1, c - wc + 1, q).

    `along` (r, c - wc + 1, q) and `memory` (max(wr, wc) + 1, q) are work space. All are used as rows of vectors, so
    that the compiler knows that each vector is contiguous.
    """
    n_rows, n_cols, q = values.shape
    n_out_rows, n_out_cols = out.shape[0], out.shape[1]
    flat, flat_along = values.reshape(n_rows * n_cols, q), along.reshape(n_rows * n_out_cols, q)
    flat_out = out.reshape(n_out_rows * n_out_cols, q)
    next_col = np.int64(1)  # a constant would compile `_slide` once more
    for row in range(n_rows):
        _slide(flat, row * n_cols, next_col, window_cols, n_out_cols, memory, flat_along, row * n_out_cols, next_col)
    for col in range(n_out_cols):
        _slide(flat_along, col, n_out_cols, window_rows, n_out_rows, memory, flat_out, col, n_out_cols)
