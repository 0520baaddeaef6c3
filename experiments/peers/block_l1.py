"""Multiple kernel learning with a block l1 norm, the method that [Varma07] compares with.

The problem is that of Bach, Lanckriet and Jordan, "Multiple kernel learning, conic duality, and the SMO algorithm"
(ICML 2004), and of Bach, Thibaux and Jordan, "Computing regularization paths for learning multiple kernels" (NIPS
2004):

  min_{w,b,ξ} ½ (Σ_k |w_k|)² + C 1ᵀξ   s.t. y_i (Σ_k w_kᵀφ_k(x_i) + b) >= 1 - ξ_i, ξ >= 0           primal
  max_α 1ᵀα - ½ max_k αᵀYK_kYα         s.t. 0 <= α <= C, yᵀα = 0                                     dual

It equals min over weights η >= 0, Σ η = 1, of a support vector machine on Σ η_k K_k (Rakotomamonjy et al., JMLR 2008).
Its primal Σ_k |w_k|² / (2 η_k) + C 1ᵀξ is jointly convex, and minimised here in turn over the machine, by libsvm, and
over the weights, by η_k = |w_k| / Σ |w_j|, which multiplies them by (αᵀYK_kYα)^½. Higher powers are taken while the
primal falls. Primal and dual bound the optimum.

Differs from the papers above: they follow a smoothed dual by sequential minimal optimisation, or a path over C. The
optimum is the same, as the problem is convex. Kernels are not scaled by their traces, since those of [Varma07] have
k(x, x) = 1.

Compared with [Varma07]'s own problem, the weights sum to 1 instead of being penalized. Where the training samples are
separable and no α reaches C, both have the same weights up to a factor, and decide alike: scaling all weights by s
scales the optimum of the machine by 1 / s, whatever their proportions.
"""

import warnings
from typing import NamedTuple

import numpy as np
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from invariance.images import encode_labels
from invariance.tradeoff.base import inverse_mean
from invariance.tradeoff.definiteness import correct_grams, correct_rows
from invariance.tradeoff.inputs import check_stack
from invariance.tradeoff.solver import Machine
from invariance.tradeoff.tasks import class_scores, decide, grams_of, make_tasks, predict_codes

MAX_STEPS = 2000
LEAST_POWER = 0.5  # that of the exact minimum over the weights, by which the primal always falls
MAX_MACHINE_TOLERANCE = 1e-3  # libsvm's default


class BlockL1Classifier(ClassifierMixin, BaseEstimator):
    """Machines on kernels exp(-γ_k f_k) of distances f_k, weighed by block l1 learning for every pair of classes.

    It differs from `TradeoffClassifier(kernels="distances")` in the weights alone: γ, pairs and votes are the same.

    Parameters
    ----------
    C : float, default=1000.0
        Penalty of the errors of the machines, as for all methods of [Varma07].
    tolerance : float, default=1e-3
        Relative duality gap at which the weights count as learned.
    psd_correction : {"clip", "flip"} or None, default=None
        As for `TradeoffClassifier`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    weights_ : ndarray of shape (n_pairs, k)
        The weights of every pair.
    gaps_ : ndarray of shape (n_pairs,)
        Relative duality gaps.
    """

    def __init__(self, C=1000.0, tolerance=1e-3, psd_correction=None):
        self.C = C
        self.tolerance = tolerance
        self.psd_correction = psd_correction

    def fit(self, X, y) -> "BlockL1Classifier":
        """Learn weights and machines from distances (k, n, n) and labels (n,)."""
        stack = check_stack(X)
        self.classes_, codes = encode_labels(y, stack.shape[1])
        self.gammas_ = np.array([inverse_mean(distances) for distances in stack])
        names = [f"kernel {k + 1}" for k in range(len(stack))]
        Ks, self.corrections_, _ = correct_grams(self._as_kernels(stack), names, self.psd_correction)
        self.tasks_ = make_tasks(codes, "ovo")
        self.machines_ = [
            learn_block_l1(grams_of(Ks, task), task.targets, self.C, self.tolerance) for task in self.tasks_
        ]
        self.weights_ = np.array([machine.weights for machine in self.machines_])
        self.gaps_ = np.array([machine.gap for machine in self.machines_])
        self._warn_of_gaps()
        return self

    def predict(self, X) -> np.ndarray:
        """The classes (m,) by distances (k, m, n), by votes of the pairs."""
        rows = correct_rows(self._as_kernels(check_stack(X)), self.corrections_)
        scores = class_scores(decide(self.machines_, self.tasks_, rows), self.tasks_, len(self.classes_))
        return self.classes_[predict_codes(scores)]

    def _as_kernels(self, stack: np.ndarray) -> np.ndarray:
        return np.exp(-self.gammas_[:, None, None] * stack)

    def _warn_of_gaps(self) -> None:
        n_open = int(np.count_nonzero(self.gaps_ > self.tolerance))
        if n_open:
            warnings.warn(
                f"the weights of {n_open} of {len(self.gaps_)} pairs are not learned to tolerance={self.tolerance:g}: "
                f"the largest gap is {self.gaps_.max():.2g}.",
                ConvergenceWarning,
                stacklevel=3,
            )


