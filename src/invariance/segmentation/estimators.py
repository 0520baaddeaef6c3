"""The final estimators of a segmenter: fitted to some pixels, applied to millions."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from invariance._core.parallel import map_jobs, one_openmp_thread
from invariance.jungles.final_estimators import fit_final_estimator, make_final_estimator
from invariance.segmentation.boosted import mask_boosting
from invariance.segmentation.sampling import N_FOLDS
from invariance.trees import TreesClassifier, join_trees

# Boosting overfits to fewer pixels than this, and to fewer strokes than this, see `number_strokes`.
FEW_PIXELS, FEW_STROKES = 20_000, 32
# Neighbouring pixels are similar: trees grown from this many are as good as from all (compared with all
# on ISBI sections 0-17, four draws of 160 discs; no other number was tried).
MAX_SAMPLES = 4096
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


def make_estimator(
    final_estimator: Any, n_samples: int, n_strokes: int, seed: int, n_trees: int, n_jobs: int | None = None
) -> Any:
    """Make an unfitted classifier for the features of `n_samples` pixels in `n_strokes`."""
    if isinstance(final_estimator, str):
        if final_estimator == "trees":
            return TreesClassifier(n_trees, max_samples=MAX_SAMPLES, n_jobs=n_jobs, random_state=seed)
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
    return _fit(make_estimator(len(codes)), features, codes)


def fit_with_folds(
    make_estimator: MakeEstimator, features: np.ndarray, codes: np.ndarray, folds: np.ndarray, n_jobs: int | None
) -> tuple[Any, list[Any]]:
    """Fit the classifier of a round on all samples, and one without each fold.

    Every tree of a `TreesClassifier` is grown without one of the folds: those without the same fold are its classifier,
    and all together that of the round, so that nothing is grown twice.
    """
    estimator = make_estimator(len(codes))
    if isinstance(estimator, TreesClassifier):
        parts = [
            _fit(part, features[folds != fold], codes[folds != fold])
            for fold, part in enumerate(estimator.divide(N_FOLDS))
        ]
        return join_trees(parts), parts
    training = [np.full(len(codes), True), *(folds != fold for fold in range(N_FOLDS))]
    estimators = [estimator, *(make_estimator(int(rows.sum())) for rows in training[1:])]
    whole, *parts = map_jobs(
        lambda task: _fit(task[0], features[task[1]], codes[task[1]]), zip(estimators, training, strict=True), n_jobs
    )
    return whole, parts


def _fit(estimator: Any, features: np.ndarray, codes: np.ndarray) -> Any:
    with one_openmp_thread():
        return fit_final_estimator(estimator, features, codes, np.ones(len(codes)))
