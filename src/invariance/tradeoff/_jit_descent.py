"""Compiled loops of the descent over weights.

It is the spectral projected gradient of Birgin, Martínez and Raydan (SIAM J. Optim. 10, 2000), called SPG below, on the
optimum T(d) of the inner support vector machine.
"""

from typing import NamedTuple

import numpy as np

from invariance._core._jit import copy_values
from invariance._core.compilation import compiled
from invariance.tradeoff._jit import combine, project, quadratic_forms, solve_dual

# The inner machine. Its tolerance, on the violation of a pair, is tightened whenever it limits the descent.
FIRST_TOLERANCE = 1e-3  # libsvm's default
TIGHTENING = 0.1
LAST_TOLERANCE = 1e-12  # below it, violations are rounding errors of the gradient
# A machine may take STEPS_PER_SAMPLE * n + MAX_ENTRIES / n steps, each of which reads three rows of n numbers. Measured
# with C = 1e9 on a kernel of rank two, which never converges: 0.3 s for 200 samples, 1.1 s for 1,000.
STEPS_PER_SAMPLE = 200
MAX_ENTRIES = 60_000_000
# It is solved more accurately when its own gap exceeds this share of the whole gap, or when this multiple of its gap
# exceeds what the next step may gain: the line search would then compare errors of the machine.
INNER_SHARE = 0.2
INNER_FACTOR = 2.0

# The descent.
N_ALTERNATING = 2  # closed-form steps before it: these converge slowly, but the first ones are the best there are
N_REMEMBERED = 5  # values of T whose largest a step must stay below: SPG's line search is not monotone (there 10)
SUFFICIENT_DECREASE = 1e-4  # share of the predicted decrease that a step must reach, as in SPG
BACKTRACKING = 0.3  # factor of a step that is too long; SPG allows 0.1 to 0.9
MAX_BACKTRACKS = 40  # 0.3**40 is 1e-21: shorter steps change no weight
ROUNDING = 1e-13  # relative error of a value of T(d), so that a step is not refused for it
STATIONARY = 1e-15  # relative decrease below which no step is left to take
MIN_STEP, MAX_STEP = 1e-12, 1e12  # of the spectral step length; SPG has 1e-30 and 1e30
STEP_GROWTH = 10.0  # where the slope does not grow along the step, so that there is no spectral step length


class Problem(NamedTuple):
    """One two-class task, [Varma07] eq. (1)-(4): the penalty of weights d is Σ_k σ_k d_k^norm / norm + ½ ridge d_k²."""

    Ks: np.ndarray  # (k, n, n) Gram matrices
    y: np.ndarray  # (n,) labels -1 and +1
    C: float
    sigma: np.ndarray  # (k,)
    norm: float
    ridge: float
    A: np.ndarray  # (r, k) and p (r,) of the constraints A d >= p
    p: np.ndarray


class Point(NamedTuple):
    """Weights and the machine on them; all arrays are written in place."""

    d: np.ndarray  # (k,) weights
    alpha: np.ndarray  # (n,) of the machine
    K: np.ndarray  # (n, n) Σ_k d_k K_k
    gradient: np.ndarray  # (n,) YKYα - 1
    forms: np.ndarray  # (k,) αᵀYK_kYα


@compiled
def penalty(problem, d):
    """Σ_k σ_k d_k^norm / norm + ½ ridge d_k²."""
    norm, total = problem.norm, 0.0
    for k in range(len(d)):
        power = d[k] if norm == 1.0 else d[k] ** norm / norm
        total += problem.sigma[k] * power + 0.5 * problem.ridge * d[k] * d[k]
    return total


@compiled
def _find_slope(problem, point, out):
    """∂T/∂d_k into out (k,), [Varma07] eq. (13)."""
    norm = problem.norm
    for k in range(len(out)):
        power = 1.0 if norm == 1.0 else point.d[k] ** (norm - 1.0)
        out[k] = problem.sigma[k] * power + problem.ridge * point.d[k] - 0.5 * point.forms[k]


