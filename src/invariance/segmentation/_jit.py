"""Compiled loops of the segmentation; each has its plain twin in tests/reference.py."""

import numpy as np

from invariance._core.compilation import compiled


@compiled
def fill_extremes(fixed, negated, turned, largest, smallest):
    """Fill `largest` and `smallest` (k, n) with the extremes over q of A + B + C, A - B + D, A + B - C and A - B - D.

    A is `fixed` and B `negated`, both (k, q, n) float32; C and D are `turned` (2, k, q, n).
    """
    n_filters, n_orbits, n_columns = fixed.shape
    for k in range(n_filters):
        high, low = largest[k], smallest[k]
        for q in range(n_orbits):
            a, b, c, d = fixed[k, q], negated[k, q], turned[0, k, q], turned[1, k, q]
            for i in range(n_columns):
                up, across = abs(c[i]), abs(d[i])
                top = a[i] + max(b[i] + up, across - b[i])
                bottom = a[i] + min(b[i] - up, -b[i] - across)
                high[i] = top if q == 0 else max(high[i], top)
                low[i] = bottom if q == 0 else min(low[i], bottom)


@compiled
def fill_derivatives(blurred, squares, width, gradient, large, small, deviation):
    """Fill what a blurred plane (h + 4, w + 4) and its blurred squares (h, w) say of every pixel, all (h, w) float32.

    The length of the gradient times the width, the eigenvalues of the Hessian times the square of the width, and the
    standard deviation. Derivatives are central differences, second ones central differences of these.
    """
    height, n_columns = gradient.shape
    half, quarter, none = np.float32(0.5), np.float32(0.25), np.float32(0)
    area = np.float32(width * width)
    for row in range(height):
        above, before, here, after, below = (
            blurred[row], blurred[row + 1], blurred[row + 2], blurred[row + 3], blurred[row + 4]
        )  # fmt: skip
        for i in range(n_columns):
            value = here[i + 2]
            down = half * (after[i + 2] - before[i + 2])
            right = half * (here[i + 3] - here[i + 1])
            gradient[row, i] = width * np.sqrt(down * down + right * right)
            first = quarter * ((below[i + 2] - value) - (value - above[i + 2]))
            second = quarter * ((here[i + 4] - value) - (value - here[i]))
            mixed = quarter * ((after[i + 3] - before[i + 3]) - (after[i + 1] - before[i + 1]))
            middle, difference = half * (first + second), half * (first - second)
            radius = np.sqrt(difference * difference + mixed * mixed)
            large[row, i] = area * (middle + radius)
            small[row, i] = area * (middle - radius)
            deviation[row, i] = np.sqrt(max(squares[row, i] - value * value, none))


@compiled
def fill_eigenvalues(first, second, mixed, large, small):
    """Fill `large` and `small` with the eigenvalues of the matrices [[first, mixed], [mixed, second]], all (h, w)."""
    half = np.float32(0.5)
    for row in range(first.shape[0]):
        for i in range(first.shape[1]):
            middle = half * (first[row, i] + second[row, i])
            difference = half * (first[row, i] - second[row, i])
            radius = np.sqrt(difference * difference + mixed[row, i] * mixed[row, i])
            large[row, i] = middle + radius
            small[row, i] = middle - radius
