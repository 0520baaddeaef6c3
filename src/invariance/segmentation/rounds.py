"""Fitting one final estimator per round; from the second round on it also sees the maps of the round before.

In training these maps come from estimators that were not fitted on the pixel's fold: predictions for pixels that were
trained on are too good, and the next round would rely on them too much.
"""

from functools import partial
from typing import Any

import numpy as np

from invariance._core.parallel import map_jobs
from invariance._core.progress import track
from invariance.segmentation.dense import Chain, context_of, n_maps, predict_around
from invariance.segmentation.description import BANK_ALONE, Description, describe_pixels
from invariance.segmentation.estimators import MakeEstimator, fit_estimator
from invariance.segmentation.inputs import Labelled
from invariance.segmentation.sampling import N_FOLDS, Pixels


def fit_rounds(
    labelled: Labelled,
    pixels: Pixels,
    folds: np.ndarray | None,
    description: Description,
    make_estimator: MakeEstimator,
    n_rounds: int,
    n_jobs: int | None,
) -> list[Any]:
    """Fit one classifier per round; a single one if there are no folds that each leave all classes to the rest."""
    own = describe_pixels(description, labelled.images, pixels, n_jobs)
    if folds is None:
        return [fit_estimator(make_estimator, own, pixels.codes)]
    features, estimators = own, []
    by_fold: list[list[Any]] = [[] for _ in range(N_FOLDS)]
    for _ in range(n_rounds - 1):
        training = [np.full(len(own), True), *(folds != fold for fold in range(N_FOLDS))]
        fitted = map_jobs(partial(_fit_on, make_estimator, features, pixels.codes), training, n_jobs)
        estimators.append(fitted[0])
        for chain, estimator in zip(by_fold, fitted[1:], strict=True):
            chain.append(estimator)
        context = _describe_contexts(labelled, pixels, folds, description, by_fold, n_jobs)
        features = np.concatenate([own, context], axis=1)
    return [*estimators, fit_estimator(make_estimator, features, pixels.codes)]


def _fit_on(make_estimator: MakeEstimator, features: np.ndarray, codes: np.ndarray, rows: np.ndarray) -> Any:
    return fit_estimator(make_estimator, features[rows], codes[rows])


def _describe_contexts(labelled: Labelled, pixels: Pixels, folds: np.ndarray, description, by_fold, n_jobs):
    """Describe the maps around all pixels (n, F), those of each fold by the estimators fitted without it."""
    context = np.empty((len(pixels.codes), BANK_ALONE.n_features(n_maps(len(labelled.classes)))), np.float32)
    for index, places in track(list(pixels.by_image()), "predicting context"):
        chosen = [places[folds[places] == fold] for fold in range(N_FOLDS)]
        chains = [
            Chain(estimators, pixels.rows[inside], pixels.cols[inside])
            for inside, estimators in zip(chosen, by_fold, strict=True)
        ]
        all_maps = predict_around(description, chains, labelled.images[index], len(labelled.classes), n_jobs)
        for inside, chain, maps in zip(chosen, chains, all_maps, strict=True):
            if len(inside):
                context[inside] = BANK_ALONE.at(context_of(maps), chain.rows, chain.cols, n_jobs)
    return context
