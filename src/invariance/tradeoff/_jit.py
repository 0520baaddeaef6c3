"""Compiled loops of the trade-off: the inner support vector machine, the projection, the descent."""

import numpy as np
from numba import njit

TAU = 1e-12
N_ALTERNATING = 2  # steps before the descent
N_REMEMBERED = 5  # values that a step may not exceed: the line search is not monotone


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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
    for _ in range(1000):
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
        if moved < 1e-14:
            break
    for k in range(n_kernels):
        d[k] = max(d[k], 0.0)


@njit(cache=True, nogil=True)
def penalty(d, sigma, power, ridge):
    """Σ_k σ_k d_k^power / power + ½ ridge d_k²."""
    total = 0.0
    for k in range(len(d)):
        total += sigma[k] * (d[k] if power == 1.0 else d[k] ** power / power) + 0.5 * ridge * d[k] * d[k]
    return total


@njit(cache=True, nogil=True)
def _slope(d, sigma, power, ridge):
    return sigma * (1.0 if power == 1.0 else d ** (power - 1.0)) + ridge * d


@njit(cache=True, nogil=True)
def primal_value(K, y, C, alpha, gradient, b):
    """½ wᵀw + C Σ hinge for the w that α makes and the offset b: an upper bound, whatever α is."""
    norm, loss = 0.0, 0.0
    for i in range(len(y)):
        decision = gradient[i] + 1.0 + y[i] * b  # y_i (wᵀφ_i + b)
        norm += alpha[i] * (gradient[i] + 1.0)
        loss += max(0.0, 1.0 - decision)
    return 0.5 * norm + C * loss


@njit(cache=True, nogil=True)
def dual_value(alpha, forms, sigma, power, ridge, A, p, multipliers):
    """A lower bound on the whole problem from any feasible α: [Varma07] eq. (5)-(7), or the conjugate of the penalty.

    With the plain penalty α and the multipliers of A d >= p are scaled until eq. (7) holds, so the bound is rigorous
    though the inner problem was solved approximately.
    """
    total = alpha.sum()
    if power > 1.0:
        for k in range(len(forms)):
            half = 0.5 * max(forms[k], 0.0)
            total -= (1 - 1 / power) * half ** (power / (power - 1)) * sigma[k] ** (-1 / (power - 1))
        return total
    if ridge > 0.0:
        for k in range(len(forms)):
            total -= max(0.5 * forms[k] - sigma[k], 0.0) ** 2 / (2 * ridge)
        return total
    allowed = sigma.copy()
    bonus = 0.0
    if A.shape[0] > 0:
        share = 1.0
        for k in range(len(sigma)):
            taken = 0.0
            for r in range(A.shape[0]):
                taken += A[r, k] * multipliers[r]
            if taken > sigma[k]:
                share = min(share, sigma[k] / taken)
        for r in range(A.shape[0]):
            bonus += share * p[r] * multipliers[r]
            for k in range(len(sigma)):
                allowed[k] -= share * A[r, k] * multipliers[r]
    scale = 1.0
    for k in range(len(forms)):
        half = 0.5 * forms[k]
        if half > allowed[k]:
            scale = min(scale, np.sqrt(max(allowed[k], 0.0) / half))
    return scale * total + bonus