@compiled
def primal_value(problem, point, b):
    """½ wᵀw + C Σ hinge + penalty for the w that α makes and the offset b: an upper bound, whatever α is."""
    norm, loss = 0.0, 0.0
    for i in range(len(problem.y)):
        decision = point.gradient[i] + 1.0 + problem.y[i] * b  # y_i (wᵀφ_i + b)
        norm += point.alpha[i] * (point.gradient[i] + 1.0)
        loss += max(0.0, 1.0 - decision)
    return 0.5 * norm + problem.C * loss + penalty(problem, point.d)


@compiled
def dual_value(problem, point, multipliers):
    """A lower bound on the whole problem from any feasible α: [Varma07] eq. (5)-(7), or the conjugate of the penalty.

    With the plain penalty α and the multipliers of A d >= p are scaled until eq. (7) holds, so the bound is rigorous
    though the inner problem was solved approximately.
    """
    forms, sigma, norm = point.forms, problem.sigma, problem.norm
    total = point.alpha.sum()
    if norm > 1.0:
        for k in range(len(forms)):
            half = 0.5 * max(forms[k], 0.0)
            total -= (1 - 1 / norm) * half ** (norm / (norm - 1)) * sigma[k] ** (-1 / (norm - 1))
        return total
    if problem.ridge > 0.0:
        for k in range(len(forms)):
            total -= max(0.5 * forms[k] - sigma[k], 0.0) ** 2 / (2 * problem.ridge)
        return total
    allowed, bonus = _spend_multipliers(problem, multipliers)
    scale = 1.0
    for k in range(len(forms)):
        half = 0.5 * forms[k]
        if half > allowed[k]:
            scale = min(scale, np.sqrt(max(allowed[k], 0.0) / half))
    return scale * total + bonus


@compiled
def _spend_multipliers(problem, multipliers):
    """What the multipliers μ of A d >= p, scaled until Aᵀμ <= σ, leave of σ (k,), and what they add, pᵀμ."""
    A, allowed = problem.A, problem.sigma.copy()
    share, bonus = 1.0, 0.0
    for k in range(A.shape[1]):
        taken = 0.0
        for r in range(A.shape[0]):
            taken += A[r, k] * multipliers[r]
        if taken > problem.sigma[k]:
            share = min(share, problem.sigma[k] / taken)
    for r in range(A.shape[0]):
        bonus += share * problem.p[r] * multipliers[r]
        for k in range(A.shape[1]):
            allowed[k] -= share * A[r, k] * multipliers[r]
    return allowed, bonus


@compiled
def _solve_machine(problem, point, tolerance):
    """Solve the machine on the matrix of the point, from its α; returns the offset b and T(d)."""
    n = len(problem.y)
    max_steps = STEPS_PER_SAMPLE * n + MAX_ENTRIES // n
    b = solve_dual(point.K, problem.y, problem.C, tolerance, max_steps, point.alpha, point.gradient)
    quadratic_forms(problem.Ks, problem.y, point.alpha, point.forms)
    return b, point.alpha.sum() - 0.5 * np.dot(point.d, point.forms) + penalty(problem, point.d)


@compiled
def _start(problem, point, tolerance):
    """Solve the machine on the first weights and, for the plain penalty, bring them near the optimum; b and T(d)."""
    combine(problem.Ks, point.d, point.K)
    b, value = _solve_machine(problem, point, tolerance)
    if problem.A.shape[0] == 0 and problem.norm == 1.0 and problem.ridge == 0.0:
        # For fixed w the best weights are d_k √(αᵀYK_kYα / 2σ_k): a few such steps lead near the optimum at once.
        for _ in range(N_ALTERNATING):
            for k in range(len(point.d)):
                point.d[k] *= np.sqrt(max(point.forms[k], 0.0) / (2 * problem.sigma[k]))
            combine(problem.Ks, point.d, point.K)
            b, value = _solve_machine(problem, point, tolerance)
    return b, value


