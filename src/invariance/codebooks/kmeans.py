"""The codebook that all others are compared with: words are the centres of k-means."""

from typing import Any

import numpy as np
import sklearn
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from invariance._core import loaded
from invariance._core.checks import check_choice, check_count, check_number
from invariance._core.keeping import keep
from invariance._core.parallel import one_blas_thread
from invariance._core.randomness import make_rng
from invariance.codebooks.starts import best_start
from invariance.images import encode_labels
from invariance.trees import class_shares

INITS = ("k-means++", "random")
# Bytes of a block of products of descriptors and words, to stay near the processor: half the time of 16 MB.
BLOCK_BYTES = 2**19
# Small batches, three starts and thirty epochs find words of textures and objects as good as those of all descriptors.
BATCH_SIZE, N_INIT, MAX_ITER = 4096, 3, 30
KEPT_VERSION = 1  # of centres that are kept; another one goes with every change of what is computed


class KMeansCodebook(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Codebook whose words are the centres that scikit-learn's k-means finds.

    Parameters
    ----------
    n_words : int, default=400
        Number of words.
    batch_size : int or None, default=4096
        Number of descriptors that move the centres at a time (`MiniBatchKMeans`); None moves them by all descriptors
        (`KMeans`), which takes much longer.
    n_init : int, default=3
        Number of starts, of which the best is kept.
    max_iter : int, default=30
        Maximum number of iterations, which are epochs with batches.
    init : {"k-means++", "random"}, default="k-means++"
        "k-means++" spreads the first centres, which takes minutes for thousands; "random" takes any descriptors.
    reassignment_ratio : float, default=0.0
        With batches, centres that win fewer than this share of the most frequent one's descriptors start afresh.
    by_class : bool, default=False
        Whether the words are found class by class, an equal number in each; else among all descriptors together.
    random_state : int, Generator, RandomState or None, default=None
        Seed. Without batches scikit-learn uses all cores, and sums rounded in another order on other machines may give
        centres that differ in the last digits.

    Attributes
    ----------
    words_ : ndarray of shape (n_words, n_features), float32
        The centres.
    n_words_ : int
        Number of centres.
    n_iter_ : int
        Number of iterations, the largest of all classes with `by_class`.
    classes_ : ndarray of shape (n_classes,) or None
        The classes; None without labels.
    posteriors_ : ndarray of shape (n_words, n_classes) or None
        Share of every class among the training samples of a word; None without labels.
    purity_ : ndarray of shape (n_words,) or None
        The largest of these shares; None without labels.
    n_features_in_ : int
        Length of a descriptor.
    """

    classes_: Any

    def __init__(
        self,
        n_words=400,
        batch_size=BATCH_SIZE,
        n_init=N_INIT,
        max_iter=MAX_ITER,
        init="k-means++",
        reassignment_ratio=0.0,
        by_class=False,
        random_state=None,
    ):
        self.n_words = n_words
        self.batch_size = batch_size
        self.n_init = n_init
        self.max_iter = max_iter
        self.init = init
        self.reassignment_ratio = reassignment_ratio
        self.by_class = by_class
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> "KMeansCodebook":
        """Find the words.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Descriptors.
        y : array-like of shape (n_samples,) or None, default=None
            Labels of the images that the descriptors are from. Without `by_class` they do not change the words, but
            tell what every word stands for.

        Returns
        -------
        self : KMeansCodebook
        """
        X = validate_data(self, X, dtype=np.float32, order="C")
        self.classes_, codes = (None, None) if y is None else encode_labels(y, len(X))
        if self.by_class and codes is None:
            raise ValueError("by_class=True needs labels y, to find the words of each class; got None.")
        n_groups = len(self.classes_) if self.by_class else 1
        groups = [X[codes == code] for code in range(n_groups)] if self.by_class else [X]
        shares = _equal_shares(check_count("n_words", self.n_words, n_groups), n_groups)
        seeds = make_rng(self.random_state).integers(2**31, size=n_groups)
        found = [self._kmeans(*task) for task in zip(groups, shares, seeds.tolist(), strict=True)]
        self.words_ = np.concatenate([centres for centres, _ in found])
        self.n_iter_ = max(n_iter for _, n_iter in found)
        self.posteriors_ = self.purity_ = None
        if codes is not None:
            self.posteriors_ = class_shares(self.transform(X), codes, self.n_words_, len(self.classes_))
            self.purity_ = self.posteriors_.max(axis=1)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Find the nearest word of every descriptor.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Descriptors.

        Returns
        -------
        ndarray of shape (n_samples, 1), int32
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float32, order="C", reset=False)
        return nearest_words(X, self.words_).astype(np.int32)[:, None]

    @property
    def n_words_(self) -> int:
        """Number of centres."""
        return len(self.words_)

    def check_loaded(self) -> None:
        """Refuse words and shares whose shapes do not fit the descriptors and classes."""
        if not loaded.is_fitted(self, "words_", "n_features_in_", "classes_", "posteriors_", "purity_"):
            return
        loaded.check_values(self, n_features_in_=loaded.N_VALUES, classes_=loaded.optional(loaded.labels()))
        loaded.check_values(self, words_=loaded.array((None, self.n_features_in_), np.float32, contiguous=True))
        if self.n_words_ == 0:
            raise ValueError("a k-means codebook must have at least one word.")
        n_classes = 0 if self.classes_ is None else len(self.classes_)
        loaded.check_values(
            self,
            posteriors_=loaded.optional(loaded.array((self.n_words_, n_classes), np.float64, 0, 1)),
            purity_=loaded.optional(loaded.array((self.n_words_,), np.float64, 0, 1)),
        )

    def _kmeans(self, X: np.ndarray, n_words: int, seed: int) -> tuple[np.ndarray, int]:
        """The centres of one group of descriptors, and the number of iterations."""
        settings = {
            "init": check_choice("init", self.init, INITS),
            "n_init": check_count("n_init", self.n_init),
            "max_iter": check_count("max_iter", self.max_iter),
        }
        if self.batch_size is not None:
            settings["batch_size"] = check_count("batch_size", self.batch_size)
            settings["reassignment_ratio"] = check_number("reassignment_ratio", self.reassignment_ratio, 0, 1)
        return find_centres(X, n_words, seed, **settings)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags

    @property
    def _n_features_out(self):
        return 1


def find_centres(X: np.ndarray, n_words: int, seed: int, **settings: Any) -> tuple[np.ndarray, int]:
    """The centres (n_words, d) float32 of k-means on descriptors (n, d) float32, and the number of iterations.

    Those of the same descriptors, settings and seed are kept.
    """
    if n_words > len(X):
        raise ValueError(
            f"n_words must be at most n_samples={len(X)}, the descriptors that words are found among; got {n_words}. "
            f"Ask for fewer words, or for more descriptors."
        )

    def make() -> np.ndarray:
        fitted = fit_kmeans(X, n_words, seed, settings)
        return np.vstack([fitted.cluster_centers_, np.full((1, X.shape[1]), fitted.n_iter_, np.float32)])

    kind = repr(("k-means", KEPT_VERSION, sklearn.__version__, n_words, seed, sorted(settings.items())))
    kept = keep(kind, X, make)
    return kept[:-1].copy(), int(kept[-1, 0])


def fit_kmeans(X: np.ndarray, n_words: int, seed: int, settings: dict[str, Any]) -> KMeans | MiniBatchKMeans:
    """k-means on descriptors (n, d) float32: on one thread by batches, if a `batch_size` is among the settings.

    With batches, the starts of "k-means++" are ours.
    """
    if "batch_size" not in settings:
        with one_blas_thread():
            return KMeans(n_words, random_state=seed, **settings).fit(X)
    # Batches are small: more threads wait for each other more than they work, and round differently.
    with one_blas_thread(), threadpool_limits(limits=1, user_api="openmp"):
        if settings["init"] == "k-means++":
            rng = np.random.default_rng(seed)
            start = best_start(X, n_words, settings["n_init"], settings["batch_size"], rng)
            settings = settings | {"init": start, "n_init": 1}
        return MiniBatchKMeans(n_words, random_state=seed, **settings).fit(X)


def find_words(X: np.ndarray, n_words: int, seed: int) -> np.ndarray:
    """The centres (n_words, d) float32 of k-means by batches on descriptors (n, d), with the default settings."""
    X = np.ascontiguousarray(X, np.float32)
    settings = {"batch_size": BATCH_SIZE, "n_init": N_INIT, "max_iter": MAX_ITER, "reassignment_ratio": 0.0}
    return find_centres(X, n_words, seed, init="k-means++", **settings)[0]


def nearest_words(X: np.ndarray, words: np.ndarray) -> np.ndarray:
    """The index (n,) of the word (k, d) nearest to each descriptor (n, d)."""
    half_squares = 0.5 * np.einsum("kd,kd->k", words, words)
    nearest = np.empty(len(X), np.intp)
    n_block = max(1, BLOCK_BYTES // (4 * len(words)))
    products = np.empty((min(n_block, len(X)), len(words)), np.result_type(X, words))
    for start in range(0, len(X), n_block):
        block = X[start : start + n_block]
        scores = np.matmul(block, words.T, out=products[: len(block)])
        scores -= half_squares
        nearest[start : start + n_block] = scores.argmax(axis=1)
    return nearest


def _equal_shares(total: int, n_groups: int) -> list[int]:
    """Whole numbers that sum to `total` and differ by one at most."""
    return [total // n_groups + (group < total % n_groups) for group in range(n_groups)]
