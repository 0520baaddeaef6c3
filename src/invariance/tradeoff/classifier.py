"""Classification by base kernels of different invariance, each pair of classes weighing them its own way, [Varma07]."""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from invariance._core.checks import check_choice, check_number
from invariance._core.parallel import map_jobs
from invariance._core.probabilities import learn_sharpness, scores_to_probabilities
from invariance.images import encode_labels
from invariance.tradeoff.base import as_base_kernel, inverse_mean, name_of
from invariance.tradeoff.costs import held_out_costs
from invariance.tradeoff.held_out import decide, held_out_scores, make_folds, part_of
from invariance.tradeoff.rooms import default_kernels
from invariance.tradeoff.search import search_weights
from invariance.tradeoff.solver import Machine, Terms, check_sigma, check_terms, fit_machine, learn_machine
from invariance.tradeoff.tasks import Task, class_scores, make_tasks

STACKS = ("precomputed", "distances")
N_FOLDS = 5
N_TOGETHER = 5  # tasks a job: a pair of classes is learned in less time than it takes to start a job


class TradeoffClassifier(ClassifierMixin, BaseEstimator):
    """Support vector machines whose kernel is a learned sum of base kernels.

    Parameters
    ----------
    kernels : a list of base kernels: `FeatureKernel`, kernels of the library such as `TangentDistance()`, transformers
        of images into histograms; "all" for one or more of every method of the library; "precomputed" if X is a stack
        of Gram matrices, (k, n, n) for `fit` and (k, m, n) for `predict`; "distances" if it is a stack of distances,
        which become exp(-γ_k f_k) with γ_k one over the mean training distance.
    scheme : "ovo" learns weights for every pair of classes, "ova" for every class against the others. None is "ova" for
        kernels="all", else "ovo".
    weights : "learned"; "equal" for the mean of all; "search" for the best on a grid by cross-validation, the same for
        all pairs; or (k,) numbers.
    C : of the machines.
    sigma : cost of the weights, a number or one a kernel: a larger one for what you expect not to matter; "cv"
        to let it grow with the errors of each kernel alone in cross-validation, which is safer where samples are few
        and some kernels of no use. It is multiplied by the base kernels' own `cost`. None is "cv" for
        kernels="all", else 1.
    norm, ridge : the penalty Σ σ_k d_k^norm / norm + ½ ridge |d|²; 1 and 0 is the paper's, which gives few weights.
    constraints : (A, p) for A d >= p.
    tolerance : relative duality gap at which the weights are taken as learned.
    kernel_names : of a stack; else the kernels' own names are taken.
    transformations : Φ, for kernels="all".

    Attributes
    ----------
    weights_ : (tasks, k), the weights of every task; task_names_ says which is which, kernel_names_ the columns.
    gaps_ : (tasks,) relative duality gaps.
    costs_ : (k,) what the weights cost, where they were learned.
    """

    def __init__(
        self,
        kernels="all",
        scheme=None,
        weights="learned",
        C=1000.0,
        sigma=None,
        norm=1.0,
        ridge=0.0,
        constraints=None,
        tolerance=1e-3,
        kernel_names=None,
        transformations=None,
        probability=False,
        n_jobs=None,
        random_state=None,
    ):
        self.kernels = kernels
        self.scheme = scheme
        self.weights = weights
        self.C = C
        self.sigma = sigma
        self.norm = norm
        self.ridge = ridge
        self.constraints = constraints
        self.tolerance = tolerance
        self.kernel_names = kernel_names
        self.transformations = transformations
        self.probability = probability
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X, y) -> "TradeoffClassifier":
        """Learn from images, or from a stack of matrices, and labels."""
        self.scheme_ = self._default("scheme", "ovo", "ova")
        check_choice("scheme", self.scheme_, ("ovo", "ova"))
        Ks = self._training_grams(X, y)
        self.classes_, codes = encode_labels(y, Ks.shape[1])
        self.tasks_ = make_tasks(codes, self.scheme_)
        fit_task = self._fit_task(Ks, codes, X)
        groups = [self.tasks_[start : start + N_TOGETHER] for start in range(0, len(self.tasks_), N_TOGETHER)]
        fitted = map_jobs(partial(_fit_some, fit_task), groups, self.n_jobs, "learning weights")
        self.machines_ = [machine for machines in fitted for machine in machines]
        self.weights_ = np.array([machine.weights for machine in self.machines_])
        self.gaps_ = np.array([machine.gap for machine in self.machines_])
        self.task_names_ = [self._name_of(task) for task in self.tasks_]
        self._warn_of_gaps()
        if self.probability:
            self._calibrate(Ks, codes)
        return self

    def decision_function(self, X) -> np.ndarray:
        """Decisions (m,) of two classes; else scores (m, K): votes of the pairs, or decisions of one against all."""
        check_is_fitted(self)
        return self._scores(self._test_grams(X))

    def predict(self, X) -> np.ndarray:
        """The class of every image."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    @available_if(lambda classifier: bool(classifier.probability))
    def predict_proba(self, X) -> np.ndarray:
        """Probabilities (m, K) of the classes, calibrated on held-out scores; `probability=True`."""
        return scores_to_probabilities(self.decision_function(X), self.sharpness_)

    @property
    def shares_(self) -> np.ndarray:
        """The weights of every task (tasks, k) as shares of their sum."""
        return self.weights_ / np.maximum(self.weights_.sum(axis=1, keepdims=True), np.finfo(float).tiny)

    def _fit_task(self, Ks: np.ndarray, codes: np.ndarray, X: Any) -> Callable[[Task], Machine]:
        C, tolerance = check_number("C", self.C, 1e-12), check_number("tolerance", self.tolerance, 1e-12, 1)
        if isinstance(self.weights, str) and self.weights == "learned":
            self.costs_ = self._costs(Ks, codes, C, X)
            terms = check_terms(self.costs_, self.norm, self.ridge, self.constraints, len(Ks))
            return partial(_learn_task, Ks, C, terms, tolerance)
        if isinstance(self.weights, str):
            check_choice("weights", self.weights, ("learned", "equal", "search"))
            n = len(Ks)
            fixed = np.full(n, 1 / n) if self.weights == "equal" else search_weights(Ks, codes, self.scheme_, C)
        else:
            fixed = np.asarray(self.weights, np.float64)
            if fixed.shape != (len(Ks),) or not np.isfinite(fixed).all() or (fixed < 0).any():
                raise ValueError(f"weights must be {len(Ks)} numbers that are not negative; got {self.weights!r}.")
        return partial(_fit_fixed, Ks, C, fixed)

    def _costs(self, Ks: np.ndarray, codes: np.ndarray, C: float, X: Any) -> np.ndarray:
        own = np.array([getattr(part, "cost", 1.0) for part in self.base_kernels_ or [None] * len(Ks)])
        sigma = self._default("sigma", 1.0, "cv")
        if isinstance(sigma, str):
            check_choice("sigma", sigma, ("cv",))
            return own * held_out_costs(Ks, codes, self.scheme_, C, self.base_kernels_, X)
        return check_sigma(sigma, len(Ks)) * own

    def _default(self, name: str, usual: Any, of_all: Any) -> Any:
        """A parameter, or where it is None what suits the kernels: those of all methods, or a few that were chosen."""
        given = getattr(self, name)
        if given is not None:
            return given
        return of_all if isinstance(self.kernels, str) and self.kernels == "all" else usual

    def _training_grams(self, X, y) -> np.ndarray:
        if isinstance(self.kernels, str) and self.kernels in STACKS:
            stack = check_stack(X)
            if stack.shape[1] != stack.shape[2]:
                raise ValueError(f"fit needs a stack (k, n, n) of square matrices; got shape {stack.shape}.")
            self.base_kernels_ = None
            self.gammas_ = np.array([inverse_mean(D) for D in stack])
            self.kernel_names_ = self._names([f"kernel {k + 1}" for k in range(len(stack))])
            return self._kernelise(stack)
        if isinstance(self.kernels, str):
            check_choice("kernels", self.kernels, ("all", *STACKS))
            parts = default_kernels(self.transformations, self.random_state, self.n_jobs)
        else:
            parts = [as_base_kernel(part) for part in self.kernels]
        if not parts:
            raise ValueError("kernels must hold at least one kernel; got an empty list.")
        self.base_kernels_ = parts
        self.kernel_names_ = self._names([name_of(part, k) for k, part in enumerate(parts)])
        return np.stack([part.fit_gram(X, y) for part in parts])

    def _test_grams(self, X) -> np.ndarray:
        if self.base_kernels_ is not None:
            return np.stack([part.rows(X) for part in self.base_kernels_])
        stack = check_stack(X)
        n_training = max(task.samples.max() for task in self.tasks_) + 1
        if len(stack) != self.weights_.shape[1] or stack.shape[2] != n_training:
            expected = f"({self.weights_.shape[1]}, m, {n_training})"
            raise ValueError(
                f"predict needs a stack {expected} of kernels, images and training images; got {stack.shape}."
            )
        return self._kernelise(stack)

    def _kernelise(self, stack: np.ndarray) -> np.ndarray:
        return stack if self.kernels == "precomputed" else np.exp(-self.gammas_[:, None, None] * stack)

    def _scores(self, Ks: np.ndarray) -> np.ndarray:
        decisions = decide(self.machines_, self.tasks_, Ks)
        return decisions[:, 0] if len(self.classes_) == 2 else class_scores(decisions, self.tasks_, len(self.classes_))

    def _warn_of_gaps(self) -> None:
        n_open = int(np.count_nonzero(self.gaps_ > self.tolerance))
        if n_open:
            warnings.warn(
                f"the weights of {n_open} of {len(self.gaps_)} tasks are not learned to tolerance={self.tolerance:g}: "
                f"the largest gap is {self.gaps_.max():.2g}. A smaller C may help.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _names(self, default: list[str]) -> list[str]:
        if self.kernel_names is None:
            return default
        names = self.kernel_names
        if isinstance(names, str) or len(names) != len(default):
            raise ValueError(f"kernel_names must be a list of {len(default)} names; got {names!r}.")
        return list(names)

    def _calibrate(self, Ks: np.ndarray, codes: np.ndarray) -> None:
        """Fit probabilities to scores of images that machines on the same weights have not seen."""
        scores = np.empty((len(codes), 1 if len(self.classes_) == 2 else len(self.classes_)))
        for fold in make_folds(codes, N_FOLDS, "probability=True"):
            scores[fold[1]] = held_out_scores(Ks, codes, self.scheme_, fold, self._fit_again)
        self.sharpness_ = learn_sharpness(scores, codes)

    def _fit_again(self, place: int, Ks: np.ndarray, y: np.ndarray) -> Machine:
        """A machine on the weights of a task."""
        return fit_machine(Ks, y, float(self.C), self.machines_[place].weights)

    def _name_of(self, task: Task) -> str:
        if task.negative < 0:
            return f"{self.classes_[task.positive]} or the others"
        return f"{self.classes_[task.negative]} or {self.classes_[task.positive]}"


def check_stack(X: Any) -> np.ndarray:
    """A stack (k, m, n) of finite numbers, float64 in C order."""
    stack = np.ascontiguousarray(X, np.float64)
    if stack.ndim != 3 or stack.size == 0 or not np.isfinite(stack).all():
        raise ValueError(f"a stack of matrices must be (k, m, n) of finite numbers; got shape {stack.shape}.")
    return stack


def _fit_some(fit_task: Callable[[Task], Machine], tasks: list[Task]) -> list[Machine]:
    return [fit_task(task) for task in tasks]


def _learn_task(Ks: np.ndarray, C: float, terms: Terms, tolerance: float, task: Task) -> Machine:
    return learn_machine(part_of(Ks, task), task.targets, C, terms, tolerance)


def _fit_fixed(Ks: np.ndarray, C: float, weights: np.ndarray, task: Task) -> Machine:
    return fit_machine(part_of(Ks, task), task.targets, C, weights)
