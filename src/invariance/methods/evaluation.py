"""How a classifier does on labelled images: how often it is right, and how far its probabilities can be trusted."""

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binomtest
from sklearn.metrics import confusion_matrix, log_loss

from invariance._core.checks import check_count
from invariance._core.notebook import html_table
from invariance._core.progress import track

CONFIDENCE = 0.95
N_TOGETHER = 256
MAX_LISTED = 10


class Evaluation(NamedTuple):
    """The predictions of a classifier for labelled images.

    Attributes
    ----------
    images : sequence of ndarray
    codes : ndarray of shape (n,)
        True classes, as rows of `classes`.
    probabilities : ndarray of shape (n, n_classes)
    classes : ndarray of shape (n_classes,)
    seconds : float
        Time that the predictions took.
    """

    images: Sequence[np.ndarray]
    codes: np.ndarray
    probabilities: np.ndarray
    classes: np.ndarray
    seconds: float

    def __repr__(self) -> str:
        return f"<Evaluation: accuracy {self.accuracy:.1%} on {len(self.codes)} images>"

    def _repr_html_(self) -> str:
        """Show the accuracy in a notebook, and recall and precision of every class."""
        low, high = self.interval
        sentence = (
            f"Accuracy {self.accuracy:.1%} on {len(self.codes)} images (95 % interval {low:.1%} to {high:.1%}), "
            f"{1000 * self.image_seconds:.1f} ms per image."
        )
        rows = [(one.name, one.n_images, *map(_as_percent, (one.recall, one.precision))) for one in self.by_class]
        return html_table(sentence, ("class", "images", "recall", "precision"), rows)

    @property
    def predicted(self) -> np.ndarray:
        """Codes (n,) of the most probable classes."""
        return self.probabilities.argmax(axis=1)

    @property
    def confidence(self) -> np.ndarray:
        """Probabilities (n,) of the predicted classes."""
        return self.probabilities.max(axis=1)

    @property
    def is_right(self) -> np.ndarray:
        """Whether each prediction (n,) is right."""
        return self.predicted == self.codes

    @property
    def accuracy(self) -> float:
        """Share of correct predictions."""
        return float(self.is_right.mean())

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval of the accuracy."""
        return share_interval(int(self.is_right.sum()), len(self.codes))

    @property
    def log_loss(self) -> float:
        """Mean negative log-likelihood of the true classes."""
        return float(log_loss(self.codes, self.probabilities, labels=range(len(self.classes))))

    @property
    def confusion(self) -> np.ndarray:
        """Counts (n_classes, n_classes) of true class by predicted class."""
        return confusion_matrix(self.codes, self.predicted, labels=np.arange(len(self.classes)))

    @property
    def confusions(self) -> list[tuple[int, int, int]]:
        """Codes of true and predicted classes that differ, and how often, the most frequent first."""
        counts = self.confusion * ~np.eye(len(self.classes), dtype=bool)
        pairs = np.argwhere(counts)
        order = np.argsort(-counts[tuple(pairs.T)], kind="stable")
        return [(int(true), int(predicted), int(counts[true, predicted])) for true, predicted in pairs[order]]

    @property
    def by_class(self) -> "list[ClassFigures]":
        """Recall and precision of every class."""
        counts = self.confusion
        sums = zip(self.classes, counts.sum(axis=1), counts.sum(axis=0), counts.diagonal(), strict=True)
        return [
            ClassFigures(str(name), int(n), int(n_predicted), _share(right, n), _share(right, n_predicted))
            for name, n, n_predicted, right in sums
        ]

    @property
    def image_seconds(self) -> float:
        """Seconds to classify one image."""
        return self.seconds / len(self.codes)

    @property
    def reliability(self) -> "Reliability":
        """The accuracy of predictions by their probability, in ten bins."""
        return measure_reliability(self.confidence, self.is_right)


def _as_percent(share: float | None) -> str:
    return "" if share is None else f"{share:.1%}"


class ClassFigures(NamedTuple):
    """Figures of one class.

    Attributes
    ----------
    name : str
    n_images : int
        Number of images of this class.
    n_predicted : int
        Number of images predicted as this class.
    recall, precision : float or None
        Shares of these that are correct; None where there are none.
    """

    name: str
    n_images: int
    n_predicted: int
    recall: float | None
    precision: float | None


class Reliability(NamedTuple):
    """Predictions in bins of their probability.

    Attributes
    ----------
    edges : ndarray of shape (n_bins + 1,)
    counts : ndarray of shape (n_bins,)
    confidence, accuracy : ndarray of shape (n_bins,)
        Mean probability and share of correct predictions; NaN where a bin is empty.
    """

    edges: np.ndarray
    counts: np.ndarray
    confidence: np.ndarray
    accuracy: np.ndarray

    @property
    def error(self) -> float:
        """The expected calibration error: mean difference of probability and accuracy."""
        is_filled = self.counts > 0
        gaps = np.abs(self.confidence - self.accuracy)[is_filled]
        return float(np.average(gaps, weights=self.counts[is_filled]))


def evaluate(classifier: Any, images: Sequence[np.ndarray], labels: Any) -> Evaluation:
    """Classify labelled images.

    Labels are compared with classes by name, so that 7 and "7" are the same: folders have names only.

    Parameters
    ----------
    classifier : fitted classifier
    images : sequence of ndarray
    labels : array-like of shape (n,)
        Each must be a class of the classifier.
    """
    labels = np.asarray(labels)
    if len(images) == 0 or labels.shape != (len(images),):
        raise ValueError(f"labels must be one for each of {len(images)} images; got shape {labels.shape}.")
    code_of = {str(name): code for code, name in enumerate(classifier.classes_)}
    unknown = [str(label) for label in np.unique(labels) if str(label) not in code_of]
    if unknown:
        more = f" and {len(unknown) - 1} other classes" if len(unknown) > 1 else ""
        raise ValueError(
            f"the model was not trained on '{unknown[0]}'{more}; it knows {list_names(list(code_of))}. "
            f"Leave such images out, or fit a model with them."
        )
    codes = np.array([code_of[str(label)] for label in labels])
    started = time.perf_counter()
    blocks = [images[start : start + N_TOGETHER] for start in range(0, len(images), N_TOGETHER)]
    probabilities = np.concatenate([classifier.predict_proba(block) for block in track(blocks, "classifying")])
    return Evaluation(images, codes, probabilities, classifier.classes_, time.perf_counter() - started)


def measure_reliability(confidence: np.ndarray, is_right: np.ndarray, n_bins: int = 10) -> Reliability:
    """Put predictions of probability `confidence` (n,) into bins of equal width from 0 to 1."""
    edges = np.linspace(0, 1, check_count("n_bins", n_bins) + 1)
    bins = np.clip(np.digitize(confidence, edges) - 1, 0, n_bins - 1)
    counts = np.bincount(bins, minlength=n_bins)
    sums = (np.bincount(bins, weights=values, minlength=n_bins) for values in (confidence, is_right))
    means = (np.divide(total, counts, out=np.full(n_bins, np.nan), where=counts > 0) for total in sums)
    return Reliability(edges, counts, *means)


def _share(part: int, whole: int) -> float | None:
    return float(part / whole) if whole else None


def share_interval(n_right: int, n_all: int) -> tuple[float, float]:
    """Return the 95 % confidence interval (Wilson) of a share."""
    ends = binomtest(n_right, n_all).proportion_ci(CONFIDENCE, method="wilson")
    return float(ends.low), float(ends.high)


def list_names(names: list[str]) -> str:
    """Return the first ten names, quoted, and how many more there are."""
    shown = ", ".join(f"'{name}'" for name in names[:MAX_LISTED])
    return shown + (f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else "")
