"""Logistic regression on the features of an encoder."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.validation import check_is_fitted

from invariance._core import loaded
from invariance._core.parallel import one_blas_thread
from invariance._core.probabilities import few_samples_per_class
from invariance.encoders.encoder import OnnxEncoder
from invariance.encoders.finding import default_encoder
from invariance.images import encode_labels

# For features of mean squared length 1 around their mean.
STRENGTHS = (1.0, 10.0, 100.0, 1000.0)
N_FOLDS = 3
MAX_SEARCHED = 2000  # images that the strength is chosen on
MAX_ITERATIONS = 1000


class EncoderClassifier(ClassifierMixin, BaseEstimator):
    """Logistic regression on the features of a pretrained network; its regularization is cross-validated.

    Parameters
    ----------
    encoder : OnnxEncoder or None, default=None
        None is `default_encoder()`.
    n_jobs : int or None, default=None
        Number of threads of the encoder, if it has none of its own.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    encoder_ : OnnxEncoder
        With its fingerprint.
    C_ : float
        The strength of the data against the regularization, of which the held-out likelihood is largest.
    mean_ : ndarray of shape (n_values,)
    scale_ : float
        Features are centred by their mean and divided by their root mean squared length.
    head_ : LogisticRegression
    """

    def __init__(self, encoder=None, n_jobs=None):
        self.encoder = encoder
        self.n_jobs = n_jobs

    def fit(self, X: Sequence[Any], y: Any) -> "EncoderClassifier":
        """Describe the images and learn to classify their features.

        Parameters
        ----------
        X : sequence of ndarray or path
            Images of any sizes.
        y : array-like of shape (n,)
            Labels.

        Returns
        -------
        self : EncoderClassifier
        """
        self.classes_, codes = encode_labels(y, len(X))
        self.encoder_ = default_encoder() if self.encoder is None else clone(self.encoder)
        if self.encoder_.n_jobs is None:
            self.encoder_.set_params(n_jobs=self.n_jobs)
        features = self.encoder_.fit_transform(X).astype(np.float64)
        self.mean_ = features.mean(axis=0)
        self.scale_ = max(float(np.sqrt(np.square(features - self.mean_).sum(axis=1).mean())), 1e-12)
        features = (features - self.mean_) / self.scale_
        with one_blas_thread():
            basis = _basis(features)
            inside = features @ basis
            self.C_ = choose_strength(inside, codes)
            self.head_ = make_head(self.C_).fit(inside, codes)
            self.head_.coef_ = np.ascontiguousarray(self.head_.coef_ @ basis.T)
            self.head_.n_features_in_ = len(basis)
        return self

    def decision_function(self, X: Sequence[Any]) -> np.ndarray:
        """Return scores (n,) of the second of two classes, or (n, n_classes)."""
        return self.head_.decision_function(self._features(X))

    def predict_proba(self, X: Sequence[Any]) -> np.ndarray:
        """Return class probabilities (n, n_classes)."""
        return self.head_.predict_proba(self._features(X))

    def predict(self, X: Sequence[Any]) -> np.ndarray:
        """Return the most probable class of every image."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def check_loaded(self) -> None:
        """Raise ValueError if encoder and head, read from a file, do not go together."""
        loaded.check_values(self, encoder=loaded.optional(loaded.instance(OnnxEncoder)), n_jobs=loaded.JOBS)
        if not loaded.is_fitted(self, "classes_", "encoder_", "mean_", "scale_", "head_"):
            return
        loaded.check_values(
            self,
            classes_=loaded.labels(),
            encoder_=loaded.instance(OnnxEncoder),
            mean_=loaded.array((None,), np.float64),
            scale_=loaded.number(1e-12, 1e12),
            head_=loaded.instance(LogisticRegression),
        )
        n_classes, n_values = len(self.classes_), len(self.mean_)
        n_rows = 1 if n_classes == 2 else n_classes
        loaded.check_values(
            self.head_,
            classes_=loaded.array((n_classes,), np.int64, 0, n_classes - 1),
            coef_=loaded.array((n_rows, n_values), np.float64),
            intercept_=loaded.array((n_rows,), np.float64),
        )

    def _features(self, X: Sequence[Any]) -> np.ndarray:
        check_is_fitted(self)
        if len(X) == 0:
            return np.empty((0, len(self.mean_)))
        features = self.encoder_.transform(X)
        if features.shape[1] != len(self.mean_):
            raise ValueError(f"the encoder gives {features.shape[1]} values, but {len(self.mean_)} were learned from.")
        return (features - self.mean_) / self.scale_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.three_d_array = False, True  # images, never flat rows
        return tags


def make_head(C: float) -> LogisticRegression:
    """Return logistic regression, unfitted."""
    return LogisticRegression(C=C, max_iter=MAX_ITERATIONS)


def choose_strength(features: np.ndarray, codes: np.ndarray) -> float:
    """Return the strength C with the largest likelihood of images held out of some folds.

    Parameters
    ----------
    features : ndarray of shape (n, d)
        Of mean squared length 1.
    codes : ndarray of shape (n,)
        From 0 to n_classes - 1.
    """
    if len(codes) > MAX_SEARCHED:
        rows = np.argsort(np.random.default_rng(0).random(len(codes)), kind="stable")[:MAX_SEARCHED]
        if len(np.unique(codes[rows])) == codes.max() + 1 and np.bincount(codes[rows]).min() > 1:
            features, codes = features[rows], codes[rows]
    n_folds = min(N_FOLDS, int(np.bincount(codes).min()))
    if n_folds < 2:
        return STRENGTHS[1]
    losses = np.zeros(len(STRENGTHS))
    with few_samples_per_class():
        folds = list(StratifiedKFold(n_folds, shuffle=True, random_state=0).split(features, codes))
    for training, held in folds:
        head = make_head(STRENGTHS[0]).set_params(warm_start=True)
        for place, C in enumerate(STRENGTHS):
            head.set_params(C=C).fit(features[training], codes[training])
            losses[place] -= head.predict_log_proba(features[held])[np.arange(len(held)), codes[held]].sum()
    return STRENGTHS[int(losses.argmin())]


def _basis(features: np.ndarray) -> np.ndarray:
    """Orthonormal columns that span the features: penalized weights lie in their span, which has fewer dimensions."""
    if len(features) >= features.shape[1]:
        return np.eye(features.shape[1])
    return np.linalg.svd(features, full_matrices=False)[2].T
