"""Images classified by their bags of visual words: [Moosmann06] with a linear support vector machine."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics import roc_curve
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.svm import LinearSVC
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from invariance._core.checks import check_count, check_number
from invariance._core.probabilities import learn_sharpness, scores_to_probabilities
from invariance.codebooks.bag import BagOfFeatures
from invariance.images import encode_labels

N_FOLDS = 5


class CodebookClassifier(ClassifierMixin, BaseEstimator):
    """A bag of visual words and a linear support vector machine on it, for images of any sizes.

    Parameters
    ----------
    bag : a `BagOfFeatures`; None means the default one.
    C : of the support vector machine, for bags of mean squared length 1; it is adapted to what length they have.
    probability : whether `predict_proba` is learned, from scores of bags held out. The words themselves have seen all
        labels, so that it is too sure, and much too sure where classes can hardly be told apart.
    n_jobs, random_state : handed to the bag if it has none of its own.
    """

    def __init__(self, bag=None, C=1.0, probability=False, n_jobs=None, random_state=None):
        self.bag = bag
        self.C = C
        self.probability = probability
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, images: Sequence[Any], y) -> "CodebookClassifier":
        """Learn the words, count them, and learn to tell the classes apart by them."""
        self.classes_, codes = encode_labels(y, len(images))
        bag = BagOfFeatures() if self.bag is None else clone(self.bag)
        unset = {"n_jobs": self.n_jobs, "random_state": self.random_state}
        bag.set_params(**{name: value for name, value in unset.items() if getattr(bag, name) is None})
        bags = bag.fit_transform(images, self.classes_[codes])
        self.bag_ = bag
        svm = make_svm(bags, check_number("C", self.C, 1e-12))
        if self.probability:
            self.sharpness_ = _calibrate(svm, bags, codes)
        self.svm_ = svm.fit(bags, codes)
        return self

    def decision_function(self, images: Sequence[Any]) -> np.ndarray:
        """How far on the side of each class an image lies: (n,) for two classes, else (n, K)."""
        check_is_fitted(self)
        return self.svm_.decision_function(self.bag_.transform(images))

    def predict(self, images: Sequence[Any]) -> np.ndarray:
        """The class of every image."""
        scores = self.decision_function(images)
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    @available_if(lambda classifier: bool(classifier.probability))
    def predict_proba(self, images: Sequence[Any]) -> np.ndarray:
        """Probabilities (n, K) of the classes; `probability=True`."""
        return scores_to_probabilities(self.decision_function(images), self.sharpness_)

    def word_map(self, image: Any, label: Any, n_windows: int = 8000) -> np.ndarray:
        """Where words of a class fire: (h, w) float32, [Moosmann06] fig. 3.

        The share of the class among the training windows of a word, averaged over the words of every window that covers
        a pixel near its centre; NaN where no window's centre is near.
        """
        check_is_fitted(self)
        posteriors = getattr(self.bag_.codebook_, "posteriors_", None)
        if posteriors is None:
            raise ValueError("the codebook knows no classes, so there is no word map. Fit it with labels.")
        place = np.flatnonzero(self.classes_ == label)
        if len(place) == 0:
            raise ValueError(f"label must be one of {self.classes_.tolist()}; got {label!r}.")
        boxes, descriptors = self.bag_.windows_of(image, n_windows)
        strength = posteriors[self.bag_.codebook_.transform(descriptors), place[0]].mean(axis=1)
        return _spread(boxes, strength, np.shape(image)[:2])

    def word_windows(self, images: Sequence[Any], word: int, n_windows: int = 8000) -> list[np.ndarray]:
        """The windows that got a word: boxes (n, 3) of top, left, side for each image, [Moosmann06] fig. 2."""
        check_is_fitted(self)
        word = check_count("word", word, at_least=0, at_most=self.bag_.n_words_ - 1)
        found = []
        for image in images:
            boxes, descriptors = self.bag_.windows_of(image, n_windows)
            found.append(boxes[(self.bag_.codebook_.transform(descriptors) == word).any(axis=1)])
        return found


def equal_error_rate(y_true: Any, scores: Any) -> float:
    """The share classified right at the threshold where both classes have the same share of errors (the paper's EER).

    `y_true` is true for the class with high scores. Between two thresholds the ROC curve is a straight line.
    """
    false_alarms, hits, _ = roc_curve(np.asarray(y_true, bool), scores)
    gap = false_alarms + hits - 1  # rises along the curve from -1 to 1
    after = int(np.argmax(gap >= 0))
    if gap[after] == gap[after - 1] or after == 0:
        return float(hits[after])
    share = -gap[after - 1] / (gap[after] - gap[after - 1])
    return float(hits[after - 1] + share * (hits[after] - hits[after - 1]))


def make_svm(bags: np.ndarray, C: float) -> LinearSVC:
    """An unfitted support vector machine whose C means the same for bags of any length."""
    length = max(float(np.mean(np.sum(np.square(bags, dtype=np.float64), axis=1))), 1e-12)
    return LinearSVC(C=C / length, random_state=0, max_iter=10_000)


def _calibrate(svm: LinearSVC, bags: np.ndarray, codes: np.ndarray) -> float:
    n_folds = min(N_FOLDS, int(np.bincount(codes).min()))
    if n_folds < 2:
        raise ValueError("probability=True needs at least two images of every class, some of them to be held out.")
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=0)
    scores = cross_val_predict(svm, bags, codes, cv=folds, method="decision_function")
    return learn_sharpness(scores, codes)


def _spread(boxes: np.ndarray, strength: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Mean strength of the windows whose middle third covers a pixel; a summed-area table of their corners."""
    height, width = shape
    weights = np.zeros((2, height + 1, width + 1))
    tops, lefts, sides = boxes.T
    first_rows, first_cols = tops + sides // 3, lefts + sides // 3
    last_rows = np.minimum(first_rows + np.maximum(sides // 3, 1), height)
    last_cols = np.minimum(first_cols + np.maximum(sides // 3, 1), width)
    for plane, values in zip(weights, (strength, np.ones(len(strength))), strict=True):
        np.add.at(plane, (first_rows, first_cols), values)
        np.add.at(plane, (last_rows, last_cols), values)
        np.add.at(plane, (first_rows, last_cols), -values)
        np.add.at(plane, (last_rows, first_cols), -values)
    total, count = weights.cumsum(axis=1).cumsum(axis=2)[:, :height, :width]
    return np.where(count > 0.5, total / np.maximum(count, 0.5), np.nan).astype(np.float32)
