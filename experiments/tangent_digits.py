"""Digits from few examples with kernels that know small transformations, [Pozdnoukhov04] sec. 3, table 1 and fig. 3.

The paper separates one actor's faces from other faces in a film that is not available; here the images are MNIST's,
with 30 to 1,000 training digits, equally many per class, drawn several times. Errors in per cent on test digits drawn
once. All parameters are found by cross-validation on the training digits only: widths of kernels as multiples of their
"auto" values, and C. The paper says, with 300 faces: RBF 11.2, virtual support vectors 9.8, jittered kernel 10.0,
tangent vector kernel (the sum form, finite rotations and scales, γ_w tied to σ) 9.7. The rows of its name search σ and
C only, as the paper does; "all widths searched" searches γ_w and γ_r too.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from experiments.outcome import Outcome
from invariance._core.progress import track
from invariance.datasets import load_mnist
from invariance.tangents import JitteredDistance, TangentDistance, TangentVectorKernel, VirtualSVC
from invariance.tangents.psd import PsdCorrection
from invariance.transformations import Identity, Rotations, Scales, Shifts

N_TEST = 2000
N_FOLDS = 5
N_HELD_OUT = 300

# Of parameters with equal cross-validation error the first is taken: the usual value comes first.
COSTS = (10.0, 1.0, 100.0)
WIDTHS = (1.0, 0.7, 1.4, 0.5, 2.0)

PAPERS_TRANSFORMATIONS = Rotations(3, limit=10) | Scales(3, limit=1.1)


class Trial:
    """Training images with their labels, and test images; squared distances are computed once for all methods."""

    def __init__(self, training: np.ndarray, labels: np.ndarray, test: np.ndarray):
        self.training, self.labels, self.test = training, labels, test
        self._squared: dict[str, tuple[np.ndarray, np.ndarray]] = {}

    def squared(self, distance) -> tuple[np.ndarray, np.ndarray]:
        """Squared distances between training images (n, n), and from test to training images (m, n)."""
        name = repr(distance)
        if name not in self._squared:
            self._squared[name] = distance.squared(self.training), distance.squared(self.test, self.training)
        return self._squared[name]


class Choice(NamedTuple):
    """Candidate number and cost that did best in cross-validation, and their error in per cent."""

    candidate: int
    C: float
    error: float


class Nearest:
    """The class of the nearest training image."""

    def __init__(self, distance):
        self.distance = distance

    def predict(self, trial: Trial) -> np.ndarray:
        """The class of every test image."""
        return trial.labels[trial.squared(self.distance)[1].argmin(axis=1)]


class DistanceSVM:
    """A support vector machine with the kernel exp(-d² / (2 sigma²)): sigma and C by cross-validation.

    `widths` are multiples of the usual sigma; `psd_correction` is that of `TangentSVC`.
    """

    def __init__(self, distance, psd_correction: str | None = None, widths: Sequence[float] = WIDTHS):
        self.distance, self.psd_correction, self.widths = distance, psd_correction, widths

    def predict(self, trial: Trial) -> np.ndarray:
        """The class of every test image."""
        within, to_training = trial.squared(self.distance)
        width, C = self.search(within, trial.labels)
        repair = PsdCorrection(self.psd_correction)
        machine = SVC(C=C, kernel="precomputed").fit(repair.fit_transform(gaussian(within, width)), trial.labels)
        return machine.predict(repair.transform(gaussian(to_training, width)))

    def search(self, within: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
        """The width and C for squared distances (n, n) between training images."""
        widths = [factor * usual_width(within) for factor in self.widths]
        choice = choose([gaussian(within, width) for width in widths], labels, self.psd_correction)
        return widths[choice.candidate], choice.C


class KernelSVM:
    """A support vector machine with a `TangentVectorKernel`: its widths and C by cross-validation.

    `grid` holds multiples of what `fit` finds. A gamma_w in the grid is a multiple of what belongs to the sigma that
    "auto" finds, not to the one tried; one that is not in the grid follows the sigma that is tried.
    """

    def __init__(self, kernel: TangentVectorKernel, **grid: Sequence[float]):
        self.kernel, self.grid = kernel, grid

    def predict(self, trial: Trial) -> np.ndarray:
        """The class of every test image."""
        kernels = list(self._kernels(trial.training))
        grams = [kernel(trial.training) for kernel in kernels]
        choice = choose(grams, trial.labels)
        machine = SVC(C=choice.C, kernel="precomputed").fit(grams[choice.candidate], trial.labels)
        return machine.predict(kernels[choice.candidate](trial.test, trial.training))

    def _kernels(self, images: np.ndarray) -> Iterator[TangentVectorKernel]:
        found = clone(self.kernel).fit(images)
        for factors in product(*self.grid.values()):
            widths = {name: getattr(found, f"{name}_") * f for name, f in zip(self.grid, factors, strict=True)}
            yield clone(self.kernel).set_params(**widths).fit(images)


class Virtual:
    """Virtual support vectors; sigma and C are found by cross-validation without virtual examples."""

    def __init__(self, transformations, widths: Sequence[float] = WIDTHS):
        self.transformations, self.widths = transformations, widths

    def predict(self, trial: Trial) -> np.ndarray:
        """The class of every test image."""
        width, C = DistanceSVM(EUCLIDEAN, widths=self.widths).search(trial.squared(EUCLIDEAN)[0], trial.labels)
        machine = VirtualSVC(self.transformations, gamma=1 / (2 * width**2), C=C)
        return machine.fit(trial.training, trial.labels).predict(trial.test)


def gaussian(squared: np.ndarray, width: float) -> np.ndarray:
    """The kernel exp(-d² / (2 width²)) of squared distances."""
    return np.exp(squared / (-2 * width**2))


def usual_width(squared: np.ndarray) -> float:
    """Half the median distance between different training images, as the library's kernels take it."""
    return 0.5 * float(np.sqrt(np.median(squared[np.triu_indices(len(squared), k=1)])))


