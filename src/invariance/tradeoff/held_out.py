"""What samples held out say: how much a kernel's weight should cost, which weights are best, how sure a score is.

Costs, sigma="cv". Where samples are few, every kernel separates the training samples, and learned weights can rely on
kernels that are worth nothing. So the costs σ of [Varma07] eq. (1), which are there for prior knowledge, grow with the
errors that a kernel makes alone in cross-validation, plus one so that none is 0.

Search, weights="search". The weights with the fewest errors in cross-validation among those of a grid, the same for
every task.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from invariance.tradeoff.solver import Machine, fit_machine
from invariance.tradeoff.tasks import class_scores, decide, grams_of, make_tasks, predict_codes

Fold = tuple[np.ndarray, np.ndarray]  # the samples to learn from, and those held out
FitTask = Callable[[int, np.ndarray, np.ndarray], Machine]  # of a task's place, its matrices (k, n, n), its targets

N_FOLDS = 5  # for costs and calibration: scikit-learn's default
# Costs are errors to this power. It was chosen on draws of faces and digits that no published figure uses; one half and
# one quarter do nearly as well.
COST_POWER = 1 / 3
N_REFITTED = 2  # folds for which a kernel that learns from labels is learned again: it can take seconds each time

N_SEARCH_FOLDS = 3  # every one of up to MAX_CANDIDATES weights is cross-validated
N_PARTS = 6  # steps of the grid of weights: with three kernels it has 28 points, with six 462
MAX_CANDIDATES = 500  # a finer grid is sampled
MAX_GRID_KERNELS = 7  # with more the grid, of over 1,700 points, is not even listed


def make_folds(codes: np.ndarray, n_folds: int, purpose: str) -> list[Fold]:
    """Stratified folds, fewer than `n_folds` where a class has fewer samples; `purpose` is named in the error."""
    n_folds = min(n_folds, int(np.bincount(codes).min()))
    if n_folds < 2:
        raise ValueError(f"{purpose} needs at least two images of every class, some of them to be held out.")
    return list(StratifiedKFold(n_folds, shuffle=True, random_state=0).split(codes, codes))


def held_out_scores(Ks: np.ndarray, codes: np.ndarray, scheme: str, fold: Fold, fit_task: FitTask) -> np.ndarray:
    """Scores (m, n_classes) of the samples held out of a fold, or decisions (m, 1) of two classes."""
    training, held = fold
    inside = np.ascontiguousarray(Ks[:, training[:, None], training])
    return _scores_of(inside, Ks[:, held[:, None], training], codes[training], scheme, fit_task)


def held_out_costs(
    Ks: np.ndarray, codes: np.ndarray, scheme: str, C: float, base_kernels: Sequence[Any] | None, X: Any
) -> np.ndarray:
    """Costs (k,) of the weights, 1 for the kernel with the fewest errors.

    `base_kernels` made the matrices from the images X; None if the matrices themselves were given. One that learns from
    the labels is learned again without the samples held out.
    """
    folds = make_folds(codes, N_FOLDS, "sigma='cv'")
    errors: list[float] = []
    for k in range(len(Ks)):
        if base_kernels is not None and getattr(base_kernels[k], "labelled", False):
            some = folds[:N_REFITTED]
            n_wrong = sum(_count_errors_refitted(base_kernels[k], X, codes, scheme, fold, C) for fold in some)
            errors.append(n_wrong * len(codes) / sum(len(held) for _, held in some))
        else:
            errors.append(_count_errors(Ks[k], codes, scheme, folds, C))
    counts = 1.0 + np.array(errors)
    return (counts / counts.min()) ** COST_POWER


def search_weights(Ks: np.ndarray, codes: np.ndarray, scheme: str, C: float) -> np.ndarray:
    """Weights (k,) that sum to 1 with the fewest errors in cross-validation; of equally good ones the most even."""
    candidates, folds = simplex_grid(len(Ks)), make_folds(codes, N_SEARCH_FOLDS, "weights='search'")
    errors = [_count_errors(np.tensordot(weights, Ks, axes=1), codes, scheme, folds, C) for weights in candidates]
    unevenness = np.sum(candidates**2, axis=1)
    return candidates[np.lexsort((unevenness, errors))[0]]


def simplex_grid(n_kernels: int) -> np.ndarray:
    """All weights in steps of 1 / N_PARTS, the corners and the middle; a seeded sample where there are too many."""
    bars = []
    if n_kernels <= MAX_GRID_KERNELS:
        bars = list(combinations(range(N_PARTS + n_kernels - 1), n_kernels - 1))
    if bars:
        edges = np.hstack([np.full((len(bars), 1), -1), np.array(bars).reshape(len(bars), -1),
                           np.full((len(bars), 1), N_PARTS + n_kernels - 1)])  # fmt: skip
        grid = (np.diff(edges, axis=1) - 1) / N_PARTS
    else:
        grid = np.random.default_rng(0).dirichlet(np.ones(n_kernels), MAX_CANDIDATES)
    if len(grid) > MAX_CANDIDATES:
        grid = grid[np.random.default_rng(0).choice(len(grid), MAX_CANDIDATES, replace=False)]
    return np.unique(np.vstack([grid, np.eye(n_kernels), np.full((1, n_kernels), 1 / n_kernels)]), axis=0)


def _count_errors(K: np.ndarray, codes: np.ndarray, scheme: str, folds: Sequence[Fold], C: float) -> int:
    """How many samples machines on one kernel (n, n) misclassify while they are held out."""
    fit_task = partial(_fit_alone, C)
    scores = [held_out_scores(K[None], codes, scheme, fold, fit_task) for fold in folds]
    return sum(_count_wrong(part, codes[held]) for part, (_, held) in zip(scores, folds, strict=True))


def _count_errors_refitted(kernel: Any, X: Any, codes: np.ndarray, scheme: str, fold: Fold, C: float) -> int:
    """How many samples of a fold a base kernel that was fitted without them misclassifies."""
    training, held = fold
    refitted = clone(kernel)
    inside = refitted.fit_gram(_take(X, training), codes[training])[None]
    rows = refitted.rows(_take(X, held))[None]
    return _count_wrong(_scores_of(inside, rows, codes[training], scheme, partial(_fit_alone, C)), codes[held])


def _scores_of(inside: np.ndarray, rows: np.ndarray, codes: np.ndarray, scheme: str, fit_task: FitTask) -> np.ndarray:
    """Scores (m, n_classes) of samples (k, m, n) by machines fitted to others (k, n, n), or decisions (m, 1) of two."""
    tasks = make_tasks(codes, scheme)
    machines = [fit_task(place, grams_of(inside, task), task.targets) for place, task in enumerate(tasks)]
    return class_scores(decide(machines, tasks, rows), tasks, int(codes.max()) + 1)


def _count_wrong(scores: np.ndarray, codes: np.ndarray) -> int:
    return int(np.count_nonzero(predict_codes(scores) != codes))


def _fit_alone(C: float, place: int, K: np.ndarray, y: np.ndarray) -> Machine:
    """A machine on a single kernel (1, n, n)."""
    return fit_machine(K, y, C, np.ones(1))


def _take(X: Any, rows: np.ndarray) -> Any:
    return X[rows] if isinstance(X, np.ndarray) else [X[row] for row in rows]
