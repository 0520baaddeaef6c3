"""Pseudo-labels: with few labelled pixels, filters are also learned from pixels that a first model is certain of."""

from typing import Any

import numpy as np

from invariance.segmentation.description import BANK_ALONE, describe_pixels
from invariance.segmentation.estimators import MakeEstimator, fast_predictor, fit_estimator
from invariance.segmentation.inputs import Labelled
from invariance.segmentation.sampling import Pixels

# A prediction is trusted if its probability exceeds that of the second class by this margin (our choice).
MIN_MARGIN = 0.3


def add_pseudo_labels(
    labelled: Labelled, pixels: Pixels, n_wanted: int, make_estimator: MakeEstimator, rng, n_jobs: int | None
) -> Pixels:
    """Add unlabelled pixels of the same images, with predicted classes, until there are about `n_wanted`.

    The first model is a classifier on the filter bank alone. Nothing is added if there are `n_wanted` labelled pixels
    or if all pixels are labelled.
    """
    n_missing = n_wanted - len(pixels.codes)
    sizes = [mask.size for mask in labelled.masks]
    chosen = np.flatnonzero(labelled.counts.sum(axis=1) < sizes)
    if n_missing <= 0 or len(chosen) == 0:
        return pixels
    features = describe_pixels(BANK_ALONE, labelled.images, pixels, n_jobs)
    first_model = fit_estimator(make_estimator, features, pixels.codes)
    parts = [pixels]
    for index in chosen.tolist():
        candidates = _draw_unlabelled(labelled, index, 2 * n_missing // len(chosen) + 1, rng)
        if len(candidates.codes):
            parts.append(_label(labelled, candidates, n_missing // len(chosen) + 1, first_model, rng, n_jobs))
    together = Pixels(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    return together.take(np.argsort(together.image, kind="stable"))


def _draw_unlabelled(labelled: Labelled, index: int, n_drawn: int, rng) -> Pixels:
    """Draw unlabelled pixels of one image, at most `n_drawn`; their codes are still 0."""
    mask = labelled.masks[index]
    places = np.unique(rng.integers(mask.size, size=n_drawn))
    places = places[~np.isin(mask.ravel()[places], labelled.classes)]
    rows, cols = np.divmod(places, mask.shape[1])
    return Pixels(np.full(len(places), index), rows, cols, np.zeros(len(places), np.int64))


def _label(labelled: Labelled, candidates: Pixels, n_kept: int, first_model: Any, rng, n_jobs: int | None) -> Pixels:
    """Predict the classes of pixels of one image; keep at most `n_kept` of those that are certain."""
    image = labelled.images[candidates.image[0]]
    features = BANK_ALONE.at(image, candidates.rows, candidates.cols, n_jobs)
    probabilities = fast_predictor(first_model).predict_columns(features.T)
    ranked = np.sort(probabilities, axis=1)
    certain = rng.permutation(np.flatnonzero(ranked[:, -1] - ranked[:, -2] > MIN_MARGIN))[:n_kept]
    codes = first_model.classes_[probabilities[certain].argmax(axis=1)]
    return candidates.take(certain)._replace(codes=codes)
