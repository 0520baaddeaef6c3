"""The final estimators of a segmenter: fitted on one thread, applied to millions of pixels."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from invariance._core.parallel import one_openmp_thread
from invariance.jungles.final_estimators import fit_final_estimator, make_final_estimator
from invariance.segmentation.boosted import mask_boosting
from invariance.trees import TreesClassifier

# Boosting overfits to fewer pixels than this, and to fewer strokes than this, see `number_strokes`.
FEW_PIXELS, FEW_STROKES = 20_000, 32
# Trees that saw few strokes are too certain of other images: with this many, the logarithms of their odds are
# halved (chosen on ISBI sections 13 and 17; calibrating on held-out strokes of one section was worse).
DOUBTS = 4
# Makes an unfitted classifier for a number of samples.
MakeEstimator = Callable[[int], Any]
# Number of pixels classified at once: some classifiers need many times the memory of their input.
MAX_COLUMNS = 16_384


class Predictor(Protocol):
    """Predicts the classes of pixels whose features are columns."""

    def predict_columns(self, features: np.ndarray) -> np.ndarray:
        """Predict probabilities (n, K) of columns (F, n)."""


class PlainPredictor:
    """The `predict_proba` of any fitted classifier, for features in columns."""

    def __init__(self, estimator: Any):
        self.estimator = estimator

    def predict_columns(self, features: np.ndarray) -> np.ndarray:
        """Predict probabilities (n, K) of columns (F, n)."""
        parts = (features[:, start : start + MAX_COLUMNS] for start in range(0, features.shape[1], MAX_COLUMNS))
        # Threads of the classifier's own would compete with those of the tiles.
        with one_openmp_thread():
            return np.concatenate([self.estimator.predict_proba(np.ascontiguousarray(part.T)) for part in parts])


def choose_estimator(final_estimator: Any, n_pixels: int, n_strokes: int) -> Any:
    """Replace "auto" by what suits the labels: "boosting" if there are many, else "trees"."""
    if not isinstance(final_estimator, str) or final_estimator != "auto":
        return final_estimator
    return "trees" if n_pixels < FEW_PIXELS or n_strokes < FEW_STROKES else "boosting"


def make_estimator(final_estimator: Any, n_samples: int, n_strokes: int, seed: int, n_trees: int) -> Any:
    """Make an unfitted classifier for the features of `n_samples` pixels in `n_strokes`."""
    if isinstance(final_estimator, str):
        if final_estimator == "trees":
            sharpness = n_strokes / (n_strokes + DOUBTS)
            return TreesClassifier(n_trees, sharpness=sharpness, random_state=seed)
        if final_estimator not in ("boosting", "linear"):
            raise ValueError(
                f"final_estimator must be 'auto', 'trees', 'boosting', 'linear' or a classifier with predict_proba; "
                f"got {final_estimator!r}."
            )
    return make_final_estimator(final_estimator, n_samples, seed, n_trees)


def fast_predictor(estimator: Any) -> Predictor:
    """Find the fastest way to predict as a fitted classifier does: bit masks for small trees."""
    if isinstance(estimator, TreesClassifier):
        return estimator
    masked = mask_boosting(estimator) if isinstance(estimator, HistGradientBoostingClassifier) else None
    return PlainPredictor(estimator) if masked is None else masked


def fit_estimator(make_estimator: MakeEstimator, features: np.ndarray, codes: np.ndarray) -> Any:
    """Fit a classifier on features (n, F) and class codes (n,), all samples having the same weight."""
    # Boosting on two threads takes two thirds of the time on an idle machine, but twenty times as long on a busy one,
    # where its threads wait for each other; so several classifiers are fitted in parallel instead.
    with one_openmp_thread():
        return fit_final_estimator(make_estimator(len(codes)), features, codes, np.ones(len(codes)))
