"""Which labelled pixels are held out together, and in which runs."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold

from invariance.segmentation.observations import number_strokes
from invariance.segmentation.sampling import Pixels

# The parts that are held out as a whole are small enough that every class occurs in this many, if there is a way.
ENOUGH_PARTS = 4
# Sides in pixels of squares, where images and strokes are too few.
SQUARES = (64, 32, 16)
MAX_TRIES = 50
NO_LABEL = -1


class Parts(NamedTuple):
    """What is held out as a whole.

    Attributes
    ----------
    unit : str
        "images", "strokes", or "squares of 64 x 64 pixels".
    numbers : ndarray of shape (n,)
        The part of every pixel.
    """

    unit: str
    numbers: np.ndarray


class Run(NamedTuple):
    """The pixels to learn from and those held out, as indices, and the seed of the model."""

    training: np.ndarray
    held_out: np.ndarray
    seed: int


def hold_together(masks: list[np.ndarray], pixels: Pixels, classes: np.ndarray, has_strokes: bool) -> Parts:
    """Divide drawn pixels into images or, if these are too few, strokes, or squares of images.

    Pixels beside those learned from would be predicted too well, since neighbours are similar.

    Parameters
    ----------
    masks : list of integer ndarrays of shape (h, w)
        Indices of classes; `NO_LABEL` is unlabelled.
    pixels : Pixels
    classes : ndarray of shape (n_classes,)
        Named in the error if a class is labelled in one place only.
    has_strokes : bool
        Whether labels are strokes instead of whole regions.
    """
    ways: list[tuple[str, Callable[[], np.ndarray]]] = [("images", lambda: pixels.image)]
    if has_strokes:
        ways.append(("strokes", partial(number_strokes, [mask != NO_LABEL for mask in masks], pixels)))
    ways += [(f"squares of {side} x {side} pixels", partial(_number_squares, pixels, side)) for side in SQUARES]
    divided = [Parts(unit, number()) for unit, number in ways]
    for enough in range(ENOUGH_PARTS, 1, -1):
        for parts in divided:
            if min(parts_per_class(parts.numbers, pixels.codes)) >= enough:
                return parts
    rarest = classes[int(np.argmin(parts_per_class(divided[-1].numbers, pixels.codes)))]
    raise ValueError(
        f"class {rarest!s} is labelled in one place only, so that none of it can be held out. Label it in another "
        f"image, or at least {SQUARES[-1]} pixels away."
    )


def parts_per_class(numbers: np.ndarray, codes: np.ndarray) -> list[int]:
    """Count the parts in which every class occurs."""
    return [len(np.unique(numbers[codes == code])) for code in range(codes.max() + 1)]


def draw_runs(codes: np.ndarray, numbers: np.ndarray, n_folds: int, n_runs: int, max_training: int, rng) -> list[Run]:
    """Divide parts into folds, several times if there are few, and hold out each fold once.

    Parameters
    ----------
    codes, numbers : ndarray of shape (n,)
        The class and the part of every pixel.
    n_folds, n_runs : int
    max_training : int
        Maximum number of pixels to learn from, drawn at random from those of the other folds.
    rng : numpy.random.Generator

    Returns
    -------
    runs : list of Run
        All classes are among the pixels to learn from.
    """
    runs: list[Run] = []
    n_classes = len(np.unique(codes))
    for _ in range(MAX_TRIES):
        division = StratifiedGroupKFold(n_folds, shuffle=True, random_state=int(rng.integers(2**31)))
        divided = [
            Run(_thin(training, codes, max_training, rng), held_out, int(rng.integers(2**31)))
            for training, held_out in division.split(codes, codes, numbers)
        ]
        if all(len(run.held_out) and len(np.unique(codes[run.training])) == n_classes for run in divided):
            runs += divided
        if len(runs) >= n_runs:
            return runs[:n_runs]
    raise ValueError(
        f"the labels cannot be divided into {n_folds} parts such that the others contain all classes. Label the rarest "
        f"class in more places."
    )


def _thin(places: np.ndarray, codes: np.ndarray, n_kept: int, rng) -> np.ndarray:
    """Draw at most about `n_kept` places, with the same share of each class, at least one."""
    if len(places) <= n_kept:
        return places
    parts = []
    for code in np.unique(codes[places]):
        own = places[codes[places] == code]
        parts.append(rng.choice(own, max(1, round(n_kept * len(own) / len(places))), replace=False))
    return np.sort(np.concatenate(parts))


def _number_squares(pixels: Pixels, side: int) -> np.ndarray:
    squares = np.stack([pixels.image, pixels.rows // side, pixels.cols // side], axis=1)
    return np.unique(squares, axis=0, return_inverse=True)[1].ravel()
