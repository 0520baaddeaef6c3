"""Comparing two divisions of an image into regions, [ArgandaCarreras15]."""

from typing import NamedTuple

import cv2
import numpy as np
from scipy import ndimage, sparse
from scipy.stats import entropy


class RegionScores(NamedTuple):
    """Agreement of two divisions of an image into regions; every score is at most 1, its value for equal divisions.

    Attributes
    ----------
    v_rand : float
        V_rand, the harmonic mean of its split and merge scores.
    v_rand_split : float
        Falls when true regions are split.
    v_rand_merge : float
        Falls when true regions are merged.
    v_info : float
        V_info, the harmonic mean of its split and merge scores.
    v_info_split : float
        Falls when true regions are split.
    v_info_merge : float
        Falls when true regions are merged.
    """

    v_rand: float
    v_rand_split: float
    v_rand_merge: float
    v_info: float
    v_info_split: float
    v_info_merge: float


def number_components(inside: np.ndarray) -> np.ndarray:
    """Number the 4-connected components (h, w) of the True pixels from 1; 0 elsewhere."""
    return ndimage.label(inside)[0].astype(np.int32, copy=False)


def thinned_regions(boundary: np.ndarray) -> np.ndarray:
    """Number the regions that a boundary map encloses, after thinning boundaries to lines of one pixel.

    Regions are the 4-connected components of the pixels that are not boundary; a watershed lets them grow into the
    boundary at the same speed until they nearly meet. Each pixel of the remaining lines is a region of its own, as in
    the program of the ISBI 2012 challenge, so that lines in the wrong place cost. A map that is boundary everywhere is
    one region.

    Parameters
    ----------
    boundary : ndarray of shape (h, w), bool
        True on boundaries.

    Returns
    -------
    regions : ndarray of shape (h, w), int32
        Numbers from 1.
    """
    if boundary.all():
        return np.ones(boundary.shape, dtype=np.int32)
    framed = np.pad(number_components(~boundary), 1)  # cv2.watershed overwrites the outermost pixels
    flat = np.zeros((*framed.shape, 3), dtype=np.uint8)
    regions = cv2.watershed(flat, framed)[1:-1, 1:-1]
    lines = regions <= 0
    regions[lines] = regions.max() + 1 + np.arange(np.count_nonzero(lines))
    return regions


def compare_regions(found: np.ndarray, true: np.ndarray) -> RegionScores:
    """Compute V_rand and V_info, [ArgandaCarreras15] with α = 1/2, over the pixels where `true` is not 0.

    With p_ij the share of pixels in found region i and true region j, s_i that in i and t_j that in j:
    V_rand = Σ p_ij² / (½ Σ s_i² + ½ Σ t_j²) and V_info = I(S; T) / (½ H(S) + ½ H(T)), where 0 / 0 is 1.

    Parameters
    ----------
    found, true : ndarray of shape (h, w), int
        Region numbers; 0 in `true` marks pixels that do not count.

    Returns
    -------
    scores : RegionScores
        The scores.
    """
    counted = true > 0
    ones = np.ones(np.count_nonzero(counted))
    table = sparse.coo_array((ones, (found[counted], true[counted]))).tocsr()  # sums up equal pairs (i, j)
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


def _share(part: float, whole: float) -> float:
    """Compute part / whole within 0 and 1 in spite of rounding; 1 if whole is 0."""
    return min(max(part / whole, 0.0), 1.0) if whole > 0 else 1.0