def choose(grams: Sequence[np.ndarray], labels: np.ndarray, psd_correction: str | None = None) -> Choice:
    """The Gram matrix of the training images and the cost with the smallest cross-validation error.

    Cross-validation is repeated with other folds until `N_HELD_OUT` images were held out in total; the first of equals
    is taken.
    """
    n_folds = min(N_FOLDS, int(np.unique(labels, return_counts=True)[1].min()))
    folds = [
        fold
        for seed in range(-(-N_HELD_OUT // len(labels)))
        for fold in StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(labels, labels)
    ]
    errors = np.array([np.mean([_errors(K, labels, fold, psd_correction) for fold in folds], axis=0) for K in grams])
    candidate, cost = np.unravel_index(errors.argmin(), errors.shape)
    return Choice(int(candidate), COSTS[cost], float(errors.min()))


def _errors(K: np.ndarray, labels: np.ndarray, fold: tuple[np.ndarray, np.ndarray], psd_correction) -> list[float]:
    """Errors in per cent on the held-out images, for every cost."""
    kept, left_out = fold
    repair = PsdCorrection(psd_correction)
    own = repair.fit_transform(K[np.ix_(kept, kept)])
    rows = repair.transform(K[np.ix_(left_out, kept)])
    machines = [SVC(C=C, kernel="precomputed").fit(own, labels[kept]) for C in COSTS]
    return [100 * float(np.mean(machine.predict(rows) != labels[left_out])) for machine in machines]


EUCLIDEAN = TangentDistance(Identity(), blur=0.0)
BLURRED = TangentDistance(Identity(), blur=0.8)


def _tangent(sides="two") -> TangentDistance:
    return TangentDistance(sides=sides, n_jobs=2)


def _vector_kernel(form: str, transformations=None, **settings) -> TangentVectorKernel:
    return TangentVectorKernel(transformations, form, n_jobs=2, **settings)


def _papers_sum() -> KernelSVM:
    """Eq. (13) as in sec. 3.1: sigma by cross-validation, γ_w tied to it, γ_r² the variance of the tangents."""
    kernel = _vector_kernel("sum", PAPERS_TRANSFORMATIONS, method="difference", blur=0.0, gamma_w="sigma")
    return KernelSVM(kernel, sigma=(0.5, 0.35, 0.7, 0.25, 1.0))


def _summed(transformations, blur: float) -> KernelSVM:
    return KernelSVM(_vector_kernel("sum", transformations, method="difference", blur=blur), **SUMMED)


NARROW = {"sigma": (0.5, 1.0, 2.0), "gamma_w": (0.5, 0.35, 0.7, 0.25)}
SUMMED = {"sigma": (0.5, 0.35, 0.7), "gamma_w": (0.35, 0.25, 0.5), "gamma_r": (1.0, 2.0)}
METHODS: dict[str, tuple[float | None, Callable]] = {
    "1-NN": (None, lambda: Nearest(EUCLIDEAN)),
    "RBF": (11.2, lambda: DistanceSVM(EUCLIDEAN)),
    "RBF, blurred": (None, lambda: DistanceSVM(BLURRED)),
    "virtual, rotations and scales": (9.8, lambda: Virtual(PAPERS_TRANSFORMATIONS)),
    "virtual, shifts": (None, lambda: Virtual(Shifts(1))),
    "jittered, rotations and scales": (10.0, lambda: DistanceSVM(JitteredDistance(PAPERS_TRANSFORMATIONS, EUCLIDEAN))),
    "jittered, shifts": (None, lambda: DistanceSVM(JitteredDistance(Shifts(1), EUCLIDEAN))),
    "tangent vectors, sum, rotations and scales": (9.7, _papers_sum),
    "tangent vectors, sum, all widths searched": (None, lambda: _summed(PAPERS_TRANSFORMATIONS, 0.0)),
    "tangent vectors, sum, blurred": (None, lambda: _summed(PAPERS_TRANSFORMATIONS, 0.8)),
    "tangent vectors, sum, blurred, also shifts": (None, lambda: _summed(Shifts(1) | PAPERS_TRANSFORMATIONS, 0.8)),
    "tangent vectors, product": (None, lambda: KernelSVM(_vector_kernel("product"), **NARROW)),
    "tangent vectors, distribution": (
        None,
        lambda: KernelSVM(_vector_kernel("distribution"), sigma=(1.0, 2.0), gamma_w=(0.35, 0.25)),
    ),
    "tangent distance one-sided, 1-NN": (None, lambda: Nearest(_tangent("one"))),
    "tangent distance two-sided, 1-NN": (None, lambda: Nearest(_tangent())),
    "tangent distance mean, SVM": (None, lambda: DistanceSVM(_tangent("mean"))),
    "tangent distance two-sided, SVM": (None, lambda: DistanceSVM(_tangent())),
    "tangent distance two-sided, SVM, clipped": (None, lambda: DistanceSVM(_tangent(), "clip")),
    "jittered tangent distance, SVM": (None, lambda: DistanceSVM(JitteredDistance(Shifts(1), _tangent()))),
    "jittered tangent distance, SVM, clipped": (
        None,
        lambda: DistanceSVM(JitteredDistance(Shifts(1), _tangent()), "clip"),
    ),
}
FOR_MANY = (
    "RBF",
    "RBF, blurred",
    "virtual, shifts",
    "jittered tangent distance, SVM",
    "jittered tangent distance, SVM, clipped",
)
IN_FIGURE = (
    "RBF",
    "RBF, blurred",
    "tangent vectors, sum, rotations and scales",
    "tangent vectors, product",
    "tangent distance two-sided, SVM, clipped",
)


def draw_digits(labels: np.ndarray, n: int, seed: int) -> np.ndarray:
    """Indices of n digits, as many of every class."""
    rng = np.random.default_rng(seed)
    classes = np.unique(labels)
    if n % len(classes):
        raise ValueError(f"n must be a multiple of the number of classes, {len(classes)}; got {n}.")
    return np.concatenate([rng.permutation(np.flatnonzero(labels == c))[: n // len(classes)] for c in classes])


def run(
    n_draws: int = 3,
    n_test: int | None = N_TEST,
    methods: Mapping[str, tuple[float | None, Callable]] = METHODS,
    sizes: Sequence[int] = (300,),
    seed: int = 0,
) -> dict[int, list[Outcome]]:
    """Errors of the methods by number of training digits; n_test=None tests on all 10,000 test digits."""
    data, test_data = load_mnist(), load_mnist("test")
    labels, all_test_labels = np.asarray(data.labels), np.asarray(test_data.labels)
    tested = np.random.default_rng(seed).permutation(len(all_test_labels))[:n_test]
    test, test_labels = as_floats(test_data.images[tested]), all_test_labels[tested]
    outcomes = {}
    for size in sizes:
        errors: dict[str, list[float]] = {name: [] for name in methods}
        seconds = dict.fromkeys(methods, 0.0)
        for draw in range(n_draws):
            drawn = draw_digits(labels, size, seed + draw)
            trial = Trial(as_floats(data.images[drawn]), labels[drawn], test)
            for name in track(methods, f"{size} digits, draw {draw + 1} of {n_draws}"):
                started = time.perf_counter()
                errors[name].append(100 * float(np.mean(methods[name][1]().predict(trial) != test_labels)))
                seconds[name] += time.perf_counter() - started
                print(f"{size} digits, draw {draw + 1} of {n_draws}: {name} {errors[name][-1]:.2f}", flush=True)
        outcomes[size] = [
            Outcome(name, np.array(errors[name]), paper if size == 300 else None, seconds[name] / n_draws)
            for name, (paper, _) in methods.items()
        ]
    return outcomes


def as_floats(images: np.ndarray) -> np.ndarray:
    """Grey values from 0 to 1."""
    return np.asarray(images, np.float32) / 255
