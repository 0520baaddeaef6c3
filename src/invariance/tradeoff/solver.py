"""Weights of base kernels for one two-class task: min over d of T(d), [Varma07] eq. (1)-(13).

  min_{w,b,ξ,d} ½ wᵀw + C 1ᵀξ + R(d)   s.t. y_i (wᵀφ(x_i) + b) >= 1 - ξ_i, ξ >= 0, d >= 0, A d >= p      (1)-(3)
  where φ(x)ᵀφ(x') = Σ_k d_k K_k(x, x')                                                                   (4)

T(d) is the optimum for fixed d, a support vector machine; ∂T/∂d_k = R'_k(d) - ½ αᵀYK_kYα at its α (13). The inner
machine is sequential minimal optimisation started from the last α, the outer descent a spectral projected gradient.

Differs from [Varma07]: R(d) = σᵀd as in the paper, or Σ σ_k d_k^norm / norm, or σᵀd + ½ ridge |d|², since sparse
weights lose to the plain average where samples are few. The descent stops on the relative difference of a true upper
and a true lower bound: with C = 1000 a difference estimated from an approximate α can be wrong by a factor of 60, so
the upper bound is the primal value of the point that α makes, and the lower one that of α scaled until eq. (7) holds.
"""

from typing import Any, NamedTuple

import numpy as np

from invariance._core import loaded
from invariance._core.checks import check_number
from invariance.tradeoff._jit import combine, project, solve_dual
from invariance.tradeoff._jit_descent import Problem, learn_weights

MAX_STEPS = 5000  # of the descent; on 200 digits and 8 kernels a gap of 1e-3 takes at most 42, one of 1e-6 at most 75
# A machine on fixed weights is solved to libsvm's default tolerance, in at most this many steps.
FIXED_TOLERANCE = 1e-3
FIXED_STEPS, FIXED_STEPS_PER_SAMPLE = 100_000, 1000
MAX_SCALE_RATIO = 10.0  # of the mean diagonals of kernels, beyond which they are scaled to 1


class Terms(NamedTuple):
    """Penalty and constraints of the weights: σ (k,), the power of d, the ridge, and A (r, k), p (r,) of A d >= p."""

    sigma: np.ndarray
    norm: float
    ridge: float
    A: np.ndarray
    p: np.ndarray


def check_sigma(sigma: Any, n_kernels: int) -> np.ndarray:
    """The costs (k,) of the weights, from one number or one per kernel."""
    given = np.asarray(sigma, np.float64)
    if given.shape not in ((), (n_kernels,)) or not np.isfinite(given).all() or (given <= 0).any():
        raise ValueError(f"sigma must be one positive number, or {n_kernels}, one per kernel; got {given.tolist()}.")
    return np.broadcast_to(given, (n_kernels,)).copy()


def check_terms(sigma: Any, norm: Any, ridge: Any, constraints: Any, n_kernels: int) -> Terms:
    """The penalty and the constraints of the weights, from the parameters of the classifier."""
    sigma = check_sigma(sigma, n_kernels)
    norm, ridge = check_number("norm", norm, 1, 100), check_number("ridge", ridge, 0)
    if norm != 1 and ridge != 0:
        raise ValueError(f"ridge needs norm=1; got norm={norm:g} and ridge={ridge:g}. Set one of them back.")
    if constraints is None:
        return Terms(sigma, norm, ridge, np.zeros((0, n_kernels)), np.zeros(0))
    A, p = (np.asarray(part, np.float64) for part in constraints)
    if A.ndim != 2 or A.shape[1] != n_kernels or p.shape != (len(A),):
        raise ValueError(f"constraints must be A (r, {n_kernels}) and p (r,); got {A.shape} and {p.shape}.")
    if not (np.isfinite(A).all() and np.isfinite(p).all()):
        raise ValueError("constraints must be finite numbers; got NaN or infinity among them.")
    if norm != 1 or ridge != 0:
        raise ValueError(f"constraints need norm=1 and ridge=0; got norm={norm:g} and ridge={ridge:g}.")
    point = np.ones(n_kernels)
    project(point, np.ascontiguousarray(A), p, np.zeros(len(p)))
    if (A @ point < p - 1e-6 * np.maximum(1, np.abs(p))).any():
        raise ValueError("constraints contradict each other: no weights d >= 0 have A d >= p. Remove some of them.")
    return Terms(sigma, norm, ridge, np.ascontiguousarray(A), p)


class Machine(NamedTuple):
    """A two-class machine: weights d (k,), coefficients α_i y_i (n,) of its samples, its offset, and both bounds."""

    weights: np.ndarray
    coefficients: np.ndarray
    offset: float
    upper: float
    lower: float
    n_steps: int

    def check_loaded(self) -> None:
        """Raise ValueError if weights and coefficients, read from a file, are none."""
        loaded.check_values(
            self,
            weights=loaded.array((None,), np.float64, 0),
            coefficients=loaded.array((None,), np.float64),
            offset=loaded.number(),
        )

    @property
    def gap(self) -> float:
        """The relative duality gap; NaN for weights that were not learned."""
        return (self.upper - self.lower) / max(abs(self.upper), 1e-300)


def learn_machine(Ks: np.ndarray, y: np.ndarray, C: float, terms: Terms, tolerance: float) -> Machine:
    """Learn weights for Gram matrices Ks (k, n, n) and labels y (n,) of -1 and +1."""
    if terms.sigma.shape != (len(Ks),) or terms.A.shape[1] != len(Ks):
        raise ValueError(f"terms are for {terms.A.shape[1]} kernels, but Ks has {len(Ks)}.")
    scales = _scales_to_remove(Ks, terms)
    if scales is not None:
        # With e_k = d_k s_k for kernels K_k / s_k the problem is the same, and its steps are of one length.
        scaled = terms._replace(sigma=terms.sigma / scales, A=terms.A / scales)
        machine = learn_machine(Ks / scales[:, None, None], y, C, scaled, tolerance)
        return machine._replace(weights=machine.weights / scales)
    n_kernels = len(Ks)
    d, alpha = np.full(n_kernels, 1.0 / n_kernels), np.zeros(len(y))
    problem = Problem(Ks, y, float(C), *terms)
    offset, upper, lower, n_steps = learn_weights(problem, tolerance, MAX_STEPS, d, alpha)
    return Machine(d, alpha * y, offset, upper, lower, n_steps)


def _scales_to_remove(Ks: np.ndarray, terms: Terms) -> np.ndarray | None:
    """The mean diagonals (k,) of the kernels, if they differ so much that the descent would be slow."""
    scales = np.einsum("kii->k", Ks) / Ks.shape[1]
    if terms.norm != 1 or terms.ridge != 0 or (scales <= 0).any() or scales.max() <= MAX_SCALE_RATIO * scales.min():
        return None
    return scales


def fit_machine(
    Ks: np.ndarray, y: np.ndarray, C: float, weights: np.ndarray, tolerance: float = FIXED_TOLERANCE
) -> Machine:
    """A machine on Gram matrices Ks (k, n, n) with fixed weights (k,) and labels y (n,) of -1 and +1."""
    K = np.empty(Ks.shape[1:])
    combine(Ks, weights, K)
    alpha, gradient = np.zeros(len(y)), np.empty(len(y))
    offset = solve_dual(K, y, C, tolerance, FIXED_STEPS_PER_SAMPLE * len(y) + FIXED_STEPS, alpha, gradient)
    return Machine(weights, alpha * y, offset, np.nan, np.nan, 0)
