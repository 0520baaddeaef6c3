"""Images as histograms of the words of one local descriptor, whole or in the cells of a spatial pyramid.

A descriptor gives every image vectors at a grid of positions; the centres of k-means on a sample of the training
images' vectors are the words; each vector counts for the word nearest to it, [Varma07] sec. 4.
"""

import os
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.cluster import MiniBatchKMeans
from sklearn.metrics.pairwise import additive_chi2_kernel
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from invariance._core.checks import check_choice, check_count
from invariance._core.parallel import iterate_jobs
from invariance._core.randomness import make_rng, spawn_rngs
from invariance.codebooks.kernel import BagKernel
from invariance.images import encode_labels, read_image

BLOCK_BYTES = 16 * 2**20
KEPT_BYTES = 2**29
N_BATCH = 4096
N_STARTS = 3
N_EPOCHS = 30


class Described(NamedTuple):
    """All vectors (n, D) of an image, and its shape."""

    vectors: np.ndarray
    shape: tuple[int, ...]


class WordHistograms(TransformerMixin, BaseEstimator):
    """Turn images into normalised histograms of visual words.

    Parameters
    ----------
    descriptor : what gives an image its vectors: `describe_all(image) -> (n, D)`, and for `levels` over 1
        `places(shape) -> (n, 2)`, the rows and columns that the vectors belong to. One that also has
        `describe_some(image, rows)` is asked for no more than the vectors that words are found among.
    n_words : how many words there are; n_training : how many vectors they are found among, equally many an image.
    by_class : whether the words are found class by class, an equal number in each; else among all vectors together.
    levels : how many levels the spatial pyramid has; level l divides the image into 2^l x 2^l cells and counts the
        words of each by itself. The share of level l in the sum is 2^(l - levels), that of level 0 2^(1 - levels), so
        that the intersection of two pyramids counts each match once, at the finest level that it is found at.
    n_jobs : threads, each with an image of its own; one image's vectors per thread are held at a time.

    Images are arrays (h, w) or (h, w, c) of any sizes, or paths; a sequence that reads them one by one will do.

    Attributes
    ----------
    words_ (n_words, D) float32 : the words; classes_ : the classes, if there were labels.
    """

    def __init__(
        self, descriptor, n_words=400, n_training=100_000, levels=1, by_class=False, n_jobs=None, random_state=None
    ):
        self.descriptor = descriptor
        self.n_words = n_words
        self.n_training = n_training
        self.levels = levels
        self.by_class = by_class
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, images: Sequence[Any], y=None) -> "WordHistograms":
        """Find the words of images; their labels matter with `by_class` only."""
        return self._find_words(images, y, {})

    def fit_transform(self, images: Sequence[Any], y=None) -> np.ndarray:
        """`fit` and `transform`; vectors of up to half a gigabyte are kept, so that they are computed only once."""
        kept: dict[int, Described] = {}
        return self._find_words(images, y, kept, KEPT_BYTES)._histograms(images, kept)

    def transform(self, images: Sequence[Any]) -> np.ndarray:
        """Histograms (n, n_words * (1 + 4 + ...)) float32, level by level and cell by cell; every row sums to 1."""
        check_is_fitted(self)
        return self._histograms(images, {})

    def words_of(self, image: Any) -> np.ndarray:
        """The word (n,) of each of an image's vectors, for maps and galleries."""
        check_is_fitted(self)
        return nearest_words(_describe(self.descriptor, _load(image)).vectors, self.words_)

    def _find_words(self, images, y, kept: dict[int, Described], room: int = 0) -> "WordHistograms":
        """Fit; as many images' vectors as there is room for, in bytes, are kept."""
        n_images = _count_images(images)
        check_count("levels", self.levels)
        self.classes_: np.ndarray | None = None
        codes = np.zeros(n_images, int)
        if y is not None:
            self.classes_, codes = encode_labels(y, n_images)
        if y is None and self.by_class:
            raise ValueError("by_class=True needs labels y, to find the words of each class; got None.")
        rng = make_rng(self.random_state)
        parts = self._sample(images, rng, kept, room)
        groups = [np.flatnonzero(codes == code) for code in np.unique(codes)] if self.by_class else [range(n_images)]
        shares = _equal_shares(check_count("n_words", self.n_words, len(groups)), len(groups))
        seeds = rng.integers(2**31, size=len(groups))
        samples = (np.concatenate([parts[i] for i in group]) for group in groups)
        self.words_ = np.concatenate(
            [find_words(sample, share, int(seed)) for sample, share, seed in zip(samples, shares, seeds, strict=True)]
        )
        return self

    def _histograms(self, images, kept: dict[int, Described]) -> np.ndarray:
        n_images = _count_images(images)
        n_cells = sum(4**level for level in range(check_count("levels", self.levels)))
        histograms = np.empty((n_images, n_cells * len(self.words_)), np.float32)
        rows = iterate_jobs(
            partial(self._histogram, images, kept), range(n_images), self.n_jobs, "counting visual words"
        )
        for histogram, row in zip(histograms, rows, strict=True):
            histogram[:] = row
        return histograms

    def _sample(self, images, rng: np.random.Generator, kept: dict[int, Described], room: int) -> list[np.ndarray]:
        """Equally many vectors (n, D) of every image, or all where it has fewer."""
        n_each = -(-check_count("n_training", self.n_training) // len(images))
        work = partial(_draw_vectors, images, self.descriptor, n_each)
        tasks = list(enumerate(spawn_rngs(rng, len(images))))
        parts = []
        for index, (part, whole) in enumerate(iterate_jobs(work, tasks, self.n_jobs, "describing images")):
            parts.append(part)
            if whole is not None and whole.vectors.nbytes <= room:
                room -= whole.vectors.nbytes
                kept[index] = whole
        if len({part.shape[1] for part in parts}) > 1:
            raise ValueError("images must all be grey or all in colour: their vectors differ in length. Convert some.")
        return parts

    def _histogram(self, images, kept: dict[int, Described], index: int) -> np.ndarray:
        is_kept = index in kept
        vectors, shape = kept.pop(index) if is_kept else _describe(self.descriptor, _load(images[index]))
        words = nearest_words(vectors, self.words_)
        if self.levels == 1:
            return _count(words, len(self.words_))
        places = np.asarray(self.descriptor.places(shape)) / shape[:2]
        levels = [
            2.0 ** (max(level, 1) - self.levels) * _count_cells(words, places, 2**level, len(self.words_))
            for level in range(self.levels)
        ]
        return np.concatenate(levels)


def find_words(vectors: np.ndarray, n_words: int, seed: int) -> np.ndarray:
    """The centres (n_words, D) float32 of k-means on vectors (n, D), moved by small batches of them."""
    if n_words > len(vectors):
        raise ValueError(
            f"n_words must be at most the {len(vectors)} vectors that words are found among; got {n_words}. "
            f"Ask for fewer words, or raise n_training."
        )
    kmeans = MiniBatchKMeans(
        n_words, batch_size=N_BATCH, n_init=N_STARTS, max_iter=N_EPOCHS, reassignment_ratio=0.0, random_state=seed
    )
    # The vectors are small: more threads wait for each other more than they work, and round differently.
    with threadpool_limits(limits=1):
        kmeans.fit(np.ascontiguousarray(vectors, np.float32))
    return kmeans.cluster_centers_


def nearest_words(vectors: np.ndarray, words: np.ndarray) -> np.ndarray:
    """The index (n,) of the word (k, D) nearest to each vector (n, D)."""
    if vectors.shape[1] != words.shape[1]:
        raise ValueError(
            f"images must give vectors of {words.shape[1]} values, as those that the words were found among; "
            f"got {vectors.shape[1]}. Are some grey and some in colour?"
        )
    half_squares = 0.5 * np.einsum("kd,kd->k", words, words)
    nearest = np.empty(len(vectors), np.intp)
    n_block = max(1, BLOCK_BYTES // (4 * len(words)))
    for start in range(0, len(vectors), n_block):
        block = slice(start, start + n_block)
        nearest[block] = np.argmax(vectors[block] @ words.T - half_squares, axis=1)
    return nearest


def histogram_distances(X: Any, Y: Any = None, kind: str = "chi2") -> np.ndarray:
    """Distances (n, m) of histograms X (n, d) and Y (m, d), float64, 0 to 1 for those that sum to 1.

    kind : "chi2", ½ Σ_i (x_i - y_i)² / (x_i + y_i), or "intersection", the larger sum less Σ_i min(x_i, y_i).
    """
    if check_choice("kind", kind, ("chi2", "intersection")) == "chi2":
        return -0.5 * additive_chi2_kernel(X, Y)
    kernel = BagKernel("intersection")
    other = X if Y is None else Y
    return np.maximum.outer(kernel.diag(X), kernel.diag(other)) - kernel(X, Y)


def _count(words: np.ndarray, n_words: int) -> np.ndarray:
    """The share (n_words,) of every word; equal shares where there is nothing to count."""
    counts = np.bincount(words, minlength=n_words)
    return counts / len(words) if len(words) else np.full(n_words, 1 / n_words)


def _count_cells(words: np.ndarray, places: np.ndarray, n_sides: int, n_words: int) -> np.ndarray:
    """The share of every word and cell in all words, (n_sides² n_words,); places (n, 2) lie in [0, 1]."""
    rows, columns = np.clip((places * n_sides).astype(int), 0, n_sides - 1).T
    return _count((rows * n_sides + columns) * n_words + words, n_sides**2 * n_words)


def _draw_vectors(images, descriptor, n_each: int, task) -> "tuple[np.ndarray, Described | None]":
    """Some of an image's vectors, and all of them unless the descriptor can do without."""
    index, rng = task
    image = _load(images[index])
    if hasattr(descriptor, "describe_some"):
        rows = _draw_rows(len(descriptor.places(image.shape)), n_each, rng)
        return np.ascontiguousarray(descriptor.describe_some(image, rows), np.float32), None
    whole = _describe(descriptor, image)
    return whole.vectors[_draw_rows(len(whole.vectors), n_each, rng)], whole  # a copy, so that the others can go


def _draw_rows(n_rows: int, n_drawn: int, rng: np.random.Generator) -> np.ndarray:
    """Numbers of as many rows, in their order, or of all if there are fewer."""
    return np.sort(rng.choice(n_rows, n_drawn, replace=False)) if n_rows > n_drawn else np.arange(n_rows)


def _describe(descriptor, image: np.ndarray) -> Described:
    return Described(np.ascontiguousarray(descriptor.describe_all(image), np.float32), image.shape)


def _load(image: Any) -> np.ndarray:
    image = read_image(image) if isinstance(image, str | os.PathLike) else np.asarray(image)
    if image.ndim not in (2, 3) or image.size == 0:
        raise ValueError(f"an image must be (h, w) or (h, w, c) with at least one pixel; got shape {image.shape}.")
    return image


def _equal_shares(total: int, n_groups: int) -> list[int]:
    """Whole numbers that sum to `total` and differ by one at most."""
    return [total // n_groups + (group < total % n_groups) for group in range(n_groups)]


def _count_images(images: Any) -> int:
    if isinstance(images, np.ndarray) and images.ndim not in (1, 3, 4):
        raise ValueError(f"images must be a sequence of images; got one array of shape {images.shape}.")
    if len(images) == 0:
        raise ValueError("images must hold at least one image; got none.")
    return len(images)
