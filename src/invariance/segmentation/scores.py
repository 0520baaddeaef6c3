"""How good a map of boundaries is: pixel by pixel, and by the regions that it encloses, [ArgandaCarreras15].

A gap of one pixel in a membrane hardly changes the pixel error, but joins two cells. V_rand and V_info see that: they
compare the regions, and ignore how wide a boundary is drawn, as the boundaries are thinned first.
"""

from itertools import product
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import ArrayLike
from scipy import ndimage, sparse
from scipy.stats import entropy
from sklearn.metrics import confusion_matrix_at_thresholds

from invariance._core.checks import check_number
from invariance._core.parallel import map_jobs

# Finer towards 0: whoever is too sure of himself must still be judged at the threshold that is best for him.
THRESHOLDS = (0.001, 0.003, 0.01, 0.025, *(k / 20 for k in range(1, 20)))
ROUNDING = 1e-6  # a mean of float32 probabilities may leave 0..1 by as much


class RegionScores(NamedTuple):
    """Agreement of two ways to divide a section into regions, each 1 when perfect.

    The split scores fall where a true region is in pieces, the merge scores where true regions are joined.
    """

    v_rand: float
    v_rand_split: float
    v_rand_merge: float
    v_info: float
    v_info_split: float
    v_info_merge: float


class SegmentationScores(NamedTuple):
    """What `segmentation_scores` returns; errors are fractions of pixels, all other scores are 1 when perfect.

    `pixel_error` calls a boundary what has a probability of 0.5 or more; all others are at the threshold that is best
    for them. `v_rand_split` and `v_rand_merge` are those where V_rand is best, `v_info_*` those where V_info is.
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
    """Score the probabilities of boundary of a section (h, w) or a stack (n, h, w) against the boolean truth.

    `truth` is True on boundaries; only pixels where `labelled` is True count (None: all). A pixel is called boundary
    where its probability is at least the threshold. Pixel errors and F pool the pixels of all sections, and their best
    threshold is exact: every threshold is tried. V_rand and V_info are the best of `thresholds`; in a stack, regions
    are two-dimensional, and the score is the mean over its sections at one threshold shared by all (a section where no
    pixel outside boundaries counts has no say).

    As in [ArgandaCarreras15], the found boundaries are thinned (see `thinned_regions`), the true ones are not, and
    pixels on true boundaries do not count. Differs from the challenge's program (Fiji's Trainable Segmentation): V_rand
    is a mean over sections like V_info, while its Rand scores pool pairs of pixels; 19 thresholds instead of 11.
    Label maps of more classes need none of this: see `sklearn.metrics.f1_score` with `average=None`.
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


def thinned_regions(boundary: np.ndarray) -> np.ndarray:
    """Number the regions (h, w) from 1 on, once the boundaries (h, w) between them are thinned to lines of one pixel.

    Regions are the 4-connected components of what is not boundary; a watershed lets them grow into it, all at the same
    pace, until they nearly meet. Each pixel of the lines that are left is a region of its own, as in the challenge's
    program, so that a line in the wrong place costs. A map that is all boundary encloses nothing: it is one region.
    """
    if boundary.all():
        return np.ones(boundary.shape, dtype=np.int32)
    framed = np.pad(_components(~boundary), 1)  # cv2.watershed overwrites the outermost pixels
    flat = np.zeros((*framed.shape, 3), dtype=np.uint8)
    regions = cv2.watershed(flat, framed)[1:-1, 1:-1]
    lines = regions <= 0
    regions[lines] = regions.max() + 1 + np.arange(np.count_nonzero(lines))
    return regions