class Point(NamedTuple):
    """Weights (k,), the machine on them, its αᵀYK_kYα (k,), and the values of primal and dual."""

    weights: np.ndarray
    coefficients: np.ndarray
    offset: float
    forms: np.ndarray
    upper: float
    lower: float


def learn_block_l1(Ks: np.ndarray, y: np.ndarray, C: float, tolerance: float = 1e-3) -> Machine:
    """Weights and machine for Gram matrices Ks (k, n, n) and labels y (n,) of -1 and +1, to a relative gap."""
    point, power, n_steps = _evaluate(np.full(len(Ks), 1 / len(Ks)), Ks, y, C, tolerance), LEAST_POWER, 1
    while point.upper - point.lower > tolerance * point.upper and n_steps < MAX_STEPS:
        weights = point.weights * (np.maximum(point.forms, 0) / point.forms.max()) ** power
        tried, n_steps = _evaluate(weights / weights.sum(), Ks, y, C, tolerance), n_steps + 1
        if tried.upper < point.upper or power == LEAST_POWER:
            point, power = tried, 2 * power
        else:
            power = max(power / 4, LEAST_POWER)
    return Machine(point.weights, point.coefficients, point.offset, point.upper, point.lower, n_steps)


def _evaluate(weights: np.ndarray, Ks: np.ndarray, y: np.ndarray, C: float, tolerance: float) -> Point:
    """The machine on given weights, and what it says about the optimum."""
    K = np.tensordot(weights, Ks, axes=1)
    coefficients, offset = _fit_machine(K, y, C, tolerance)
    forms = np.array([coefficients @ part @ coefficients for part in Ks])
    errors = np.maximum(1 - y * (K @ coefficients + offset), 0).sum()
    upper, lower = weights @ forms / 2 + C * errors, np.abs(coefficients).sum() - forms.max() / 2
    return Point(weights, coefficients, offset, forms, float(upper), float(lower))


def _fit_machine(K: np.ndarray, y: np.ndarray, C: float, tolerance: float) -> tuple[np.ndarray, float]:
    """Coefficients α_i y_i (n,) and offset by libsvm."""
    # Its tolerance shifts the primal value by up to C n times as much.
    machine = SVC(C=C, kernel="precomputed", tol=min(MAX_MACHINE_TOLERANCE, tolerance / (C * len(y))))
    with config_context(skip_parameter_validation=True, assume_finite=True):
        machine.fit(K, y)
    coefficients = np.zeros(len(y))
    coefficients[machine.support_] = machine.dual_coef_[0]
    return coefficients, float(machine.intercept_[0])