@compiled
def _find_direction(problem, point, slope, step_length, direction, multipliers):
    """The projected gradient step from d into `direction` (k,); returns its product with the slope.

    `multipliers` (r,) become those of A d >= p for T(d).
    """
    for k in range(len(slope)):
        direction[k] = point.d[k] - step_length * slope[k]
    project(direction, problem.A, problem.p, multipliers)
    for r in range(len(multipliers)):
        multipliers[r] /= step_length
    descent = 0.0
    for k in range(len(slope)):
        direction[k] -= point.d[k]
        descent += direction[k] * slope[k]
    return descent


@compiled
def _search_line(problem, point, direction, descent, ceiling, tolerance):
    """Move the point along the direction until T(d) is far enough below the ceiling; returns b and T(d)."""
    first_d, first_alpha = point.d.copy(), point.alpha.copy()
    share, b, value = 1.0, 0.0, 0.0
    for _ in range(MAX_BACKTRACKS):
        for k in range(len(first_d)):
            point.d[k] = max(first_d[k] + share * direction[k], 0.0)
        combine(problem.Ks, point.d, point.K)
        copy_values(first_alpha, point.alpha)
        b, value = _solve_machine(problem, point, tolerance)
        if value <= ceiling + SUFFICIENT_DECREASE * share * descent + ROUNDING * abs(ceiling):
            break
        share *= BACKTRACKING
    return b, value


@compiled
def _spectral_step(d, last_d, slope, last_slope, step_length):
    """The spectral step length |Δd|² / <Δd, Δslope>, within bounds."""
    moved, bent = 0.0, 0.0
    for k in range(len(d)):
        change = d[k] - last_d[k]
        moved += change * change
        bent += change * (slope[k] - last_slope[k])
    if bent > 0:
        return min(max(moved / bent, MIN_STEP), MAX_STEP)
    return min(STEP_GROWTH * step_length, MAX_STEP)


@compiled
def learn_weights(problem, tolerance, max_steps, d, alpha):
    """Weights d and support vectors α, both in place; returns (b, upper bound, lower bound, number of steps).

    Projected gradient descent on T(d), [Varma07] eq. (8)-(13), with spectral step lengths and a line search that allows
    T to rise above the last value but not above the last few. It ends when the best upper and lower bounds are within
    `tolerance`, relative to the upper one.
    """
    n_kernels, n = len(d), len(alpha)
    slope, direction, multipliers = np.empty(n_kernels), np.empty(n_kernels), np.zeros(len(problem.p))
    project(d, problem.A, problem.p, multipliers)
    point = Point(d, alpha, np.empty((n, n)), np.empty(n), np.empty(n_kernels))
    inner = FIRST_TOLERANCE
    b, value = _start(problem, point, inner)
    remembered = np.full(N_REMEMBERED, -np.inf)
    remembered[0] = value
    _find_slope(problem, point, slope)
    lowest, highest = -np.inf, np.inf
    best_d, best_alpha, best_b = d.copy(), alpha.copy(), b
    step_length, n_steps = 1.0, 0
    for step in range(max_steps):
        n_steps = step + 1
        descent = _find_direction(problem, point, slope, step_length, direction, multipliers)
        upper = primal_value(problem, point, b)
        lowest = max(lowest, dual_value(problem, point, multipliers))
        if upper < highest:
            highest, best_b = upper, b
            copy_values(d, best_d)
            copy_values(alpha, best_alpha)
        if highest - lowest <= tolerance * abs(highest):
            break
        inner_gap = upper - value
        if inner_gap > INNER_SHARE * (highest - lowest) or -descent < INNER_FACTOR * inner_gap:
            if inner > LAST_TOLERANCE:
                inner *= TIGHTENING
                b, value = _solve_machine(problem, point, inner)
                remembered[:] = -np.inf
                remembered[0] = value
                _find_slope(problem, point, slope)
                continue
            if -descent <= STATIONARY * abs(value):
                break
        last_d, last_slope = d.copy(), slope.copy()
        b, value = _search_line(problem, point, direction, descent, remembered.max(), inner)
        remembered[(step + 1) % N_REMEMBERED] = value
        _find_slope(problem, point, slope)
        step_length = _spectral_step(d, last_d, slope, last_slope, step_length)
    copy_values(best_d, d)
    copy_values(best_alpha, alpha)
    return best_b, highest, lowest, n_steps
