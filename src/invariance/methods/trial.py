"""How a classifier does on images that it was not trained on."""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from invariance._core.keeping import saved_seconds
from invariance._core.parallel import one_blas_thread
from invariance._core.randomness import draw_stratified
from invariance.images import encode_labels
from invariance.methods.evaluation import share_interval

T = TypeVar("T")
Fold = tuple[np.ndarray, np.ndarray]
MIN_PER_CLASS = 2  # images of every class that most methods need for training


class Trial(NamedTuple):
    """The predictions of a classifier for held-out images.

    Attributes
    ----------
    name : str
    classifier : estimator
        Not fitted.
    probabilities : ndarray of shape (n, n_classes)
        Zeros for images that were not judged, means where folds were repeated.
    n_correct, n_judgements : ndarray of shape (n,), int
        How often an image was held out and classified correctly, and how often it was held out.
    fit_seconds : float
        Of the fastest fold: the first one also loads compiled code.
    image_seconds : float
        Seconds to classify one image; what was kept is counted as if it had been computed.
    """

    name: str
    classifier: Any
    probabilities: np.ndarray
    n_correct: np.ndarray
    n_judgements: np.ndarray
    fit_seconds: float
    image_seconds: float

    @property
    def is_judged(self) -> np.ndarray:
        """Whether an image was held out (n,)."""
        return self.n_judgements > 0

    @property
    def is_right(self) -> np.ndarray:
        """Whether an image was classified correctly (n,), most of the times where folds were repeated."""
        return 2 * self.n_correct > self.n_judgements

    @property
    def shares_right(self) -> np.ndarray:
        """How often an image was classified correctly (n,), as a share; 0 if it was not judged."""
        return self.n_correct / np.maximum(self.n_judgements, 1)

    @property
    def n_judged(self) -> int:
        """Number of judged images."""
        return int(self.is_judged.sum())

    @property
    def accuracy(self) -> float:
        """Share of the judged images that are classified correctly."""
        return float(self.shares_right[self.is_judged].mean())

    @property
    def error_of_accuracy(self) -> float:
        """Standard error of the accuracy."""
        return float(np.sqrt(max(self.accuracy * (1 - self.accuracy), 1 / self.n_judged) / self.n_judged))

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval of the accuracy."""
        return share_interval(round(self.accuracy * self.n_judged), self.n_judged)

    def as_json(self) -> dict[str, Any]:
        """The figures of the trial."""
        return {
            "method": self.name,
            "accuracy": self.accuracy,
            "interval": list(self.interval),
            "n_images": self.n_judged,
            "fit_seconds": self.fit_seconds,
            "seconds_per_image": self.image_seconds,
        }


def draw_folds(labels: Any, n_folds: int = 5, max_images: int | None = None, seed: int = 0) -> list[Fold]:
    """Return stratified folds, each as training rows and held-out rows.

    Where a class has fewer images than there are folds, there are as many folds as it has images. Classes of two
    images are always trained on and never held out, because most methods need two images per class.

    Parameters
    ----------
    labels : array-like of shape (n,)
    n_folds : int, default=5
    max_images : int or None, default=None
        Draw about this many images at random if there are more.
    seed : int, default=0
    """
    classes, codes = encode_labels(labels)
    rng = np.random.default_rng(seed)
    rows = np.arange(len(codes))
    if max_images is not None and max_images < len(codes):
        rows = draw_stratified(codes, max_images, rng, MIN_PER_CLASS + 1)
    counts = np.bincount(codes[rows])
    if counts.min() < MIN_PER_CLASS:
        raise ValueError(f"class '{classes[counts.argmin()]}' has one image only; add another.")
    large = rows[counts[codes[rows]] > MIN_PER_CLASS]
    if len(large) == 0:
        raise ValueError(f"no class has more than {MIN_PER_CLASS} images, so none can be held out. Add images.")
    n_folds = min(n_folds, int(counts[counts > MIN_PER_CLASS].min()))
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(large, codes[large])
    return [(np.setdiff1d(rows, large[held]), large[held]) for _, held in folds]


def draw_part(labels: Any, n_training: int, n_held: int, rng: np.random.Generator) -> Fold:
    """Return about `n_training` rows, of every class its share but at least two, and at most `n_held` others.

    Parameters
    ----------
    labels : array-like of shape (n,)
    n_training, n_held : int
    rng : numpy.random.Generator
    """
    _, codes = encode_labels(labels)
    order = rng.permutation(len(codes))
    share = n_training / len(codes)
    by_class = [order[codes[order] == code] for code in range(int(codes.max()) + 1)]
    training = np.concatenate([rows[: max(MIN_PER_CLASS, round(share * len(rows)))] for rows in by_class])
    others = order[~np.isin(order, training)]
    return np.sort(training), np.sort(others[:n_held])


def cross_validate(
    name: str,
    classifier: Any,
    images: Sequence[np.ndarray],
    labels: Any,
    folds: Iterable[Fold],
) -> Trial:
    """Fit a classifier without each fold and predict the fold.

    Parameters
    ----------
    name : str
    classifier : estimator
    images : sequence of ndarray
    labels : array-like of shape (n,)
    folds : iterable of (training rows, held-out rows)
    """
    return join_folds(name, classifier, labels, [judge_fold(classifier, images, labels, fold) for fold in folds])


class Judged(NamedTuple):
    """The predictions of one fold.

    Attributes
    ----------
    held : ndarray of shape (m,)
        The rows that were held out.
    probabilities : ndarray of shape (m, n_classes)
    fit_seconds, predict_seconds : float
    fit_saved, predict_saved : float, default=0
        Seconds that were not spent because features of images were kept.
    """

    held: np.ndarray
    probabilities: np.ndarray
    fit_seconds: float
    predict_seconds: float
    fit_saved: float = 0.0
    predict_saved: float = 0.0


def judge_fold(classifier: Any, images: Sequence[np.ndarray], labels: Any, fold: Fold) -> Judged:
    """Fit a classifier on the training rows of a fold and predict those held out.

    BLAS runs on one thread, so that the predictions do not depend on the machine or process.
    """
    classes, codes = encode_labels(labels, len(images))
    training, held = fold
    with one_blas_thread():
        fitted, fit_seconds, fit_saved = _timed(
            lambda: clone(classifier).fit([images[row] for row in training], classes[codes[training]])
        )
        probabilities, seconds, saved = _timed(lambda: fitted.predict_proba([images[row] for row in held]))
    return Judged(held, probabilities, fit_seconds, seconds, fit_saved, saved)


def _timed(work: Callable[[], T]) -> tuple[T, float, float]:
    """Return a result, the seconds that it took, and those that kept features saved."""
    started, kept = time.perf_counter(), saved_seconds()
    result = work()
    return result, time.perf_counter() - started, (saved_seconds() - kept) / effective_n_jobs(None)


def join_folds(name: str, classifier: Any, labels: Any, judged: Sequence[Judged]) -> Trial:
    """Return the trial of a classifier from its folds, at least one."""
    classes, codes = encode_labels(labels)
    probabilities = np.zeros((len(codes), len(classes)))
    n_correct, n_judgements = np.zeros((2, len(codes)), int)
    for fold in judged:
        probabilities[fold.held] += fold.probabilities
        n_correct[fold.held] += fold.probabilities.argmax(axis=1) == codes[fold.held]
        n_judgements[fold.held] += 1
    probabilities /= np.maximum(n_judgements, 1)[:, None]
    image_seconds = sum(fold.predict_seconds + fold.predict_saved for fold in judged) / n_judgements.sum()
    fit_seconds = min(fold.fit_seconds for fold in judged)
    return Trial(name, classifier, probabilities, n_correct, n_judgements, fit_seconds, image_seconds)
