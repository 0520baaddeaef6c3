"""Scores of boundary maps: by pixels, and by the regions that they enclose, [ArgandaCarreras15].

A gap of one pixel in a membrane hardly changes the pixel error, but merges two cells. V_rand and V_info detect that:
they compare regions, and do not depend on the width of boundaries, as these are thinned first.
"""

from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import confusion_matrix_at_thresholds

from invariance._core.checks import check_number
from invariance._core.parallel import map_jobs
from invariance.segmentation.regions import RegionScores, compare_regions, number_components, thinned_regions

# Finer towards 0, so that overconfident maps are also scored at the threshold that is best for them.
THRESHOLDS = (0.001, 0.003, 0.01, 0.025, *(k / 20 for k in range(1, 20)))
# A mean of float32 probabilities may exceed the range from 0 to 1 by rounding.
ROUNDING = 1e-6


class SegmentationScores(NamedTuple):
    """Scores of a boundary map, as `segmentation_scores` returns them.

    Errors are shares of pixels; all other scores are at most 1, the best value.

    Attributes
    ----------
    pixel_error : float
        Pixel error at a threshold of 0.5.
    best_pixel_error : float
        Smallest pixel error over all thresholds.
    boundary_f : float
        Largest F score of boundary pixels over all thresholds.
    cell_f : float
        Largest F score of the other pixels over all thresholds.
    v_rand, v_rand_split, v_rand_merge : float
        V_rand and its two parts, at the threshold that is best for V_rand.
    v_rand_threshold : float
        That threshold.
    v_info, v_info_split, v_info_merge : float
        V_info and its two parts, at the threshold that is best for V_info.
    v_info_threshold : float
        That threshold.
    """

    pixel_error: float
    best_pixel_error: float
    boundary_f: float
    cell_f: float
    v_rand: float
    v_rand_split: float
    v_rand_merge: float
    v_rand_threshold: float
    v_info: float
    v_info_split: float
    v_info_merge: float
    v_info_threshold: float


def segmentation_scores(
    probabilities: ArrayLike,
    truth: ArrayLike,
    *,
    thresholds: ArrayLike = THRESHOLDS,
    labelled: ArrayLike | None = None,
    n_jobs: int | None = None,
) -> SegmentationScores:
    """Score a map of boundary probabilities against the true boundaries.

    Parameters
    ----------
    probabilities : array-like of shape (h, w) or (n, h, w)
        Probability of boundary of every pixel of a section, or of a stack of sections.
    truth : array-like of the same shape, bool
        True on boundaries.
    thresholds : array-like of shape (n_thresholds,), default=23 values from 0.001 to 0.95
        Thresholds among which V_rand and V_info take the best. A pixel is boundary if its probability is at least the
        threshold.
    labelled : array-like of the same shape, bool, or None, default=None
        Which pixels count; None counts all.
    n_jobs : int or None, default=None
        Number of sections and thresholds scored at a time; -1 uses all processors.

    Returns
    -------
    scores : SegmentationScores
        All scores.

    Notes
    -----
    Pixel errors and F scores pool the pixels of all sections, and consider every threshold. V_rand and V_info of a
    stack are means over its sections at one threshold for all; regions are two-dimensional. Sections where only
    boundary pixels count are left out of these means.

    As in [ArgandaCarreras15], predicted boundaries are thinned, true boundaries are not, and pixels on true boundaries
    do not count.

    Differs from the program of the challenge (Fiji's Trainable Segmentation): V_rand is a mean over sections like
    V_info, while the program pools pairs of pixels; there are 23 thresholds instead of 11.

    For label maps of more classes use `label_scores`.
    """
    maps, truths, counted = _check_maps(probabilities, truth, labelled)
    cutoffs = _check_thresholds(thresholds)
    pixel_error = np.mean(((maps >= 0.5) != truths)[counted])
    best_pixel_error, boundary_f, cell_f = _best_pixels(maps[counted], truths[counted])
    curve = _region_curve(maps, truths, counted, cutoffs, n_jobs)
    rand, rand_threshold = max(zip(curve, cutoffs, strict=True), key=lambda point: point[0].v_rand)
    info, info_threshold = max(zip(curve, cutoffs, strict=True), key=lambda point: point[0].v_info)
    return SegmentationScores(
        pixel_error=float(pixel_error),
        best_pixel_error=best_pixel_error,
        boundary_f=boundary_f,
        cell_f=cell_f,
        v_rand=rand.v_rand,
        v_rand_split=rand.v_rand_split,
        v_rand_merge=rand.v_rand_merge,
        v_rand_threshold=rand_threshold,
        v_info=info.v_info,
        v_info_split=info.v_info_split,
        v_info_merge=info.v_info_merge,
        v_info_threshold=info_threshold,
    )


