"""Fitting one final estimator per round; from the second round on it also sees the maps of the round before.

In training these maps come from estimators that were not fitted on the pixel's fold: predictions for pixels that were
trained on are too good, and the next round would rely on them too much.
"""

from typing import Any

import numpy as np

from invariance._core.progress import track
from invariance.segmentation.dense import Chain, context_of, n_maps, predict_around
from invariance.segmentation.description import BANK_ALONE, Description, describe_pixels
from invariance.segmentation.estimators import MakeEstimator, fit_estimator, fit_with_folds
from invariance.segmentation.inputs import Labelled
from invariance.segmentation.kept import keep_features
from invariance.segmentation.sampling import N_FOLDS, Pixels
from invariance.segmentation.shares import ClassShares
from invariance.trees import TreesClassifier


def fit_rounds(
    labelled: Labelled,
    pixels: Pixels,
    folds: np.ndarray | None,
    description: Description,
    make_estimator: MakeEstimator,
    n_rounds: int,
    n_jobs: int | None,
    n_strokes: int = 1,
    is_balanced: bool = False,
) -> list[Any]:
    """Fit one classifier per round; a single one if there are no folds that each leave all classes to the rest.

    The trees of the last round are told the shares of the classes in the images, unless pixels were drawn balanced.
    """
    if folds is None or n_rounds == 1:
        own = describe_pixels(description, labelled.images, pixels, n_jobs)
        return [fit_estimator(make_estimator, own, pixels.codes)]
    kept = keep_features(description, labelled.images)
    own = describe_pixels(kept, labelled.images, pixels, n_jobs)
    features, estimators = own, []
    by_fold: list[list[Any]] = [[] for _ in range(N_FOLDS)]
    for _ in range(n_rounds - 1):
        whole, parts = fit_with_folds(make_estimator, features, pixels.codes, folds, n_jobs)
        estimators.append(whole)
        for chain, estimator in zip(by_fold, parts, strict=True):
            chain.append(estimator)
        context, counted = _describe_contexts(labelled, pixels, folds, kept, by_fold, n_jobs)
        features = np.concatenate([own, context], axis=1)
    last = fit_estimator(make_estimator, features, pixels.codes)
    prior = counted.estimate(n_strokes)
    if prior is not None and not is_balanced and isinstance(last, TreesClassifier):
        last.set_params(prior=prior.tolist())
    return [*estimators, last]


def _describe_contexts(labelled: Labelled, pixels: Pixels, folds: np.ndarray, description, by_fold, n_jobs):
    """Describe the maps around all pixels (n, F), those of each fold by the estimators fitted without it.

    Also count what the shares of the classes in the images are estimated from.
    """
    context = np.empty((len(pixels.codes), BANK_ALONE.n_features(n_maps(len(labelled.classes)))), np.float32)
    counted = ClassShares(len(labelled.classes))
    for index, places in track(list(pixels.by_image()), "predicting context"):
        chosen = [places[folds[places] == fold] for fold in range(N_FOLDS)]
        chains = [
            Chain(estimators, pixels.rows[inside], pixels.cols[inside])
            for inside, estimators in zip(chosen, by_fold, strict=True)
        ]
        all_maps = predict_around(description, chains, labelled.images[index], len(labelled.classes), n_jobs)
        is_unlabelled = ~np.isin(labelled.masks[index], labelled.classes)
        for inside, chain, maps in zip(chosen, chains, all_maps, strict=True):
            counted.add(maps, is_unlabelled, chain.rows, chain.cols, pixels.codes[inside])
            if len(inside):
                context[inside] = BANK_ALONE.at(context_of(maps), chain.rows, chain.cols, n_jobs)
    return context, counted
