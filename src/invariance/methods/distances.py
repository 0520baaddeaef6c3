"""Every image classified by all others, from distances that ignore what does not matter.

Of whole images, the distance is the minimum over Φ; of textures, that of histograms of words of filter responses.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np

from invariance._core.parallel import iterate_jobs, map_jobs
from invariance._core.probabilities import learn_sharpness, scores_to_probabilities
from invariance._core.randomness import make_rng
from invariance.codebooks.kernel import histogram_distances
from invariance.codebooks.kmeans import find_words, nearest_words
from invariance.descriptors.maximum_responses import bank_responses, maximize
from invariance.descriptors.patch_grid import grid_lines, standardize, weber_contrast
from invariance.methods.preparation import as_one_kind, remove_illumination
from invariance.tradeoff.base import inverse_mean
from invariance.transformations import Illumination, LinearStack, TransformationSet
from invariance.transformations.operators import alter
from invariance.transformations.sets import split_normalizing
from invariance.transformations.steps import Member

N_TOGETHER = 4  # members per task
MAX_SIDE = 160
STEP = 4
SCALES, N_ORIENTATIONS = (1.0, 2.0, 4.0), 6
N_WORDS, N_DESCRIPTORS = 200, 40_000
SHARPNESS = 2.0  # of the kernel, over the mean distance
RIDGE = 0.3


def mean_of_border(squares: np.ndarray) -> float:
    """Return the mean of images (n, h, w) along their border, which is assumed to lie outside."""
    rows, columns = squares[:, [0, -1]], squares[:, :, [0, -1]]
    return float((rows.mean() + columns.mean()) / 2)


def minimum_distances(squares: np.ndarray, phi: TransformationSet, n_jobs: int | None = None) -> np.ndarray:
    """Return the mean (n, n) of min_φ |φx - y|² and min_φ |x - φy|² for all pairs of images (n, h, w) float32.

    Pixels that a geometric φ brings in from outside have the mean grey of the border. Illumination is normalized first,
    as by the methods.
    """
    operators, (light, _) = phi.operators(squares.shape[1:]), split_normalizing(phi)
    if isinstance(light, Illumination):
        squares = np.stack([remove_illumination(square, light.width) for square in squares])
    background = np.float32(mean_of_border(squares))
    parts = zip(operators.alterations, operators.stacks, strict=True)
    tasks = [
        (alteration, stack.matrices[start : start + N_TOGETHER])
        for alteration, stack in parts
        for start in range(0, len(stack), N_TOGETHER)
    ]
    minimum = np.full((len(squares), len(squares)), np.inf, np.float32)
    for some in iterate_jobs(partial(_minimum_over_some, squares, background), tasks, n_jobs):
        np.minimum(minimum, some, out=minimum)
    return (minimum.astype(np.float64) + minimum.T) / 2


def _minimum_over_some(squares: np.ndarray, background: np.float32, task: tuple[Member, list]) -> np.ndarray:
    alteration, matrices = task
    n, shape = len(squares), squares.shape[1:]
    moved, fixed = alter(squares, alteration) - background, (squares - background).reshape(n, -1)
    norms_of_fixed = np.einsum("id,id->i", fixed, fixed)
    minimum = np.full((n, n), np.inf, np.float32)
    for matrix in matrices:
        rows = LinearStack([matrix], shape).apply(moved)[:, 0].reshape(n, -1)
        distances = rows @ fixed.T
        distances *= -2
        distances += np.einsum("id,id->i", rows, rows)[:, None]
        distances += norms_of_fixed
        np.minimum(minimum, distances, out=minimum)
    return np.maximum(minimum, 0, out=minimum)


def filter_responses(images: Sequence[np.ndarray], n_jobs: int | None = None) -> list[np.ndarray]:
    """Return the responses (42, m) of every image to edges, bars and spots, from which all levels follow."""
    return map_jobs(_responses, as_one_kind(images, 1, MAX_SIDE), n_jobs, "filtering images")


def _responses(image: np.ndarray) -> np.ndarray:
    responses = bank_responses(standardize(image), SCALES, N_ORIENTATIONS)
    rows, columns = (grid_lines(length, STEP) for length in responses.shape[1:])
    return responses[:, rows[:, None], columns].reshape(len(responses), -1)


def texture_distances(
    responses: Sequence[np.ndarray], invariance: str, seed: int = 0, n_jobs: int | None = None
) -> np.ndarray:
    """Return χ² distances (n, n) of word histograms of responses, maximised over rotation, scale, both or neither."""
    vectors = [weber_contrast(np.ascontiguousarray(maximize(some, invariance, len(SCALES)).T)) for some in responses]
    rng, n_each = make_rng(seed), -(-N_DESCRIPTORS // len(vectors))
    sample = np.concatenate([some[rng.permutation(len(some))[:n_each]] for some in vectors])
    words = find_words(sample, min(N_WORDS, len(sample)), seed)
    histograms = map_jobs(partial(_histogram, words), vectors, n_jobs)
    return histogram_distances(np.array(histograms))


def _histogram(words: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    return np.bincount(nearest_words(vectors, words), minlength=len(words)) / len(vectors)


def left_out_probabilities(distances: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return class probabilities (n, K) of each image by all others, for distances (n, n) and true classes (n,).

    Least-squares machines, one per class, on the kernel exp(-2 D / mean D) with negative eigenvalues set to 0. With
    H = (K + ridge)⁻¹, less what the offsets take, and coefficients A = H Y, the decision of the machines trained
    without image i is y_i - a_i / h_ii: no machine is trained twice.

    Minimum distances over Φ are far from Euclidean. Machines that allow little for that (support vectors with a large
    C, a small ridge) lose more than an invariance gains; with this ridge they do not.
    """
    values, vectors = np.linalg.eigh(np.exp(-SHARPNESS * inverse_mean(distances) * distances))
    inverse = (vectors / (np.maximum(values, 0) + RIDGE)) @ vectors.T
    sums = inverse.sum(axis=1)
    H = inverse - np.outer(sums, sums) / sums.sum()
    targets = np.where(codes[:, None] == np.arange(int(codes.max()) + 1), 1.0, -1.0)
    scores = targets - H @ targets / np.diag(H)[:, None]
    return scores_to_probabilities(scores, learn_sharpness(scores, codes))
