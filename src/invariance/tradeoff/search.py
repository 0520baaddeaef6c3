"""Weights by brute force: the best on a grid of the simplex, the same for every task, by cross-validation."""

from itertools import combinations

import numpy as np
from sklearn.model_selection import StratifiedKFold

from invariance.tradeoff.solver import fit_machine
from invariance.tradeoff.tasks import class_scores, make_tasks

N_FOLDS, N_PARTS, MAX_CANDIDATES = 3, 6, 500


def search_weights(Ks: np.ndarray, codes: np.ndarray, scheme: str, C: float) -> np.ndarray:
    """Weights (k,) that sum to 1 with the fewest errors in cross-validation; of equals the most even ones."""
    candidates = simplex_grid(len(Ks))
    n_folds = min(N_FOLDS, int(np.bincount(codes).min()))
    if n_folds < 2:
        raise ValueError("weights='search' needs at least two images of every class to be validated.")
    errors = np.zeros(len(candidates))
    for training, held in StratifiedKFold(n_folds, shuffle=True, random_state=0).split(codes, codes):
        for place, weights in enumerate(candidates):
            errors[place] += _count_errors(Ks, codes, scheme, C, weights, training, held)
    evenness = -np.sum(candidates**2, axis=1)
    return candidates[np.lexsort((-evenness, errors))[0]]


def simplex_grid(n_kernels: int) -> np.ndarray:
    """All weights in steps of 1 / N_PARTS, the corners and the middle; a seeded sample where there are too many."""
    bars = list(combinations(range(N_PARTS + n_kernels - 1), n_kernels - 1)) if n_kernels < 8 else []
    if bars:
        edges = np.hstack([np.full((len(bars), 1), -1), np.array(bars).reshape(len(bars), -1),
                           np.full((len(bars), 1), N_PARTS + n_kernels - 1)])  # fmt: skip
        grid = (np.diff(edges, axis=1) - 1) / N_PARTS
    else:
        grid = np.random.default_rng(0).dirichlet(np.ones(n_kernels), MAX_CANDIDATES)
    if len(grid) > MAX_CANDIDATES:
        grid = grid[np.random.default_rng(0).choice(len(grid), MAX_CANDIDATES, replace=False)]
    return np.unique(np.vstack([grid, np.eye(n_kernels), np.full((1, n_kernels), 1 / n_kernels)]), axis=0)


def _count_errors(Ks, codes, scheme, C, weights, training, held) -> int:
    K = np.tensordot(weights, Ks, axes=1)
    tasks = make_tasks(codes[training], scheme)
    inside, across = K[np.ix_(training, training)], K[np.ix_(held, training)]
    decisions = np.empty((len(held), len(tasks)))
    for place, task in enumerate(tasks):
        part = np.ascontiguousarray(inside[np.ix_(task.samples, task.samples)])[None]
        machine = fit_machine(part, task.targets, C, np.ones(1), 1e-3)
        decisions[:, place] = across[:, task.samples] @ machine.coefficients + machine.offset
    n_classes = int(codes.max()) + 1
    if n_classes == 2:
        return int(np.count_nonzero((decisions[:, 0] > 0) != (codes[held] == 1)))
    return int(np.count_nonzero(class_scores(decisions, tasks, n_classes).argmax(axis=1) != codes[held]))
