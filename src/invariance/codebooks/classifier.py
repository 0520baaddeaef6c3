"""Images classified by their bags of visual words: [Moosmann06] with a linear support vector machine, or by voting."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics import roc_curve
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.svm import LinearSVC
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from invariance._core import loaded
from invariance._core.checks import check_count, check_number
from invariance._core.liblinear import liblinear_alone
from invariance._core.probabilities import few_samples_per_class, learn_sharpness, scores_to_probabilities
from invariance.codebooks.bag import BagOfFeatures
from invariance.codebooks.counting import count_columns
from invariance.codebooks.voting import average_shares, shares_of_words
from invariance.images import encode_labels

N_FOLDS = 5


class CodebookClassifier(ClassifierMixin, BaseEstimator):
    """A bag of visual words and a linear support vector machine on it, for images of any sizes.

    Parameters
    ----------
    bag : BagOfFeatures or None, default=None
        What turns images into bags; None means `BagOfFeatures()`.
    transformations : TransformationSet or None, default=None
        Φ, what should not matter, handed to the bag. It is an error if the bag has a Φ of its own as well.
    C : float, default=1.0
        Inverse regularization of the support vector machine, for bags of mean squared length 1; it is adapted to the
        length that they have.
    probability : bool, default=False
        Whether `predict_proba` is learned, from scores of bags held out. The words themselves have seen all labels, so
        that probabilities are too confident, and much too confident where classes can hardly be distinguished.
    voting : bool, default=False
        Whether the leaves of the windows vote for the classes directly, without a support vector machine (Marée et
        al. 2005, with whom the paper compares). Probabilities are the mean class shares of the leaves; `C`,
        `probability` and the normalization of the bag are not used.
    n_jobs : int or None, default=None
        Number of threads, handed to the bag if it has none of its own.
    random_state : int, Generator, RandomState or None, default=None
        Seed, handed to the bag if it has none of its own.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    bag_ : BagOfFeatures
        The fitted bag.
    svm_ : LinearSVC
        The fitted support vector machine, of class codes; not with `voting=True`.
    sharpness_ : float
        Factor of the scores in `predict_proba`, with `probability=True` only.
    """

    def __init__(
        self, bag=None, transformations=None, C=1.0, probability=False, voting=False, n_jobs=None, random_state=None
    ):
        self.bag = bag
        self.transformations = transformations
        self.C = C
        self.probability = probability
        self.voting = voting
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, images: Sequence[Any], y: Any, masks: Any = None, background: Any = None) -> "CodebookClassifier":
        """Learn the words, count them, and learn to classify the counts.

        Parameters
        ----------
        images : sequence of ndarray or path
            Images of any sizes.
        y : array-like of shape (n_images,)
            Labels.
        masks : sequence of ndarray of shape (h, w), path or None, default=None
            Where the objects are, so that words are learned from windows labelled by the object they lie on; see
            `BagOfFeatures.fit`. Images are counted and classified as a whole.
        background : object, default=None
            Label of the windows beside the objects; None means one of its own.

        Returns
        -------
        self : CodebookClassifier
        """
        self.classes_, codes = encode_labels(y, len(images))
        self.bag_ = self._make_bag()
        if self.voting:
            self.bag_.fit(images, self.classes_[codes], masks, background)
            shares_of_words(self.bag_.codebook_, self.classes_)  # refuses a codebook without classes
            return self
        bags = self.bag_.fit_transform(images, self.classes_[codes], masks, background)
        svm = make_svm(bags, check_number("C", self.C, 1e-12))
        if self.probability:
            self.sharpness_ = _calibrate(svm, bags, codes)
        with liblinear_alone():
            self.svm_ = svm.fit(bags, codes)
        return self

    def check_loaded(self) -> None:
        """Raise ValueError if the machine, read from a file, does not classify bags of this kind."""
        loaded.check_values(self, probability=loaded.FLAG, voting=loaded.FLAG)
        if not loaded.is_fitted(self, "classes_", "bag_"):
            return
        loaded.check_values(self, classes_=loaded.labels(), bag_=loaded.instance(BagOfFeatures))
        if self.voting:
            loaded.check_values(self.bag_.codebook_, classes_=loaded.labels())
            shares_of_words(self.bag_.codebook_, self.classes_)  # refuses a codebook of other classes
            return
        loaded.check_values(self, svm_=loaded.instance(LinearSVC))
        n_columns = count_columns(self.bag_.n_words_, self.bag_.levels)
        n_machines = 1 if len(self.classes_) == 2 else len(self.classes_)
        loaded.check_values(
            self.svm_,
            coef_=loaded.array((n_machines, n_columns)),
            classes_=loaded.labels(len(self.classes_)),
            n_features_in_=loaded.one_of(n_columns),
        )
        if self.probability:
            loaded.check_values(self, sharpness_=loaded.number(0, 1e6))

    def decision_function(self, images: Sequence[Any]) -> np.ndarray:
        """Scores of the classes.

        Parameters
        ----------
        images : sequence of ndarray or path
            Images of any sizes.

        Returns
        -------
        ndarray of shape (n_images,) for two classes, else (n_images, n_classes)
        """
        check_is_fitted(self)
        if self.voting:
            shares = self._vote(images)
            return shares[:, 1] - shares[:, 0] if len(self.classes_) == 2 else shares
        return self.svm_.decision_function(self.bag_.transform(images))

    def predict(self, images: Sequence[Any]) -> np.ndarray:
        """Predict the class of every image.

        Parameters
        ----------
        images : sequence of ndarray or path
            Images of any sizes.

        Returns
        -------
        ndarray of shape (n_images,)
        """
        scores = self.decision_function(images)
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    @available_if(lambda classifier: bool(classifier.probability or classifier.voting))
    def predict_proba(self, images: Sequence[Any]) -> np.ndarray:
        """Probabilities of the classes; needs `probability=True` or `voting=True`.

        Parameters
        ----------
        images : sequence of ndarray or path
            Images of any sizes.

        Returns
        -------
        ndarray of shape (n_images, n_classes)
        """
        if self.voting:
            check_is_fitted(self)
            return self._vote(images)
        return scores_to_probabilities(self.decision_function(images), self.sharpness_)

    def word_map(self, image: Any, label: Any, n_windows: int = 8000) -> np.ndarray:
        """Where in an image the words of a class are found, [Moosmann06] fig. 3.

        Parameters
        ----------
        image : ndarray of shape (h, w) or (h, w, c)
            An image.
        label : object
            One of the classes, or the background of masks.
        n_windows : int, default=8000
            Number of windows.

        Returns
        -------
        ndarray of shape (h, w), float32
            The share of the class among the training windows of a word, averaged over the words of every window whose
            middle third covers the pixel; NaN where there is none.
        """
        check_is_fitted(self)
        posteriors = getattr(self.bag_.codebook_, "posteriors_", None)
        if posteriors is None:
            raise ValueError("the codebook knows no classes, so there is no word map. Fit it with labels.")
        classes = self.bag_.codebook_.classes_
        place = np.flatnonzero(classes == label)
        if len(place) == 0:
            raise ValueError(f"label must be one of {classes.tolist()}; got {label!r}.")
        words, windows = self._words(image, n_windows)
        return _spread(windows, posteriors[words, place[0]].mean(axis=1), np.shape(image)[:2])

    def word_windows(self, images: Sequence[Any], word: int, n_windows: int = 8000) -> list[np.ndarray]:
        """The windows that have a word, [Moosmann06] fig. 2.

        Parameters
        ----------
        images : sequence of ndarray or path
            Images of any sizes.
        word : int
            Number of the word.
        n_windows : int, default=8000
            Number of windows per image that are searched.

        Returns
        -------
        list of ndarray of shape (n, 3)
            Top, left and side of the windows of every image.
        """
        check_is_fitted(self)
        word = check_count("word", word, at_least=0, at_most=self.bag_.n_words_ - 1)
        found = (self._words(image, n_windows) for image in images)
        return [windows[(words == word).any(axis=1)] for words, windows in found]

    def _make_bag(self) -> BagOfFeatures:
        """An unfitted bag with the parameters that it is lent."""
        if self.bag is not None and not isinstance(self.bag, BagOfFeatures):
            raise ValueError(
                f"bag must be a BagOfFeatures; got {self.bag!r}. Φ is passed by name: "
                f"CodebookClassifier(transformations=...)."
            )
        bag = BagOfFeatures() if self.bag is None else clone(self.bag)
        if self.transformations is not None and bag.transformations is not None:
            raise ValueError(
                f"transformations must be given to the classifier or to its bag, not to both; got "
                f"{self.transformations!r} and {bag.transformations!r}."
            )
        lent = {name: getattr(self, name) for name in ("transformations", "n_jobs", "random_state")}
        return bag.set_params(**{name: value for name, value in lent.items() if getattr(bag, name) is None})

    def _vote(self, images: Sequence[Any]) -> np.ndarray:
        """Mean class shares (n_images, n_classes) of the leaves that the windows of images reach."""
        counts = self.bag_.count(images)[:, : self.bag_.n_words_]  # the first level of a pyramid has all windows
        return average_shares(counts, shares_of_words(self.bag_.codebook_, self.classes_))

    def _words(self, image: Any, n_windows: int) -> tuple[np.ndarray, np.ndarray]:
        """The words (n, t) of windows (n, 3) of an image."""
        vectors, windows = self.bag_.extract(image, check_count("n_windows", n_windows))
        if windows.shape[1] != 3:
            raise ValueError(
                f"maps and galleries of words need windows, but {self.bag_.descriptor_!r} describes points. "
                f"Use HaarPatches, HslPatches or SiftWindows."
            )
        return self.bag_.codebook_.transform(vectors), windows

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.three_d_array = False, True  # images, never flat rows
        return tags


def equal_error_rate(y_true: Any, scores: Any) -> float:
    """Share classified correctly at the threshold where both classes have the same share of errors (the paper's EER).

    Parameters
    ----------
    y_true : array-like of shape (n,), bool
        True for the class with high scores.
    scores : array-like of shape (n,)
        Scores; between two thresholds the ROC curve is a straight line.

    Returns
    -------
    float
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
    """The factor that turns scores of held-out bags into probabilities."""
    n_folds = min(N_FOLDS, int(np.bincount(codes).min()))
    if n_folds < 2:
        raise ValueError("probability=True needs at least two images of every class, some of them to be held out.")
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=0)
    with few_samples_per_class(), liblinear_alone():
        scores = cross_val_predict(svm, bags, codes, cv=folds, method="decision_function")
    return learn_sharpness(scores, codes)


def _spread(windows: np.ndarray, strength: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Mean strength of the windows whose middle third covers a pixel; a summed-area table of their corners."""
    height, width = shape
    weights = np.zeros((2, height + 1, width + 1))
    tops, lefts, sides = windows.T
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
