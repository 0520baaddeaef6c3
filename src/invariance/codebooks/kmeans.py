"""The codebook that everybody compares with: the centres of k-means."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.utils.validation import check_is_fitted, validate_data

from invariance._core.checks import check_choice, check_count
from invariance._core.randomness import make_rng
from invariance.images import encode_labels
from invariance.trees import class_shares

INITS = ("k-means++", "random")


class KMeansCodebook(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Descriptors coded by the nearest of the centres that scikit-learn's k-means finds.

    Parameters
    ----------
    n_words : how many centres
    batch : whether small batches of descriptors move the centres (`MiniBatchKMeans`), or all of them (`KMeans`)
    n_init, max_iter : starts, of which the best is kept, and iterations (epochs with `batch`) at most
    init : "k-means++" spreads the first centres, which takes minutes for thousands; "random" takes any descriptors
    random_state : as in scikit-learn; scikit-learn uses all cores, and sums rounded in another order on other machines
        may give centres that differ in the last digits

    Attributes
    ----------
    kmeans_ : the fitted estimator; n_words_ : its centres; n_iter_ : its iterations;
    classes_ : the classes; posteriors_ (n_words_, K) : share of each class among the training samples of a word;
        purity_ (n_words_,) : the largest of these; all three None without labels
    """

    classes_: Any

    def __init__(self, n_words=5000, batch=False, n_init=1, max_iter=300, init="k-means++", random_state=None):
        self.n_words = n_words
        self.batch = batch
        self.n_init = n_init
        self.max_iter = max_iter
        self.init = init
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> "KMeansCodebook":
        """Find the centres of descriptors (n, d); labels (n,) only serve to say what each word stands for."""
        X = validate_data(self, X, dtype=np.float32, order="C")
        n_words = check_count("n_words", self.n_words)
        if n_words > len(X):
            raise ValueError(f"n_words must be at most n_samples={len(X)}; got {n_words}. Ask for fewer words.")
        self.classes_, codes = (None, None) if y is None else encode_labels(y, len(X))
        method = MiniBatchKMeans if self.batch else KMeans
        self.kmeans_ = method(
            n_words,
            init=check_choice("init", self.init, INITS),
            n_init=check_count("n_init", self.n_init),
            max_iter=check_count("max_iter", self.max_iter),
            random_state=int(make_rng(self.random_state).integers(2**31)),
        ).fit(X)
        self.n_iter_ = self.kmeans_.n_iter_
        self.posteriors_ = self.purity_ = None
        if codes is not None:
            words = self.kmeans_.predict(X)[:, None]
            self.posteriors_ = class_shares(words, codes, self.n_words_, len(self.classes_))
            self.purity_ = self.posteriors_.max(axis=1)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """The nearest centre of every descriptor (n, d): (n, 1) int32."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float32, order="C", reset=False)
        return self.kmeans_.predict(X).astype(np.int32)[:, None]

    @property
    def n_words_(self) -> int:
        """Number of centres."""
        return len(self.kmeans_.cluster_centers_)

    def check_loaded(self) -> None:
        """Refuse centres that are not of the descriptors' kind: compiled code reads them without looking."""
        if not hasattr(self, "kmeans_"):
            return
        centres = self.kmeans_.cluster_centers_
        is_whole = centres.ndim == 2 and len(centres) > 0 and centres.flags.c_contiguous
        if not is_whole or centres.dtype != np.float32 or centres.shape[1] != self.n_features_in_:
            raise ValueError("the centres of a k-means codebook are not descriptors of its kind.")
        if self.posteriors_ is not None and self.posteriors_.shape != (self.n_words_, len(self.classes_)):
            raise ValueError("the class shares of a k-means codebook are not those of its words.")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags

    @property
    def _n_features_out(self):
        return 1
