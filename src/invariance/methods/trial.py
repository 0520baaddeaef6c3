"""How a classifier does on images that it was not trained on, and how long it will take on more of them."""

import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from invariance._core.keeping import saved_seconds
from invariance._core.parallel import one_blas_thread
from invariance.images import encode_labels

Fold = tuple[np.ndarray, np.ndarray]
MIN_PER_CLASS = 2  # images of every class that most methods need for training
MIN_GROWING_SHARE = 0.5  # of a measured time is assumed to grow with the number of images


class Trial(NamedTuple):
    """The predictions of a classifier for held-out images.

    Attributes
    ----------
    name : str
    classifier : estimator
        Not fitted.
    probabilities : ndarray of shape (n, n_classes)
        Zeros for images that were not judged.
    is_right, is_judged : ndarray of shape (n,), bool
        Whether the prediction is right; whether there is one.
    fit_seconds : float
        Of the fastest fold: the first one also loads compiled code.
    image_seconds : float
        Seconds to classify one image; what was kept is counted as if it had been computed.
    """

    name: str
    classifier: Any
    probabilities: np.ndarray
    is_right: np.ndarray
    is_judged: np.ndarray
    fit_seconds: float
    image_seconds: float

    @property
    def n_judged(self) -> int:
        """Number of judged images."""
        return int(self.is_judged.sum())

    @property
    def accuracy(self) -> float:
        """Share of the judged images that are classified correctly."""
        return float(self.is_right[self.is_judged].mean())

    @property
    def error_of_accuracy(self) -> float:
        """Standard error of the accuracy."""
        return float(np.sqrt(max(self.accuracy * (1 - self.accuracy), 1 / self.n_judged) / self.n_judged))


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
        rows = _draw_stratified(codes, max_images, rng)
    counts = np.bincount(codes[rows])
    if counts.min() < MIN_PER_CLASS:
        raise ValueError(f"class '{classes[counts.argmin()]}' has one image only; add another.")
    large = rows[counts[codes[rows]] > MIN_PER_CLASS]
    if len(large) == 0:
        raise ValueError(f"no class has more than {MIN_PER_CLASS} images, so none can be held out. Add images.")
    n_folds = min(n_folds, int(counts[counts > MIN_PER_CLASS].min()))
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(large, codes[large])
    return [(np.setdiff1d(rows, large[held]), large[held]) for _, held in folds]


def cross_validate(
    name: str,
    classifier: Any,
    images: Sequence[np.ndarray],
    labels: Any,
    folds: Iterable[Fold],
    deadline: float | None = None,
) -> Trial:
    """Fit a classifier without each fold and predict the fold.

    Parameters
    ----------
    name : str
    classifier : estimator
    images : sequence of ndarray
    labels : array-like of shape (n,)
    folds : iterable of (training rows, held-out rows)
    deadline : float or None
        No fold but the first is started after this value of `time.monotonic()`.
    """
    judged: list[Judged] = []
    for fold in folds:
        if judged and deadline is not None and time.monotonic() > deadline:
            break
        judged.append(judge_fold(classifier, images, labels, fold))
    return join_folds(name, classifier, labels, judged)


class Judged(NamedTuple):
    """The predictions of one fold.

    Attributes
    ----------
    held : ndarray of shape (m,)
        The rows that were held out.
    probabilities : ndarray of shape (m, n_classes)
    fit_seconds, predict_seconds : float
    """

    held: np.ndarray
    probabilities: np.ndarray
    fit_seconds: float
    predict_seconds: float


def judge_fold(classifier: Any, images: Sequence[np.ndarray], labels: Any, fold: Fold) -> Judged:
    """Fit a classifier on the training rows of a fold and predict those held out.

    BLAS runs on one thread, so that the predictions do not depend on the machine or process.
    """
    classes, codes = encode_labels(labels, len(images))
    training, held = fold
    with one_blas_thread():
        started = time.perf_counter()
        fitted = clone(classifier).fit([images[row] for row in training], classes[codes[training]])
        fit_seconds = time.perf_counter() - started
        started = time.perf_counter()
        kept = saved_seconds()
        probabilities = fitted.predict_proba([images[row] for row in held])
        saved = (saved_seconds() - kept) / effective_n_jobs(None)
        return Judged(held, probabilities, fit_seconds, time.perf_counter() - started + saved)


def join_folds(name: str, classifier: Any, labels: Any, judged: Sequence[Judged]) -> Trial:
    """Return the trial of a classifier from its folds, at least one."""
    classes, codes = encode_labels(labels)
    probabilities = np.zeros((len(codes), len(classes)))
    is_judged = np.zeros(len(codes), bool)
    for fold in judged:
        probabilities[fold.held] = fold.probabilities
        is_judged[fold.held] = True
    is_right = is_judged & (probabilities.argmax(axis=1) == codes)
    image_seconds = sum(fold.predict_seconds for fold in judged) / max(1, int(is_judged.sum()))
    fit_seconds = min(fold.fit_seconds for fold in judged)
    return Trial(name, classifier, probabilities, is_right, is_judged, fit_seconds, image_seconds)


def _draw_stratified(codes: np.ndarray, max_images: int, rng: np.random.Generator) -> np.ndarray:
    """Return about `max_images` rows; each class keeps its share, but at least three images if it has them."""
    share = max_images / len(codes)
    rows = [rng.permutation(np.flatnonzero(codes == code)) for code in range(int(codes.max()) + 1)]
    return np.sort(np.concatenate([some[: max(MIN_PER_CLASS + 1, round(share * len(some)))] for some in rows]))


class Timing(NamedTuple):
    """Seconds to fit `n_images`, and to classify one image afterwards."""

    n_images: int
    fit_seconds: float
    image_seconds: float


class Forecast:
    """Expected seconds of a method whose time to fit grows as a power of the number of images.

    Parameters
    ----------
    growth : int
        The power.
    startup : float, default=0
        Share of the first timing that does not depend on the number of images.
    """

    def __init__(self, growth: int, startup: float = 0.0):
        self.growth = growth
        self.startup = startup
        self.timings: list[Timing] = []

    def fit(self, n_images: int) -> float:
        """Return the seconds to fit: a + b n^growth through the last two timings, or proportional after the startup."""
        last = self.timings[-1]
        ratio = n_images / last.n_images
        if len(self.timings) == 1:
            return last.fit_seconds * (self.startup + (1 - self.startup) * ratio)
        before = self.timings[-2]
        growing = (last.fit_seconds - before.fit_seconds) / (1 - (before.n_images / last.n_images) ** self.growth)
        growing = min(max(growing, MIN_GROWING_SHARE * last.fit_seconds), last.fit_seconds)
        return last.fit_seconds - growing + growing * ratio**self.growth

    def fold(self, fold: Fold) -> float:
        """Return the seconds to fit the training rows of a fold and classify those held out."""
        training, held = fold
        last = self.timings[-1]
        image_seconds = last.image_seconds * (len(training) / last.n_images) ** (self.growth - 1)
        return self.fit(len(training)) + image_seconds * len(held)
