"""Distances between all images of a set that ignore what does not matter: of whole images, and of textures."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from invariance._core.parallel import iterate_jobs, map_jobs
from invariance._core.randomness import make_rng
from invariance.codebooks.kernel import histogram_distances
from invariance.codebooks.kmeans import find_words, nearest_words
from invariance.descriptors.maximum_responses import bank_responses, maximize
from invariance.descriptors.patch_grid import grid_lines, standardize, weber_contrast
from invariance.methods.facts import as_one_kind
from invariance.transformations import LinearStack, TransformationSet
from invariance.transformations.operators import alter
from invariance.transformations.photometric import even_illumination
from invariance.transformations.steps import Alteration, Member

N_TOGETHER = 4  # members a job
MAX_SIDE = 160
STEP = 4
SCALES, N_ORIENTATIONS = (1.0, 2.0, 4.0), 6
N_WORDS, N_TRAINING = 200, 40_000


def background_of(squares: np.ndarray) -> float:
    """The mean grey (n, h, w) along the border: what is taken to lie outside."""
    rows, columns = squares[:, [0, -1]], squares[:, :, [0, -1]]
    return float((rows.mean() + columns.mean()) / 2)


def least_distances(squares: np.ndarray, phi: TransformationSet, n_jobs: int | None = None) -> np.ndarray:
    """The mean (n, n) of min_φ |φx - y|² and min_φ |x - φy|² for all pairs of images (n, h, w) float32.

    What a geometric φ brings in from outside has the grey of the background. Evened illumination is compared with
    evened illumination: an image whose light was evened is not to look like one whose light was not.
    """
    operators = phi.operators(squares.shape[1:])
    background = np.float32(background_of(squares))
    parts = zip(operators.alterations, operators.stacks, strict=True)
    tasks = [
        (alteration, stack.matrices[start : start + N_TOGETHER])
        for alteration, stack in parts
        for start in range(0, len(stack), N_TOGETHER)
    ]
    least = np.full((len(squares), len(squares)), np.inf, np.float32)
    for some in iterate_jobs(partial(_least_of_some, squares, background), tasks, n_jobs):
        np.minimum(least, some, out=least)
    return (least.astype(np.float64) + least.T) / 2


def _least_of_some(squares: np.ndarray, background: np.float32, task: tuple[Member, list]) -> np.ndarray:
    alteration, matrices = task
    evened = tuple(step for step in alteration if isinstance(step, Alteration) and step.function is even_illumination)
    n, shape = len(squares), squares.shape[1:]
    moved, fixed = alter(squares, alteration) - background, (alter(squares, evened) - background).reshape(n, -1)
    squares_of_fixed = np.einsum("id,id->i", fixed, fixed)
    least = np.full((n, n), np.inf, np.float32)
    for matrix in matrices:
        rows = LinearStack([matrix], shape).apply(moved)[:, 0].reshape(n, -1)
        distances = rows @ fixed.T
        distances *= -2
        distances += np.einsum("id,id->i", rows, rows)[:, None]
        distances += squares_of_fixed
        np.minimum(least, distances, out=least)
    return np.maximum(least, 0, out=least)


def filter_responses(images: Sequence[np.ndarray], n_jobs: int | None = None) -> list[np.ndarray]:
    """Responses (42, m) of every image to edges, bars and spots, from which all levels of invariance are made."""
    return map_jobs(_responses, as_one_kind(images, 1, MAX_SIDE), n_jobs, "looking at textures")


def _responses(image: np.ndarray) -> np.ndarray:
    responses = bank_responses(standardize(image), SCALES, N_ORIENTATIONS)
    rows, columns = (grid_lines(length, STEP) for length in responses.shape[1:])
    return responses[:, rows[:, None], columns].reshape(len(responses), -1)


def texture_distances(
    responses: Sequence[np.ndarray], invariance: str, seed: int = 0, n_jobs: int | None = None
) -> np.ndarray:
    """χ² distances (n, n) of histograms of words of responses, maximised over rotation, scale, both or neither."""
    vectors = [weber_contrast(np.ascontiguousarray(maximize(some, invariance, len(SCALES)).T)) for some in responses]
    rng, n_each = make_rng(seed), -(-N_TRAINING // len(vectors))
    sample = np.concatenate([some[rng.permutation(len(some))[:n_each]] for some in vectors])
    words = find_words(sample, min(N_WORDS, len(sample)), seed)
    histograms = map_jobs(partial(_histogram, words), vectors, n_jobs)
    return histogram_distances(np.array(histograms))


def _histogram(words: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    return np.bincount(nearest_words(vectors, words), minlength=len(words)) / len(vectors)
