"""Compiled loops of the inner support vector machine, of sums of kernels, and of the projection of weights.

The machine is that of libsvm (Fan, Chen and Lin, JMLR 6, 2005).
"""

import numpy as np

from invariance._core.compilation import compiled

TAU = 1e-12  # least curvature of a pair of samples, as in libsvm
MAX_CYCLES = 1000  # of the projection, which converges linearly
SETTLED = 1e-14  # a cycle that moves no weight further, the rounding error of weights of about 1, is the last


@compiled
def solve_dual(K, y, C, tolerance, max_steps, alpha, gradient):
    """Max 1ᵀα - ½ αᵀYKYα over 0 <= α <= C, yᵀα = 0, from a feasible α, in place; returns the offset b.

    Sequential minimal optimisation: the pair that violates most by second-order information is solved exactly, until
    no pair violates by more than `tolerance`. `gradient` becomes YKYα - 1.
    """
    n = len(y)
    for i in range(n):
        gradient[i] = -1.0
    for j in range(n):
        if alpha[j] != 0.0:
            weight = alpha[j] * y[j]
            for i in range(n):
                gradient[i] += y[i] * weight * K[j, i]
    for _ in range(max_steps):
        # i: the largest of -y g among those that may grow along y.
        i, largest, smallest = -1, -np.inf, np.inf
        for t in range(n):
            value = -y[t] * gradient[t]
            grows = alpha[t] < C if y[t] > 0 else alpha[t] > 0
            shrinks = alpha[t] > 0 if y[t] > 0 else alpha[t] < C
            if grows and value > largest:
                i, largest = t, value
            if shrinks and value < smallest:
                smallest = value
        if i < 0 or largest - smallest < tolerance:
            break
        # j: the one with which i gains most.
        j, gain = -1, 0.0
        row, own = K[i], K[i, i]
        for t in range(n):
            if alpha[t] > 0 if y[t] > 0 else alpha[t] < C:
                violation = largest + y[t] * gradient[t]
                if violation > 0:
                    curvature = max(own + K[t, t] - 2 * row[t], TAU)
                    if violation * violation / curvature > gain:
                        j, gain = t, violation * violation / curvature
        if j < 0:
            break
        curvature = max(own + K[j, j] - 2 * row[j], TAU)
        step = (largest + y[j] * gradient[j]) / curvature
        room_i = C - alpha[i] if y[i] > 0 else alpha[i]
        room_j = alpha[j] if y[j] > 0 else C - alpha[j]
        step = min(step, room_i, room_j)
        alpha[i] += y[i] * step
        alpha[j] -= y[j] * step
        if step == room_i:
            alpha[i] = C if y[i] > 0 else 0.0
        if step == room_j:
            alpha[j] = 0.0 if y[j] > 0 else C
        other = K[j]
        for t in range(n):
            gradient[t] += y[t] * step * (row[t] - other[t])
    return _offset(y, C, alpha, gradient)


@compiled
def _offset(y, C, alpha, gradient):
    """b: the mean over free support vectors, else the middle of what the bounds allow."""
    total, n_free, low, high = 0.0, 0, -np.inf, np.inf
    for t in range(len(y)):
        value = -y[t] * gradient[t]
        if 0 < alpha[t] < C:
            total += value
            n_free += 1
        elif (alpha[t] == 0.0) == (y[t] > 0):
            low = max(low, value)
        else:
            high = min(high, value)
    if n_free > 0:
        return total / n_free
    if low == -np.inf or high == np.inf:
        return 0.0 if low == high else max(low, -1e300) if high == np.inf else high
    return (low + high) / 2


@compiled
def combine(Ks, d, out):
    """Σ_k d_k K_k of (k, n, n) into out (n, n)."""
    out[:] = 0.0
    for k in range(len(d)):
        if d[k] != 0.0:
            source, weight = Ks[k], d[k]
            for i in range(out.shape[0]):
                line, target = source[i], out[i]
                for j in range(out.shape[1]):
                    target[j] += weight * line[j]


@compiled
def quadratic_forms(Ks, y, alpha, out):
    """αᵀYK_kYα for every k, over the support vectors alone."""
    support = np.flatnonzero(alpha)
    weights = alpha[support] * y[support]
    for k in range(Ks.shape[0]):
        source, total = Ks[k], 0.0
        for i in range(len(support)):
            line, inner = source[support[i]], 0.0
            for j in range(len(support)):
                inner += line[support[j]] * weights[j]
            total += weights[i] * inner
        out[k] = total


@compiled
def project(d, A, p, multipliers):
    """The nearest point to d with d >= 0 and A d >= p, in place, by Hildreth's cycle over the half-spaces.

    `multipliers` (rows of A) are started from and become those of A d >= p. Without rows it is max(d, 0).
    """
    n_rows, n_kernels = A.shape
    if n_rows == 0:
        for k in range(n_kernels):
            d[k] = max(d[k], 0.0)
        return
    lifted = np.zeros(n_kernels)
    multipliers[:] = 0.0
    for _ in range(MAX_CYCLES):
        moved = 0.0
        for r in range(n_rows):
            length, value = 0.0, -p[r]
            for k in range(n_kernels):
                length += A[r, k] * A[r, k]
                value += A[r, k] * d[k]
            if length > 0.0:
                step = max(-value / length, -multipliers[r])
                multipliers[r] += step
                for k in range(n_kernels):
                    d[k] += step * A[r, k]
                moved = max(moved, abs(step) * np.sqrt(length))
        for k in range(n_kernels):
            step = max(-d[k], -lifted[k])
            lifted[k] += step
            d[k] += step
            moved = max(moved, abs(step))
        if moved < SETTLED:
            break
    for k in range(n_kernels):
        d[k] = max(d[k], 0.0)
