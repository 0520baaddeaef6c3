"""Weights by brute force: the best on a grid of the simplex, the same for every task, by cross-validation."""

from functools import partial
from itertools import combinations

import numpy as np

from invariance.tradeoff.held_out import count_errors, make_folds
from invariance.tradeoff.solver import Machine, fit_machine

N_FOLDS, N_PARTS, MAX_CANDIDATES = 3, 6, 500


def search_weights(Ks: np.ndarray, codes: np.ndarray, scheme: str, C: float) -> np.ndarray:
    """Weights (k,) that sum to 1 with the fewest errors in cross-validation; of equals the most even ones."""
    candidates, folds = simplex_grid(len(Ks)), make_folds(codes, N_FOLDS, "weights='search'")
    fit = partial(_fit_sum, C)
    errors = [
        count_errors(np.tensordot(weights, Ks, axes=1)[None], codes, scheme, folds, fit) for weights in candidates
    ]
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


def _fit_sum(C: float, place: int, K: np.ndarray, y: np.ndarray) -> Machine:
    return fit_machine(K, y, C, np.ones(1))
