"""Small points, kernels of them, and kernels that know nothing."""

import numpy as np

from invariance.tradeoff.solver import Terms


def squared_distances(P, Q=None):
    """(n, m) of points (n, D) and (m, D)."""
    Q = P if Q is None else Q
    return ((P[:, None] - Q[None]) ** 2).sum(axis=-1)


def draw_kernels(n_kernels, n=20, seed=0):
    """Gaussian kernels (k, n, n) of different points, and labels (n,) of -1 and +1 that they can just tell apart."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    points = rng.standard_normal((n_kernels, n, 3)) + 0.4 * y[:, None]
    return np.array([np.exp(-0.3 * squared_distances(P)) for P in points]), y


def draw_task(n_per_class=10, n_classes=3, n_noise=3, seed=0):
    """Distances (1 + noise, n, n) and labels: the first kernel separates the classes, the rest are noise."""
    rng = np.random.default_rng(seed)
    codes = np.arange(n_per_class * n_classes) % n_classes
    points = [rng.standard_normal((len(codes), 4)) + 2 * np.eye(4)[codes]]
    points += [rng.standard_normal((len(codes), 4)) for _ in range(n_noise)]
    return np.array([squared_distances(P) for P in points]), np.array(["ant", "bee", "cat", "dog"])[codes]


def plain(n_kernels, sigma=1.0, norm=1.0, ridge=0.0, A=None, p=None):
    """The cost of weights, the paper's unless said otherwise."""
    A = np.zeros((0, n_kernels)) if A is None else np.asarray(A, float)
    p = np.zeros(0) if p is None else np.asarray(p, float)
    return Terms(np.full(n_kernels, 1.0) * sigma, float(norm), float(ridge), A, p)
