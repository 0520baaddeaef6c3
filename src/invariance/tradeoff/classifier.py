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

from invariance._core import loaded
from invariance._core.checks import check_choice, check_number
from invariance._core.parallel import iterate_jobs, map_jobs
from invariance._core.probabilities import learn_sharpness, scores_to_probabilities
from invariance.images import comparing_once, encode_labels, watch_range
from invariance.tangents.psd import check_psd_correction
from invariance.tradeoff.base import as_base_kernel, inverse_mean, name_of
from invariance.tradeoff.defaults import default_kernels
from invariance.tradeoff.definiteness import correct_grams, correct_rows
from invariance.tradeoff.held_out import N_FOLDS, held_out_costs, held_out_scores, make_folds, search_weights
from invariance.tradeoff.inputs import check_images, check_stack
from invariance.tradeoff.solver import Machine, Terms, check_sigma, check_terms, fit_machine, learn_machine
from invariance.tradeoff.tasks import REST, Task, class_scores, decide, grams_of, make_tasks, predict_codes
from invariance.transformations.sets import check_set

STACKS = ("precomputed", "distances")
SAME = (
    1e-9  # kernel values that differ by less, of at most 1 for the kernels of the library, are equal but for rounding
)
TASKS_PER_JOB = 5  # the weights of a pair of classes are learned in less time than it takes to start a job