def _region_curve(
    maps: np.ndarray, truths: np.ndarray, counted: np.ndarray, thresholds: list[float], n_jobs: int | None
) -> list[RegionScores]:
    """Compute the mean scores over the sections that have a true region, for each threshold."""
    true_regions = [number_components(section) for section in ~truths & counted]
    sections = [k for k, regions in enumerate(true_regions) if regions.any()]

    def score(task: tuple[float, int]) -> RegionScores:
        threshold, k = task
        return compare_regions(thinned_regions(maps[k] >= threshold), true_regions[k])

    scores = np.array(map_jobs(score, list(product(thresholds, sections)), n_jobs, label="scoring regions"))
    means = scores.reshape(len(thresholds), len(sections), -1).mean(axis=1)
    return [RegionScores(*row) for row in means.tolist()]


def _best_pixels(probabilities: np.ndarray, truth: np.ndarray) -> tuple[float, float, float]:
    """Compute the smallest pixel error and the largest F scores of boundary and cell, each over all thresholds."""
    counts = np.stack(confusion_matrix_at_thresholds(truth, probabilities)[:4])
    # scikit-learn leaves out the threshold above all probabilities, at which nothing is boundary.
    beyond = np.array([np.count_nonzero(~truth), 0, np.count_nonzero(truth), 0])
    cell, false_boundary, false_cell, boundary = np.column_stack([counts, beyond])
    wrong = false_boundary + false_cell
    best_boundary, best_cell = (np.max(2 * right / (2 * right + wrong)) for right in (boundary, cell))
    return float(wrong.min() / len(truth)), float(best_boundary), float(best_cell)


def _check_maps(
    probabilities: ArrayLike, truth: ArrayLike, labelled: ArrayLike | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Check and return probabilities, truth and the pixels that count, each (n, h, w)."""
    maps, truths = np.asarray(probabilities), np.asarray(truth)
    counted = np.ones(truths.shape, dtype=bool) if labelled is None else np.asarray(labelled)
    if maps.ndim not in (2, 3) or maps.size == 0:
        raise ValueError(f"probabilities must be a section (h, w) or a stack (n, h, w); got the shape {maps.shape}.")
    if maps.dtype.kind not in "fiub" or not (maps.min() >= -ROUNDING and maps.max() <= 1 + ROUNDING):
        found = f"from {maps.min()} to {maps.max()}" if maps.dtype.kind in "fiub" else f"of dtype {maps.dtype}"
        raise ValueError(f"probabilities must be numbers from 0 to 1; got values {found}. Divide 8-bit maps by 255.")
    for name, mask, example in (("truth", truths, "labels == 0"), ("labelled", counted, "labels != 255")):
        if mask.dtype != bool:
            raise ValueError(f"{name} must be boolean; got {mask.dtype}. Compare it first, for example {example}.")
        if mask.shape != maps.shape:
            raise ValueError(f"{name} must have the shape {maps.shape} of probabilities; got {mask.shape}.")
    n_boundary, n_cell = np.count_nonzero(truths & counted), np.count_nonzero(~truths & counted)
    if not n_boundary or not n_cell:
        raise ValueError(
            f"truth must have boundary (True) and other pixels (False) among those that count; got {n_boundary} and "
            f"{n_cell}. Score sections that contain both."
        )
    height, width = maps.shape[-2:]
    stack = (-1, height, width)
    return maps.reshape(stack), truths.reshape(stack), counted.reshape(stack)


def _check_thresholds(thresholds: ArrayLike) -> list[float]:
    checked = [check_number("each of thresholds", value, 0, 1) for value in np.atleast_1d(thresholds).tolist()]
    if not checked:
        raise ValueError("thresholds must contain at least one number from 0 to 1; got none. Try [0.5].")
    return checked
