"""Compiled loops of the segmentation; each has its plain twin in tests/reference.py."""

import numpy as np

from invariance._core.compilation import compiled

# Columns processed together, so that their masks and features stay in a fast cache.
GROUP = 256
ALL_LEAVES = np.uint32(0xFFFFFFFF)
# A power of two as a float32: its exponent begins at this bit and is this much too large.
EXPONENT_BIT, EXPONENT_BIAS = np.uint32(23), np.uint32(127)


@compiled
def add_trees(features, first_test, feature, threshold, kept, first_leaf, value, scores):
    """Add to scores (n,) the value of the leaf that every column of features (F, n) float32 reaches in every tree.

    Paths are not followed: the leaves of a tree are bits, from left to right, and every test that sends a column to the
    right clears the bits of the leaves on its left; the lowest remaining bit is the leaf. All columns do the same work,
    so that the compiler can vectorise it.
    """
    n_features, n_columns = features.shape
    near = np.zeros((n_features, GROUP), np.float32)
    leaves = np.empty(GROUP, np.uint32)
    sums = np.empty(GROUP, np.float64)
    # Loops are as long as a group, even if it has fewer columns: their length is then known when they are compiled.
    for start in range(0, n_columns, GROUP):
        stop = min(start + GROUP, n_columns)
        near[:, : stop - start] = features[:, start:stop]
        sums[:] = 0
        for tree in range(len(first_leaf)):
            for i in range(GROUP):
                leaves[i] = ALL_LEAVES
            first, end = first_test[tree], first_test[tree + 1]
            # Two tests at a time, as reading and writing the masks takes as long as the tests.
            for test in range(first, end - 1, 2):
                one, one_limit, one_rest = near[feature[test]], threshold[test], kept[test]
                two, two_limit, two_rest = near[feature[test + 1]], threshold[test + 1], kept[test + 1]
                for i in range(GROUP):
                    after_one = one_rest if one[i] > one_limit else ALL_LEAVES
                    after_two = two_rest if two[i] > two_limit else ALL_LEAVES
                    leaves[i] &= after_one & after_two
            if (end - first) % 2:
                one, one_limit, one_rest = near[feature[end - 1]], threshold[end - 1], kept[end - 1]
                for i in range(GROUP):
                    leaves[i] &= one_rest if one[i] > one_limit else ALL_LEAVES
            values = value[first_leaf[tree] :]
            for i in range(GROUP):
                lowest = np.float32(leaves[i] & (~leaves[i] + np.uint32(1)))
                sums[i] += values[(lowest.view(np.uint32) >> EXPONENT_BIT) - EXPONENT_BIAS]
        for i in range(stop - start):
            scores[start + i] += sums[i]


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