class TradeoffClassifier(ClassifierMixin, BaseEstimator):
    """Support vector machines whose kernel is a learned sum of base kernels, [Varma07].

    Parameters
    ----------
    kernels : "all", "precomputed", "distances" or list, default="all"
        The base kernels. A list holds `FeatureKernel`, `ImageKernel`, kernels of images such as `TangentDistance()`, or
        transformers of images into histograms. "all" takes `default_kernels`, one or more of every method of the
        library. With "precomputed", X is a stack of Gram matrices, (k, n, n) for `fit` and (k, m, n) for `predict`;
        with "distances" a stack of distances f_k, which become exp(-γ_k f_k), γ_k being one over the mean distance
        between training samples. See the notes on matrices that are not positive semi-definite.
    scheme : {"ovo", "ova"}, default=None
        "ovo" learns weights for every pair of classes, "ova" for every class against the rest. None is "ova" for
        `kernels="all"`, else "ovo".
    weights : {"learned", "equal", "search"} or array-like of shape (k,), default="learned"
        "equal" takes the mean of all kernels; "search" the best weights of a grid by cross-validation, the same for all
        tasks; numbers are used as they are.
    C : float, default=1000.0
        Penalty of the errors of the machines.
    sigma : float, array-like of shape (k,) or "cv", default=None
        Cost of the weights. Kernels that are not expected to matter should cost more. "cv" lets the cost grow with the
        errors of each kernel alone in cross-validation, which is safer where images are few and some kernels useless.
        It is multiplied by the `cost` of the base kernels. None is "cv" for `kernels="all"`, else 1.
    norm : float, default=1.0
        Power of the weights in the penalty Σ σ_k d_k^norm / norm + ½ ridge Σ d_k². 1, as in the paper, gives few
        weights; more spread them.
    ridge : float, default=0.0
        Factor of the squared weights in the penalty; 0 is the paper's.
    constraints : tuple (A, p) of array-likes of shapes (r, k) and (r,), default=None
        Weights d must have A d >= p.
    tolerance : float, default=1e-3
        Relative duality gap at which the weights count as learned.
    psd_correction : {"clip", "flip"} or None, default=None
        What is done with matrices of a stack that are not positive semi-definite: negative eigenvalues are set to 0 or
        to their absolute values, and rows of other images are changed alike. None leaves the matrices unchanged and
        warns. Base kernels correct their own matrices; see the notes.
    kernel_names : list of k str, default=None
        Names of the kernels. None takes their own; matrices of a stack are numbered.
    transformations : TransformationSet, default=None
        What does not matter, Φ, for `kernels="all"`, whose kernels then all stand on it.
    probability : bool, default=False
        Whether to calibrate scores on held-out images, for `predict_proba`.
    image_shape : tuple (h, w) or (h, w, c), default=None
        Shape of the images in flat rows X (n, d). Without it, flat rows are given to the kernels as they are.
    n_jobs : int, default=None
        Number of threads.
    random_state : int, Generator or None, default=None
        Seed of the kernels of `kernels="all"`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    codes_ : ndarray of shape (n,)
        Place of the label of each training image in `classes_`.
    weights_ : ndarray of shape (n_tasks, k)
        The weights of every task.
    gaps_ : ndarray of shape (n_tasks,)
        Relative duality gaps; NaN where weights were not learned.
    costs_ : ndarray of shape (k,)
        Costs of the weights, where they were learned.
    kernel_names_ : list of k str
        Names of the columns of `weights_`.
    task_names_ : list of n_tasks str
        Names of the rows of `weights_`.
    base_kernels_ : list of k base kernels or None
        The fitted base kernels; None for a stack.
    gammas_ : ndarray of shape (k,)
        The factors γ_k, for `kernels="distances"`.
    most_negative_eigenvalues_ : ndarray of shape (k,)
        For a stack, the most negative eigenvalue of each Gram matrix before any correction, divided by the largest; 0
        for positive semi-definite matrices.
    corrections_ : list of k PsdCorrection
        For a stack, what `psd_correction` does to rows of other images.
    tasks_ : list of n_tasks tuples
        Samples, targets, and the codes of the two classes of every task; -1 is the rest.
    machines_ : list of n_tasks tuples
        The machine of every task.
    sharpness_ : float
        Factor of the scores before the softmax, with `probability=True`.
    n_features_in_ : int
        Number of values per row, where X has flat rows.
    intensity_range_ : dict
        Dtype and range of the training images; images in another range are classified with a warning.

    Notes
    -----
    The machines are convex problems only for positive semi-definite Gram matrices. `FeatureKernel` makes such matrices,
    and `ImageKernel` sets negative eigenvalues to 0. With "distances", exp(-γ f) is positive semi-definite for squared
    Euclidean and χ² distances, but need not be for others, such as least distances over a set of transformations.
    Without `psd_correction` the machines then stop at a stationary point, and the gaps are not bounds. A correction is
    found on the training images alone; it needs the eigenvectors of every matrix, and keeps a matrix (n, n) for each
    that was not positive semi-definite.
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
        psd_correction=None,
        kernel_names=None,
        transformations=None,
        probability=False,
        image_shape=None,
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
        self.psd_correction = psd_correction
        self.kernel_names = kernel_names
        self.transformations = transformations
        self.probability = probability
        self.image_shape = image_shape
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X, y) -> "TradeoffClassifier":
        """Learn the weights of the kernels and the machines.

        Parameters
        ----------
        X : array-like of shape (n, h, w) or (n, h, w, c), list of images, or flat rows of shape (n, d)
            Training images; a stack of shape (k, n, n) for "precomputed" and "distances".
        y : array-like of shape (n,)
            Their labels.

        Returns
        -------
        TradeoffClassifier
            The fitted classifier.
        """
        self.scheme_ = check_choice("scheme", self._default("scheme", "ovo", "ova"), ("ovo", "ova"))
        self.base_kernels_ = self._make_base_kernels()
        self._check_correction()
        X = self._check_input(X, reset=True)
        self.classes_, self.codes_ = encode_labels(y, X.shape[1] if self._takes_stacks() else len(X))
        if not self._takes_stacks():
            _warn_of_sameness(X)
        self.kernel_names_ = self._name_kernels(X)
        Ks = self._training_grams(X, y)
        self.tasks_ = make_tasks(self.codes_, self.scheme_)
        self.task_names_ = [self._name_of(task) for task in self.tasks_]
        self.machines_ = self._fit_machines(self._task_fitter(Ks, X))
        self.weights_ = np.array([machine.weights for machine in self.machines_])
        self.gaps_ = np.array([machine.gap for machine in self.machines_])
        self._warn_of_gaps()
        if self.probability:
            self._calibrate(Ks)
        return self

    def check_loaded(self) -> None:
        """Raise ValueError if kernels, tasks and machines, read from a file, do not go together."""
        loaded.check_values(self, probability=loaded.FLAG, image_shape=loaded.SHAPE)
        fitted = ("scheme_", "base_kernels_", "classes_", "codes_", "kernel_names_", "tasks_", "machines_", "weights_")
        if not loaded.is_fitted(self, *fitted):
            return
        loaded.check_values(
            self,
            classes_=loaded.labels(),
            codes_=loaded.array((None,), np.int64, 0, len(self.classes_) - 1),
            tasks_=loaded.list_of(loaded.instance(Task), at_least=1),
            machines_=loaded.list_of(loaded.instance(Machine), len(self.tasks_)),
            kernel_names_=loaded.list_of(loaded.TEXT, at_least=1),
        )
        n, n_classes, n_kernels = len(self.codes_), len(self.classes_), len(self.kernel_names_)
        loaded.check_values(self, weights_=loaded.array((len(self.tasks_), n_kernels), np.float64, 0))
        expected = make_tasks(np.arange(n_classes), self.scheme_)
        if [task[2:] for task in self.tasks_] != [task[2:] for task in expected]:
            raise ValueError(
                f"tasks of {n_classes} classes by {self.scheme_!r} must be of all pairs, or of each class."
            )
        for task, machine in zip(self.tasks_, self.machines_, strict=True):
            loaded.check_values(task, samples=loaded.array((None,), np.int64, 0, n - 1))
            loaded.check_values(
                machine,
                weights=loaded.array((n_kernels,), np.float64, 0),
                coefficients=loaded.array((len(task.samples),), np.float64),
            )
        if self.base_kernels_ is not None:
            loaded.check_values(self, base_kernels_=loaded.list_of(loaded.able("rows"), n_kernels))
            for kernel in self.base_kernels_:
                kept = getattr(kernel, "features_", getattr(kernel, "images_", None))
                if kept is not None and len(kept) != n:
                    raise ValueError(f"a kernel compares with {len(kept)} training images, not {n}.")
        else:
            loaded.check_values(self, kernels=loaded.one_of(*STACKS))
        if self.probability:
            loaded.check_values(self, sharpness_=loaded.number(0, 1e6))

    def decision_function(self, X) -> np.ndarray:
        """Score images.

        Parameters
        ----------
        X : array-like of shape (m, h, w) or (m, h, w, c), list of images, or flat rows of shape (m, d)
            Images; a stack of shape (k, m, n) for "precomputed" and "distances".

        Returns
        -------
        ndarray of shape (m,) or (m, n_classes)
            Decisions for the second of two classes; else votes of the pairs, or decisions of one against the rest.
        """
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X) -> np.ndarray:
        """Classify images.

        Parameters
        ----------
        X : as for `decision_function`
            Images.

        Returns
        -------
        ndarray of shape (m,)
            Their classes.
        """
        codes = predict_codes(self._scores(X))
        return self.classes_[codes]

    @available_if(lambda classifier: bool(classifier.probability))
    def predict_proba(self, X) -> np.ndarray:
        """Estimate class probabilities, calibrated on held-out scores; needs `probability=True`.

        Parameters
        ----------
        X : as for `decision_function`
            Images.

        Returns
        -------
        ndarray of shape (m, n_classes)
            Probabilities.
        """
        return scores_to_probabilities(self._scores(X), self.sharpness_)

    @property
    def shares_(self) -> np.ndarray:
        """The weights of every task (n_tasks, k) as shares of their sum."""
        return self.weights_ / np.maximum(self.weights_.sum(axis=1, keepdims=True), np.finfo(float).tiny)

    def __sklearn_tags__(self):
        """Tags: the input is a stack of matrices, images of any size, or what the given kernels take."""
        tags = super().__sklearn_tags__()
        takes_rows = not isinstance(self.kernels, str) or (self.kernels == "all" and self.image_shape is not None)
        tags.input_tags.two_d_array = takes_rows
        tags.input_tags.three_d_array = True
        return tags

    def _default(self, name: str, usual: Any, of_all: Any) -> Any:
        """A parameter, or where it is None the value that suits the kernels: all of them, or a few chosen ones."""
        given = getattr(self, name)
        if given is not None:
            return given
        return of_all if isinstance(self.kernels, str) and self.kernels == "all" else usual

    def _takes_stacks(self) -> bool:
        return isinstance(self.kernels, str) and self.kernels in STACKS

    def _make_base_kernels(self) -> list[Any] | None:
        check_set("transformations", self.transformations)
        if self._takes_stacks():
            return None
        if isinstance(self.kernels, str):
            check_choice("kernels", self.kernels, ("all", *STACKS))
            return default_kernels(self.transformations, self.random_state, self.n_jobs)
        if len(self.kernels) == 0:
            raise ValueError("kernels must hold at least one kernel; got an empty list.")
        return [as_base_kernel(part) for part in self.kernels]

    def _check_correction(self) -> None:
        if check_psd_correction(self.psd_correction) is not None and not self._takes_stacks():
            raise ValueError(
                f"psd_correction is for stacks of matrices, kernels='precomputed' or 'distances'; got "
                f"{self.psd_correction!r} with base kernels. Omit it: ImageKernel corrects its own matrix."
            )

    def _check_input(self, X: Any, reset: bool) -> Any:
        if not self._takes_stacks():
            images = check_images(self, X, self.image_shape, reset=reset)
            if isinstance(self.kernels, str) and getattr(images, "ndim", 3) == 2:
                raise ValueError("kernels='all' needs images, but X has flat rows. Give their image_shape=(h, w).")
            watch_range(self, images, reset=reset)
            return images
        stack = check_stack(X)
        if reset and stack.shape[1] != stack.shape[2]:
            raise ValueError(f"fit needs a stack (k, n, n) of square matrices; got shape {stack.shape}.")
        return stack

    def _name_kernels(self, X: Any) -> list[str]:
        if self.base_kernels_ is None:
            names = [f"kernel {k + 1}" for k in range(len(X))]
        else:
            names = [name_of(part, k) for k, part in enumerate(self.base_kernels_)]
        if self.kernel_names is None:
            return names
        if isinstance(self.kernel_names, str) or len(self.kernel_names) != len(names):
            raise ValueError(f"kernel_names must be a list of {len(names)} names; got {self.kernel_names!r}.")
        return list(self.kernel_names)

    def _training_grams(self, X: Any, y: Any) -> np.ndarray:
        """Fit the base kernels; the Gram matrices (k, n, n) of the training samples."""
        if self.base_kernels_ is not None:
            return np.stack([part.fit_gram(X, y) for part in self.base_kernels_])
        self.gammas_ = np.array([inverse_mean(distances) for distances in X])
        Ks, self.corrections_, self.most_negative_eigenvalues_ = correct_grams(
            self._as_kernels(X), self.kernel_names_, self.psd_correction
        )
        return Ks

    def _test_grams(self, X) -> np.ndarray:
        """Kernel values (k, m, n) of samples and training samples; 0 of kernels whose weights are all 0."""
        if self.base_kernels_ is not None:
            used = np.flatnonzero(np.any([machine.weights for machine in self.machines_], axis=0))
            compare = partial(_compare, self.base_kernels_, X)
            # Kernels divide many images among threads themselves; of a single one, threads take a kernel each.
            rows = iterate_jobs(compare, used, self.n_jobs) if len(X) == 1 else map(compare, used)
            Ks = np.zeros((len(self.base_kernels_), len(X), len(self.codes_)))
            for k, values in zip(used, rows, strict=True):
                Ks[k] = values
            return Ks
        expected = len(self.kernel_names_), len(self.codes_)
        if (X.shape[0], X.shape[2]) != expected:
            raise ValueError(
                f"predict needs a stack ({expected[0]}, m, {expected[1]}) of kernels, images and training images; "
                f"got {X.shape}."
            )
        return correct_rows(self._as_kernels(X), self.corrections_)

    def _as_kernels(self, stack: np.ndarray) -> np.ndarray:
        return stack if self.kernels == "precomputed" else np.exp(-self.gammas_[:, None, None] * stack)

    def _name_of(self, task: Task) -> str:
        if task.negative == REST:
            return f"{self.classes_[task.positive]} or rest"
        return f"{self.classes_[task.negative]} or {self.classes_[task.positive]}"

    def _task_fitter(self, Ks: np.ndarray, X: Any) -> Callable[[Task], Machine]:
        """The function that fits the machine of a task, with weights that are learned, found here, or given."""
        C, tolerance = check_number("C", self.C, 1e-12), check_number("tolerance", self.tolerance, 1e-12, 1)
        if not isinstance(self.weights, str):
            fixed = np.asarray(self.weights, np.float64)
            if fixed.shape != (len(Ks),) or not np.isfinite(fixed).all() or (fixed < 0).any():
                raise ValueError(f"weights must be {len(Ks)} numbers that are not negative; got {self.weights!r}.")
            return partial(_fit_fixed, Ks, C, fixed)
        check_choice("weights", self.weights, ("learned", "equal", "search"))
        if self.weights == "equal":
            return partial(_fit_fixed, Ks, C, np.full(len(Ks), 1 / len(Ks)))
        if self.weights == "search":
            return partial(_fit_fixed, Ks, C, search_weights(Ks, self.codes_, self.scheme_, C))
        self.costs_ = self._find_costs(Ks, C, X)
        terms = check_terms(self.costs_, self.norm, self.ridge, self.constraints, len(Ks))
        return partial(_learn_task, Ks, C, terms, tolerance)

    def _find_costs(self, Ks: np.ndarray, C: float, X: Any) -> np.ndarray:
        own = np.array([getattr(part, "cost", 1.0) for part in self.base_kernels_ or [None] * len(Ks)])
        sigma = self._default("sigma", 1.0, "cv")
        if isinstance(sigma, str):
            check_choice("sigma", sigma, ("cv",))
            return own * held_out_costs(Ks, self.codes_, self.scheme_, C, self.base_kernels_, X)
        return check_sigma(sigma, len(Ks)) * own

    def _fit_machines(self, fit_task: Callable[[Task], Machine]) -> list[Machine]:
        groups = [self.tasks_[start : start + TASKS_PER_JOB] for start in range(0, len(self.tasks_), TASKS_PER_JOB)]
        fitted = map_jobs(partial(_fit_group, fit_task), groups, self.n_jobs, "learning weights")
        return [machine for machines in fitted for machine in machines]

    def _scores(self, X: Any) -> np.ndarray:
        """Scores (m, n_classes), or decisions (m, 1) of two classes."""
        check_is_fitted(self)
        images = self._check_input(X, reset=False)
        with comparing_once():
            Ks = self._test_grams(images)
        return class_scores(decide(self.machines_, self.tasks_, Ks), self.tasks_, len(self.classes_))

    def _warn_of_gaps(self) -> None:
        n_open = int(np.count_nonzero(self.gaps_ > self.tolerance))
        if n_open:
            warnings.warn(
                f"the weights of {n_open} of {len(self.gaps_)} tasks are not learned to tolerance={self.tolerance:g}: "
                f"the largest gap is {self.gaps_.max():.2g}. A smaller C may help.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _calibrate(self, Ks: np.ndarray) -> None:
        """Fit probabilities to scores of images that machines on the same weights have not seen."""
        codes, n_classes = self.codes_, len(self.classes_)
        scores = np.empty((len(codes), 1 if n_classes == 2 else n_classes))
        for fold in make_folds(codes, N_FOLDS, "probability=True"):
            scores[fold[1]] = held_out_scores(Ks, codes, self.scheme_, fold, self._fit_again)
        self.sharpness_ = learn_sharpness(scores, codes)

    def _fit_again(self, place: int, Ks: np.ndarray, y: np.ndarray) -> Machine:
        """A machine on the weights of a task, for some of its samples."""
        return fit_machine(Ks, y, float(self.C), self.machines_[place].weights)


def _warn_of_sameness(images: Any) -> None:
    if all(np.array_equal(image, images[0]) for image in images):
        warnings.warn(
            f"all {len(images)} training images are the same, so that classes cannot be told apart. Check the images.",
            UserWarning,
            stacklevel=3,
        )


def _compare(kernels: list[Any], X: Any, k: int) -> np.ndarray:
    return kernels[k].rows(X)


def _fit_group(fit_task: Callable[[Task], Machine], tasks: list[Task]) -> list[Machine]:
    return [fit_task(task) for task in tasks]


def _learn_task(Ks: np.ndarray, C: float, terms: Terms, tolerance: float, task: Task) -> Machine:
    return learn_machine(grams_of(Ks, task), task.targets, C, terms, tolerance)


def _fit_fixed(Ks: np.ndarray, C: float, weights: np.ndarray, task: Task) -> Machine:
    return fit_machine(grams_of(Ks, task), task.targets, C, weights)
