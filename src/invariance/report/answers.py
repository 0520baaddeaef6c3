"""What a classifier answers to labelled images: how often it is right, and how far to trust its probabilities."""

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binomtest
from sklearn.metrics import confusion_matrix

from invariance._core.checks import check_count
from invariance._core.progress import track

LEVEL = 0.95
N_TOGETHER = 256
MAX_LISTED = 10


class Answers(NamedTuple):
    """Images, codes (n,) of their true classes, probabilities (n, K) given, the K classes, and seconds it took."""

    images: Sequence[np.ndarray]
    codes: np.ndarray
    probabilities: np.ndarray
    classes: np.ndarray
    seconds: float

    @property
    def given(self) -> np.ndarray:
        """The codes (n,) of the classes that were found most probable."""
        return self.probabilities.argmax(axis=1)

    @property
    def confidence(self) -> np.ndarray:
        """The probabilities (n,) of these."""
        return self.probabilities.max(axis=1)

    @property
    def is_right(self) -> np.ndarray:
        """Which (n,) are the true ones."""
        return self.given == self.codes

    @property
    def accuracy(self) -> float:
        """The share of right answers."""
        return float(self.is_right.mean())

    @property
    def interval(self) -> tuple[float, float]:
        """Where that share lies for all such images, with 95 % confidence."""
        return likely_share(int(self.is_right.sum()), len(self.codes))

    @property
    def confusion(self) -> np.ndarray:
        """Counts (K, K) of true class by given class."""
        return confusion_matrix(self.codes, self.given, labels=np.arange(len(self.classes)))

    @property
    def confusions(self) -> list[tuple[int, int, int]]:
        """Codes of true and given classes that differ, and how often, the most frequent first."""
        counts = self.confusion * ~np.eye(len(self.classes), dtype=bool)
        pairs = np.argwhere(counts)
        order = np.argsort(-counts[tuple(pairs.T)], kind="stable")
        return [(int(true), int(given), int(counts[true, given])) for true, given in pairs[order]]

    @property
    def image_seconds(self) -> float:
        """Seconds that classifying one image took."""
        return self.seconds / len(self.codes)


class Reliability(NamedTuple):
    """Answers in bins of their probability: how many are in each, their mean probability, the share that is right.

    Empty bins have NaN for both.
    """

    edges: np.ndarray
    counts: np.ndarray
    confidence: np.ndarray
    accuracy: np.ndarray

    @property
    def error(self) -> float:
        """The expected calibration error: how far probability and share right are apart, on average over answers."""
        is_filled = self.counts > 0
        gaps = np.abs(self.confidence - self.accuracy)[is_filled]
        return float(np.average(gaps, weights=self.counts[is_filled]))


def likely_share(n_right: int, n_all: int) -> tuple[float, float]:
    """Where a share lies with 95 % confidence, of which so many of so many were seen (Wilson)."""
    ends = binomtest(n_right, n_all).proportion_ci(LEVEL, method="wilson")
    return float(ends.low), float(ends.high)


def ask(classifier: Any, images: Sequence[np.ndarray], labels: Any) -> Answers:
    """Classify images whose true labels (n,) are known; each must be a class that the classifier has learned.

    A label is the class of the same name, so that 7 and "7" are the same: folders have names only.
    """
    labels = np.asarray(labels)
    if len(images) == 0 or labels.shape != (len(images),):
        raise ValueError(f"labels must be one for each of {len(images)} images; got shape {labels.shape}.")
    code_of = {str(name): code for code, name in enumerate(classifier.classes_)}
    unknown = [str(label) for label in np.unique(labels) if str(label) not in code_of]
    if unknown:
        more = f" and {len(unknown) - 1} other classes" if len(unknown) > 1 else ""
        raise ValueError(
            f"the model has not learned '{unknown[0]}'{more}; it knows {list_names(list(code_of))}. "
            f"Leave such images out, or fit a model with them."
        )
    codes = np.array([code_of[str(label)] for label in labels])
    started = time.perf_counter()
    blocks = [images[start : start + N_TOGETHER] for start in range(0, len(images), N_TOGETHER)]
    probabilities = np.concatenate([classifier.predict_proba(block) for block in track(blocks, "classifying")])
    seconds = time.perf_counter() - started
    return Answers(images, codes, probabilities, classifier.classes_, seconds)


def measure_reliability(confidence: np.ndarray, is_right: np.ndarray, n_bins: int = 10) -> Reliability:
    """Answers of probability `confidence` (n,) put into bins of equal width from 0 to 1."""
    edges = np.linspace(0, 1, check_count("n_bins", n_bins) + 1)
    bins = np.clip(np.digitize(confidence, edges) - 1, 0, n_bins - 1)
    counts = np.bincount(bins, minlength=n_bins)
    sums = (np.bincount(bins, weights=values, minlength=n_bins) for values in (confidence, is_right))
    means = (np.divide(total, counts, out=np.full(n_bins, np.nan), where=counts > 0) for total in sums)
    return Reliability(edges, counts, *means)


def list_names(names: list[str]) -> str:
    """The first few of some names, each in quotes."""
    shown = ", ".join(f"'{name}'" for name in names[:MAX_LISTED])
    return shown + (f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else "")
