"""Compiled loops of the jungles; each has its plain twin in tests/reference.py."""

import numpy as np

from invariance._core.compilation import compiled

# Below this a class weight is what rounding leaves of 0; weights have mean 1.
NO_WEIGHT = 1e-12


@compiled
def largest_rows(responses, best, winners):
    """Find the largest of the T responses (T, n) of every sample, and the member that gave it."""
    n_members, n_samples = responses.shape
    for i in range(n_samples):
        best[i] = responses[0, i]
        winners[i] = 0
    for t in range(1, n_members):
        for i in range(n_samples):
            if responses[t, i] > best[i]:
                best[i] = responses[t, i]
                winners[i] = t


@compiled
def add_rows_by_winner(coordinates, winners, first_member, residuals, sums):
    """Add residual * row to sums[winner - first_member] for the rows (n, r) whose winner belongs to `sums` (T_p, r)."""
    n_samples, rank = coordinates.shape
    n_members = sums.shape[0]
    for i in range(n_samples):
        member = winners[i] - first_member
        if 0 <= member < n_members:
            for j in range(rank):
                sums[member, j] += residuals[i] * coordinates[i, j]


@compiled
def best_threshold(sorted_values, sorted_codes, sorted_weights, n_classes, min_samples):
    """Find the cut of ascending values with the largest information gain: (threshold, gain); gain -1 without any cut.

    With W the weight of a side and w_c that of its classes, W times its entropy is W log W - Σ w_c log w_c, so moving
    one sample to the left side changes two terms per side.
    """
    left, right = np.zeros(n_classes), np.zeros(n_classes)
    for i in range(len(sorted_values)):
        right[sorted_codes[i]] += sorted_weights[i]
    total = right.sum()
    right_sum, right_total, left_sum, left_total = 0.0, total, 0.0, 0.0
    for c in range(n_classes):
        right_sum += _x_log_x(right[c])
    whole = _x_log_x(total) - right_sum
    best_gain, threshold = -1.0, 0.0
    for i in range(len(sorted_values) - 1):
        c, weight = sorted_codes[i], sorted_weights[i]
        left_sum += _x_log_x(left[c] + weight) - _x_log_x(left[c])
        right_sum += _x_log_x(right[c] - weight) - _x_log_x(right[c])
        left[c] += weight
        right[c] -= weight
        left_total += weight
        right_total -= weight
        if sorted_values[i + 1] <= sorted_values[i] or i + 1 < min_samples:
            continue
        if len(sorted_values) - i - 1 < min_samples:
            break
        rest = _x_log_x(left_total) - left_sum + _x_log_x(right_total) - right_sum
        gain = (whole - rest) / total
        if gain > best_gain:
            best_gain = gain
            threshold = 0.5 * (sorted_values[i] + sorted_values[i + 1])
    return threshold, best_gain


@compiled(inline="always")
def _x_log_x(x):
    """Compute x log x; weights that are 0 up to rounding give 0."""
    return x * np.log(x) if x > NO_WEIGHT else 0.0