def compare_regions(found: np.ndarray, true: np.ndarray) -> RegionScores:
    """V_rand and V_info, [ArgandaCarreras15] with α = 1/2, of two maps of region numbers, where `true` is not 0.

    Of pixels drawn at random, p_ij share lies in found region i and true region j, s_i in i and t_j in j:
    V_rand = Σ p_ij² / (½ Σ s_i² + ½ Σ t_j²), V_info = I(S; T) / (½ H(S) + ½ H(T)); 0/0 is 1, as nothing was missed.
    """
    counted = true > 0
    ones = np.ones(np.count_nonzero(counted))
    table = sparse.coo_array((ones, (found[counted], true[counted]))).tocsr()  # adds up equal pairs (i, j)
    joint, sizes, true_sizes = table.data, table.sum(axis=1), table.sum(axis=0)
    pairs, found_pairs, true_pairs = (float(counts @ counts) for counts in (joint, sizes, true_sizes))
    found_entropy, true_entropy = float(entropy(sizes)), float(entropy(true_sizes))
    information = found_entropy + true_entropy - float(entropy(joint))
    return RegionScores(
        v_rand=pairs / (0.5 * (found_pairs + true_pairs)),
        v_rand_split=pairs / true_pairs,
        v_rand_merge=pairs / found_pairs,
        v_info=_share(information, 0.5 * (found_entropy + true_entropy)),
        v_info_split=_share(information, found_entropy),
        v_info_merge=_share(information, true_entropy),
    )


def _components(inside: np.ndarray) -> np.ndarray:
    """The 4-connected components (h, w) of the True pixels, numbered from 1 on; 0 elsewhere."""
    return ndimage.label(inside)[0].astype(np.int32, copy=False)


def _share(part: float, whole: float) -> float:
    """The fraction part / whole, which rounding must not carry out of 0..1."""
    return min(max(part / whole, 0.0), 1.0) if whole > 0 else 1.0


def _region_curve(
    maps: np.ndarray, truths: np.ndarray, counted: np.ndarray, thresholds: list[float], n_jobs: int | None
) -> list[RegionScores]:
    """Mean scores over the sections that have a region to find, one for each threshold."""
    true_regions = [_components(section) for section in ~truths & counted]
    sections = [k for k, regions in enumerate(true_regions) if regions.any()]

    def score(job: tuple[float, int]) -> RegionScores:
        threshold, k = job
        return compare_regions(thinned_regions(maps[k] >= threshold), true_regions[k])

    scores = np.array(map_jobs(score, list(product(thresholds, sections)), n_jobs, label="Scoring regions"))
    means = scores.reshape(len(thresholds), len(sections), -1).mean(axis=1)
    return [RegionScores(*row) for row in means.tolist()]


def _best_pixels(probabilities: np.ndarray, truth: np.ndarray) -> tuple[float, float, float]:
    """Least pixel error, largest F of boundary and largest F of cell, each over every threshold there is."""
    counts = np.stack(confusion_matrix_at_thresholds(truth, probabilities)[:4])
    # It leaves out the threshold above all probabilities, at which nothing is boundary.
    beyond = np.array([np.count_nonzero(~truth), 0, np.count_nonzero(truth), 0])
    cell, false_boundary, false_cell, boundary = np.column_stack([counts, beyond])
    wrong = false_boundary + false_cell
    best_boundary, best_cell = (np.max(2 * right / (2 * right + wrong)) for right in (boundary, cell))
    return float(wrong.min() / len(truth)), float(best_boundary), float(best_cell)


def _check_maps(
    probabilities: ArrayLike, truth: ArrayLike, labelled: ArrayLike | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Probabilities, truth and the pixels that count, each (n, h, w)."""
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
            f"{n_cell}. Score sections that show both."
        )
    height, width = maps.shape[-2:]
    stack = (-1, height, width)
    return maps.reshape(stack), truths.reshape(stack), counted.reshape(stack)


def _check_thresholds(thresholds: ArrayLike) -> list[float]:
    checked = [check_number("each of thresholds", value, 0, 1) for value in np.atleast_1d(thresholds).tolist()]
    if not checked:
        raise ValueError("thresholds must hold at least one number from 0 to 1; got none. Try [0.5].")
    return checked
