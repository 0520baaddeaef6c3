"""How a classifier does on images that it has not seen: the same folds for all that are to be compared."""

import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from invariance.images import encode_labels

Fold = tuple[np.ndarray, np.ndarray]
NEEDED = 2  # images of every class that most methods need to learn


class Trial(NamedTuple):
    """What a classifier made of the images that were held out.

    `probabilities` (n, K) and `is_right` (n,) are those of the images of the folds that were tried; `is_judged` (n,)
    says which these are. Seconds are for fitting once (the quickest of the folds: the first also pays for loading
    compiled code), and for classifying one image.
    """

    name: str
    classifier: Any
    probabilities: np.ndarray
    is_right: np.ndarray
    is_judged: np.ndarray
    fit_seconds: float
    image_seconds: float

    @property
    def accuracy(self) -> float:
        """The share of the judged images that are classified right."""
        return float(self.is_right[self.is_judged].mean())

    @property
    def error_of_accuracy(self) -> float:
        """The standard error of that share."""
        n_judged = int(self.is_judged.sum())
        return float(np.sqrt(max(self.accuracy * (1 - self.accuracy), 1 / n_judged) / n_judged))


def draw_folds(labels: Any, n_folds: int = 5, most: int | None = None, seed: int = 0) -> list[Fold]:
    """Rows to learn from and rows held out, stratified; of at most `most` images drawn at random, if given.

    Where a class has fewer images than folds, there are as many folds as it has images. Classes of two images are
    always learned from and never held out, because most methods need two of every class.
    """
    classes, codes = encode_labels(labels)
    rng = np.random.default_rng(seed)
    rows = np.arange(len(codes))
    if most is not None and most < len(codes):
        rows = _draw_evenly(codes, most, rng)
    counts = np.bincount(codes[rows])
    if counts.min() < NEEDED:
        raise ValueError(f"class '{classes[counts.argmin()]}' has one image only; add another.")
    spared = rows[counts[codes[rows]] > NEEDED]
    if len(spared) == 0:
        raise ValueError(f"no class has more than {NEEDED} images, so that none can be held out. Add images.")
    n_folds = min(n_folds, int(counts[counts > NEEDED].min()))
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(spared, codes[spared])
    return [(np.setdiff1d(rows, spared[held]), spared[held]) for _, held in folds]


def cross_validate(
    name: str,
    classifier: Any,
    images: Sequence[np.ndarray],
    labels: Any,
    folds: Iterable[Fold],
    deadline: float | None = None,
) -> Trial:
    """Fit the classifier without each fold and judge it there; after `deadline` (time.monotonic()) no fold is begun.

    One fold is tried in any case.
    """
    classes, codes = encode_labels(labels, len(images))
    probabilities = np.zeros((len(images), len(classes)))
    is_judged = np.zeros(len(images), bool)
    fit_seconds: list[float] = []
    predict_seconds = 0.0
    for training, held in folds:
        if fit_seconds and deadline is not None and time.monotonic() > deadline:
            break
        started = time.perf_counter()
        fitted = clone(classifier).fit([images[row] for row in training], classes[codes[training]])
        fit_seconds.append(time.perf_counter() - started)
        started = time.perf_counter()
        probabilities[held] = fitted.predict_proba([images[row] for row in held])
        predict_seconds += time.perf_counter() - started
        is_judged[held] = True
    is_right = is_judged & (probabilities.argmax(axis=1) == codes)
    image_seconds = predict_seconds / max(1, int(is_judged.sum()))
    return Trial(name, classifier, probabilities, is_right, is_judged, min(fit_seconds), image_seconds)


def _draw_evenly(codes: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    """About `most` rows, each class keeping its share but no fewer than three images, if it has them."""
    share = most / len(codes)
    rows = [rng.permutation(np.flatnonzero(codes == code)) for code in range(int(codes.max()) + 1)]
    return np.sort(np.concatenate([some[: max(NEEDED + 1, round(share * len(some)))] for some in rows]))
