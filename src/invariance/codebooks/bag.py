"""Images of any sizes as histograms of visual words, [Moosmann06] sec. 2-4.

Random windows of every image are described; a codebook gives each a word (or one a tree); the words are counted.
Few windows per image suffice to learn the codebook, many are needed to count: "the denser the sampling the better".

Differs from [Moosmann06]: the default histogram is normalised and square-rooted (Hellinger) instead of binarised.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from invariance._core.checks import check_choice, check_count, check_number
from invariance._core.randomness import make_rng
from invariance.codebooks.forest import ClusteringForest
from invariance.codebooks.windows import Described, Sampling, describe_windows, for_each_image
from invariance.descriptors import HaarPatches
from invariance.images import encode_labels

NORMALIZATIONS = ("sqrt", "sum", "binary", "information")


class BagOfFeatures(TransformerMixin, BaseEstimator):
    """Turn images into bags of visual words.

    Parameters
    ----------
    codebook : what gives descriptors their words, with `fit(D, y)` and `transform(D) -> (n, t)`; None means
        ClusteringForest().
    descriptor : what describes a window; None means HaarPatches().
    n_windows : windows per image that are counted; n_training_windows : those that the codebook is learned from.
    min_scale, max_scale : sides of the windows, as shares of the image's shorter side.
    normalization : "sqrt" of the shares of the words, "sum" for the shares themselves, "binary" for whether a word
        occurs at all (the paper), "information" for whether it occurs more often than the threshold that tells most
        about the class, found for each word on the training images.

    Images are arrays (h, w) or (h, w, c) of any sizes, or paths; a sequence that reads them one by one will do. Where
    some of the training images are grey and some in colour, grey ones are taken for colours without saturation.
    """

    def __init__(
        self,
        codebook=None,
        descriptor=None,
        n_windows=8000,
        n_training_windows=67,
        min_scale=0.1,
        max_scale=1.0,
        normalization="sqrt",
        n_jobs=None,
        random_state=None,
    ):
        self.codebook = codebook
        self.descriptor = descriptor
        self.n_windows = n_windows
        self.n_training_windows = n_training_windows
        self.min_scale = min_scale
        self.max_scale = max_scale
        self.normalization = normalization
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, images: Sequence[Any], y=None) -> "BagOfFeatures":
        """Learn the codebook from images and, if the codebook uses them, their labels."""
        check_choice("normalization", self.normalization, NORMALIZATIONS)
        self._learn_codebook(images, y)
        if self.normalization == "information":
            self._learn_thresholds(self.count(images), y)
        return self

    def fit_transform(self, images: Sequence[Any], y=None) -> np.ndarray:
        """The bags of the images that the codebook was learned from; they are counted once."""
        check_choice("normalization", self.normalization, NORMALIZATIONS)
        self._learn_codebook(images, y)
        counts = self.count(images)
        if self.normalization == "information":
            self._learn_thresholds(counts, y)
        return self.normalize(counts)

    def transform(self, images: Sequence[Any]) -> np.ndarray:
        """Bags (n, n_words) float32 of images."""
        return self.normalize(self.count(images))

    def count(self, images: Sequence[Any]) -> np.ndarray:
        """How often every word occurs in every image: (n, n_words) float32.

        Every image is given the same random windows, so that its bag does not depend on the images beside it.
        """
        check_is_fitted(self)
        counts = np.zeros((_count_images(images), self.n_words_), np.float32)
        rngs = [np.random.default_rng(self.seed_) for _ in counts]
        sampling = self._sampling(check_count("n_windows", self.n_windows))
        histograms = for_each_image(
            self._histogram, images, self._descriptor(), sampling, rngs, self.n_jobs, "counting visual words"
        )
        for row, histogram in zip(counts, histograms, strict=True):
            row[:] = histogram
        return counts

    def _learn_codebook(self, images, y) -> None:
        rng = make_rng(self.random_state)
        n_images = _count_images(images)
        n_windows = check_count("n_training_windows", self.n_training_windows)
        self.in_colour_ = False
        seeds = rng.integers(2**63, size=n_images)
        described = self._describe_all(images, n_windows, seeds)
        if described is None:
            # Some are grey and some in colour: the grey ones become colours without saturation.
            self.in_colour_ = True
            described = self._describe_all(images, n_windows, seeds)
        labels = None if y is None else _repeat_labels(y, n_images, n_windows)
        codebook = ClusteringForest() if self.codebook is None else clone(self.codebook)
        unset = {"random_state": int(rng.integers(2**31)), "n_jobs": self.n_jobs}
        given = codebook.get_params(deep=False)
        lent = {name: value for name, value in unset.items() if name in given and given[name] is None}
        self.codebook_ = codebook.set_params(**lent).fit(described, labels)
        if "n_jobs" in lent:
            # Counting gives every image per thread of its own: the codebook must not start more.
            self.codebook_.set_params(n_jobs=None)
        self.n_words_ = int(self.codebook_.n_words_)
        self.seed_ = int(rng.integers(2**31))

    def _describe_all(self, images, n_windows: int, seeds: np.ndarray) -> np.ndarray | None:
        """The descriptors (n * n_windows, d) of so many windows of every image; None where their lengths differ."""
        rngs = [np.random.default_rng(seed) for seed in seeds]
        sampling, descriptor = self._sampling(n_windows), self._descriptor()
        work = for_each_image(_descriptors_only, images, descriptor, sampling, rngs, self.n_jobs, "describing windows")
        described, is_even = None, True
        for place, part in enumerate(work):
            if described is None:
                described = np.empty((len(rngs) * n_windows, part.shape[1]), part.dtype)
            if part.shape[1] == described.shape[1]:
                described[place * n_windows : (place + 1) * n_windows] = part
            else:
                is_even = False
        return described if is_even else None

    def _sampling(self, n_windows: int) -> Sampling:
        max_scale = check_number("max_scale", self.max_scale, 0, 1)
        min_scale = check_number("min_scale", self.min_scale, 0, max_scale)
        return Sampling(n_windows, min_scale, max_scale, self.in_colour_)

    def _descriptor(self):
        return HaarPatches() if self.descriptor is None else self.descriptor

    def _histogram(self, described: Described) -> np.ndarray:
        return np.bincount(self.codebook_.transform(described.descriptors).ravel(), minlength=self.n_words_)

    def windows_of(self, image: Any, n_windows: int) -> Described:
        """Windows of one image as they are counted, for maps and galleries."""
        check_is_fitted(self)
        sampling = self._sampling(check_count("n_windows", n_windows))
        return describe_windows(image, self._descriptor(), sampling, np.random.default_rng(self.seed_))

    def _learn_thresholds(self, counts: np.ndarray, y) -> None:
        if y is None:
            raise ValueError("normalization='information' needs labels y to find its thresholds; got None.")
        self.thresholds_ = informative_thresholds(counts, encode_labels(y, len(counts))[1])

    def normalize(self, counts: np.ndarray) -> np.ndarray:
        """Bags (n, n_words) float32 from counts."""
        if self.normalization == "binary":
            return (counts > 0).astype(np.float32)
        if self.normalization == "information":
            return (counts > self.thresholds_).astype(np.float32)
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        return np.sqrt(shares) if self.normalization == "sqrt" else shares


def informative_thresholds(counts: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """For every word (a column) the count above which its presence tells most about the class: (n_words,)."""
    return np.array([_informative_threshold(column, codes) for column in counts.T], np.float32)


def _informative_threshold(column: np.ndarray, codes: np.ndarray) -> float:
    order = np.argsort(column, kind="stable")
    ordered = column[order]
    one_hot = np.eye(codes.max() + 1)[codes[order]]
    below = np.cumsum(one_hot, axis=0)[:-1]
    above = one_hot.sum(axis=0) - below
    possible = ordered[1:] > ordered[:-1]
    if not possible.any():
        return float(ordered[-1])
    rest = np.where(possible, _weighted_entropy(below) + _weighted_entropy(above), np.inf)
    best = int(np.argmin(rest))
    return float(0.5 * (ordered[best] + ordered[best + 1]))


def _weighted_entropy(counts: np.ndarray) -> np.ndarray:
    """Weight times entropy of each row of class counts."""
    totals = counts.sum(axis=1, keepdims=True)
    return -np.sum(counts * np.log(np.maximum(counts, 1) / np.maximum(totals, 1)), axis=1)


def _repeat_labels(y, n_images: int, n_windows: int) -> np.ndarray:
    """The label of every window's image."""
    classes, codes = encode_labels(y, n_images)
    return classes[np.repeat(codes, n_windows)]


def _descriptors_only(described: Described) -> np.ndarray:
    return described.descriptors


def _count_images(images: Any) -> int:
    if isinstance(images, np.ndarray) and images.ndim not in (1, 3, 4):
        raise ValueError(f"images must be a sequence of images; got one array of shape {images.shape}.")
    if len(images) == 0:
        raise ValueError("images must hold at least one image; got none.")
    return len(images)
