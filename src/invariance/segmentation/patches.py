"""Patches around drawn pixels, from which filters are learned, and the selection of their size."""

from collections.abc import Callable

import numpy as np
from sklearn.metrics import log_loss

from invariance._core.checks import check_odd
from invariance._core.progress import track
from invariance.jungles import InvariantFeatures
from invariance.segmentation.estimators import MakeEstimator, fit_estimator
from invariance.segmentation.sampling import Pixels
from invariance.segmentation.standard import StandardImage
from invariance.segmentation.tiles import Tile, cut
from invariance.segmentation.windows import cut_windows, window_reach

# One patch of this size at two scales takes 8 MB per channel; larger ones are not stored in files either.
MAX_PATCH_SIZE = 1023
# Sizes are compared on at most about this many pixels, for time (our choice).
MAX_COMPARED = 6000


def check_patch_size(patch_size: int, name: str = "patch_size") -> int:
    """Check the side of a patch; `name` is for the error."""
    return check_odd(name, patch_size, "a pixel is in the middle of its patch", at_most=MAX_PATCH_SIZE)


def cut_patches(images: list[StandardImage], pixels: Pixels, size: int) -> np.ndarray:
    """Cut flat patches (n, d) float32 around drawn pixels."""
    parts = []
    for index, places in pixels.by_image():
        rows, cols = pixels.rows[places], pixels.cols[places]
        box = Tile(int(rows.min()), int(rows.max()) + 1, int(cols.min()), int(cols.max()) + 1)
        reach = window_reach(size)
        parts.append(cut_windows(cut(images[index], box, reach), rows - box.top + reach, cols - box.left + reach, size))
    return np.concatenate(parts)


def select_patch_size(
    images: list[StandardImage],
    pixels: Pixels,
    folds: np.ndarray,
    sizes: tuple[int, ...],
    make_filters: Callable[[int, int], InvariantFeatures],
    make_estimator: MakeEstimator,
) -> int | None:
    """Select the patch size whose filters, learned on the first fold, classify the pixels of the other best.

    None if a fold has pixels of one class only, or if no filter could be learned.
    """
    chosen = np.arange(0, len(pixels.codes), max(1, len(pixels.codes) // MAX_COMPARED))
    pixels, is_first = pixels.take(chosen), folds[chosen] == 0
    training = np.flatnonzero(is_first)
    test = np.flatnonzero(~is_first & np.isin(pixels.codes, pixels.codes[training]))
    if len(np.unique(pixels.codes[training])) < 2 or len(np.unique(pixels.codes[test])) < 2:
        return None
    losses = {}
    for size in track(sizes, "selecting the patch size"):
        patches = cut_patches(images, pixels, size)
        filters = make_filters(size, len(training)).fit(patches[training], pixels.codes[training])
        responses = filters.transform(patches)
        if responses.shape[1]:
            estimator = fit_estimator(make_estimator, responses[training], pixels.codes[training])
            probabilities = estimator.predict_proba(responses[test])
            losses[size] = log_loss(pixels.codes[test], probabilities, labels=estimator.classes_)
    return min(losses, key=lambda size: losses[size]) if losses else None
