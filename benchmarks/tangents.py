"""Tangent kernels: speed against a plain Gaussian Gram matrix and naive loops over pairs, and memory.

Usage, from the repository: python -m benchmarks.tangents
Images are MNIST's if available, else generated; every ratio compares two figures of the same run.
"""

import resource

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks.timing import best, timed
from invariance.datasets import DatasetMissing, load_mnist
from invariance.tangents import TangentDistance, TangentVectorKernel
from invariance.transformations import Affine, Morphology

SHAPE, N, N_NAIVE = (28, 28), 2000, 60
SEVEN = Affine() | Morphology(("dilate",))  # six directions of affine maps, and thickness


def load_images(n):
    try:
        return np.asarray(load_mnist(n=n).images, np.float32) / 255
    except DatasetMissing:
        return np.random.default_rng(0).random((n, *SHAPE), np.float32)


def compare_with_rbf(images):
    rows = images.reshape(len(images), -1).astype(np.float64)
    X, Y, flat_X, flat_Y = images[:N], images[N:], rows[:N], rows[N:]
    plain, _ = best(lambda: rbf_kernel(flat_X, flat_Y, gamma=0.01))
    print(f"Gram matrix {N:,} x {N:,} x {rows.shape[1]}: plain Gaussian {plain:.3f} s")
    for form, sides, eta in (
        ("product", "one", 0.0),
        ("product", "one", 0.1),
        ("sum", "one", 0.0),
        ("product", "two", 0.0),
    ):
        kernel = TangentVectorKernel(SEVEN, form=form, sides=sides, eta=eta, n_jobs=2).fit(images[:200])
        kernel(X[:50], Y[:50])
        taken, _ = best(lambda kernel=kernel: kernel(X, Y))
        J = kernel._points(X[:1]).vectors.shape[1]
        print(
            f"  {form}, {sides}-sided, eta {eta:g}, J = {J}: {taken:.2f} s = {taken / plain:.1f} times, "
            f"{taken / plain / (J + 1):.2f} (J + 1)"
        )
    small = TangentVectorKernel(SEVEN, form="distribution", n_jobs=2).fit(images[:200])
    small(X[:50], Y[:50])
    taken, _ = best(lambda: small(X[:500], Y[:500]), 1)
    print(f"  distribution, 500 x 500: {taken:.2f} s, {1e6 * taken / 250_000:.1f} µs per pair")


def naive_distance(x, y, tangents_x, tangents_y):
    """The smallest distance of two flat images that may move along their tangents, by least squares."""
    span = np.concatenate([tangents_x, tangents_y]).T
    difference = x - y
    return np.linalg.norm(difference - span @ np.linalg.lstsq(span, difference, rcond=None)[0])


def compare_with_loops(images):
    distance = TangentDistance(SEVEN, n_jobs=2)
    X, Y = images[:N], images[N : N + 1500]
    few = TangentVectorKernel(SEVEN)._points(images[:N_NAIVE])
    pairs = list(zip(few.rows, few.vectors, strict=True))
    naive_seconds, naive = timed(lambda: [[naive_distance(x, y, S, T) for y, T in pairs] for x, S in pairs])
    naive_seconds /= N_NAIVE**2
    deviation = np.abs(distance.distances(images[:N_NAIVE]) - naive).max()
    taken, _ = best(lambda: distance.squared(X, Y))
    n_pairs = len(X) * len(Y)
    print(
        f"Two-sided tangent distance, J = {few.vectors.shape[1]}: {n_pairs:,} pairs in {taken:.2f} s, "
        f"naive loop {1e6 * naive_seconds:.0f} µs per pair, {naive_seconds * n_pairs / taken:.0f} times; "
        f"largest deviation {deviation:.1e}"
    )


def measure_memory(images):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    TangentDistance(SEVEN, n_jobs=2).squared(images, images)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    n = len(images)
    print(
        f"Memory, {n:,} x {n:,} two-sided distances: {(peak - before) / 2**20:.2f} GB more than before, "
        f"of which result {8 * n * n / 2**30:.2f} and tangents {2 * 8 * 7 * n * images[0].size / 2**30:.2f}"
    )


if __name__ == "__main__":
    images = load_images(2 * N)
    measure_memory(images)
    compare_with_rbf(images)
    compare_with_loops(images)