@njit(cache=True, nogil=True)
def learn_weights(Ks, y, C, sigma, power, ridge, A, p, tolerance, max_steps, d, alpha):
    """Weights d and support vectors α, both in place; returns (b, upper bound, lower bound, number of steps).

    Projected gradient descent on T(d), [Varma07] eq. (8)-(13), with spectral step lengths and a line search that allows
    T to rise above the last value but not above the last few. It ends when the best upper and lower bounds are within
    `tolerance`, relative to the upper one.
    """
    n_kernels, n = Ks.shape[0], len(y)
    K = np.empty((n, n))
    gradient, forms = np.empty(n), np.empty(n_kernels)
    slope, trial = np.empty(n_kernels), np.empty(n_kernels)
    last_d, last_slope = np.empty(n_kernels), np.empty(n_kernels)
    trial_alpha, trial_gradient, trial_forms = np.empty(n), np.empty(n), np.empty(n_kernels)
    multipliers = np.zeros(A.shape[0])
    inner, inner_steps = 1e-3, 200 * n + 60_000_000 // n
    project(d, A, p, multipliers)
    combine(Ks, d, K)
    b = solve_dual(K, y, C, inner, inner_steps, alpha, gradient)
    quadratic_forms(Ks, y, alpha, forms)
    if A.shape[0] == 0 and power == 1.0 and ridge == 0.0:
        # For fixed w the best weights are d_k √(αᵀYK_kYα / 2σ_k): a few such steps lead near the optimum at once.
        for _ in range(N_ALTERNATING):
            for k in range(n_kernels):
                d[k] *= np.sqrt(max(forms[k], 0.0) / (2 * sigma[k]))
            combine(Ks, d, K)
            b = solve_dual(K, y, C, inner, inner_steps, alpha, gradient)
            quadratic_forms(Ks, y, alpha, forms)
    value = alpha.sum() - 0.5 * np.dot(d, forms) + penalty(d, sigma, power, ridge)
    remembered = np.full(N_REMEMBERED, -np.inf)
    remembered[0] = value
    lowest, highest = -np.inf, np.inf
    best_d, best_alpha, best_b = d.copy(), alpha.copy(), b
    step_length, n_steps = 1.0, 0
    for step in range(max_steps):
        n_steps = step + 1
        upper = primal_value(K, y, C, alpha, gradient, b) + penalty(d, sigma, power, ridge)
        for k in range(n_kernels):
            slope[k] = _slope(d[k], sigma[k], power, ridge) - 0.5 * forms[k]
        for k in range(n_kernels):
            trial[k] = d[k] - step_length * slope[k]
        project(trial, A, p, multipliers)
        for r in range(len(multipliers)):
            multipliers[r] /= step_length
        lowest = max(lowest, dual_value(alpha, forms, sigma, power, ridge, A, p, multipliers))
        if upper < highest:
            highest, best_b = upper, b
            best_d[:] = d
            best_alpha[:] = alpha
        if highest - lowest <= tolerance * abs(highest):
            break
        descent = 0.0
        for k in range(n_kernels):
            trial[k] -= d[k]
            descent += trial[k] * slope[k]
        # What the inner machine leaves open: when it is most of the gap, or of the descent, solve it better.
        inner_gap = upper - value
        if inner_gap > 0.2 * (highest - lowest) or -descent < 2 * inner_gap:
            if inner > 1e-12:
                inner *= 0.1
                b = solve_dual(K, y, C, inner, inner_steps, alpha, gradient)
                quadratic_forms(Ks, y, alpha, forms)
                value = alpha.sum() - 0.5 * np.dot(d, forms) + penalty(d, sigma, power, ridge)
                remembered[:] = -np.inf
                remembered[0] = value
                continue
            if -descent <= 1e-15 * abs(value):
                break
        last_d[:] = d
        last_slope[:] = slope
        share = 1.0
        ceiling = remembered.max()
        for _ in range(40):
            for k in range(n_kernels):
                d[k] = max(last_d[k] + share * trial[k], 0.0)
            combine(Ks, d, K)
            trial_alpha[:] = alpha
            b = solve_dual(K, y, C, inner, inner_steps, trial_alpha, trial_gradient)
            quadratic_forms(Ks, y, trial_alpha, trial_forms)
            value = trial_alpha.sum() - 0.5 * np.dot(d, trial_forms) + penalty(d, sigma, power, ridge)
            if value <= ceiling + 1e-4 * share * descent + 1e-13 * abs(ceiling):
                break
            share *= 0.3
        alpha[:] = trial_alpha
        gradient[:] = trial_gradient
        forms[:] = trial_forms
        remembered[(step + 1) % N_REMEMBERED] = value
        # The spectral step length: |Δd|² / <Δd, Δslope>.
        moved, bent = 0.0, 0.0
        for k in range(n_kernels):
            change = d[k] - last_d[k]
            moved += change * change
            bent += change * (_slope(d[k], sigma[k], power, ridge) - 0.5 * forms[k] - last_slope[k])
        step_length = min(max(moved / bent, 1e-12), 1e12) if bent > 0 else min(10 * step_length, 1e12)
    d[:] = best_d
    alpha[:] = best_alpha
    return best_b, highest, lowest, n_steps
