"""The heats of a race: on few images first, then on more, at last on all, each with images held out."""

from typing import Any, NamedTuple

import numpy as np

from invariance._core.randomness import spawn_rngs
from invariance.methods.trial import Fold, draw_folds, draw_part

N_FIRST, N_FIRST_PER_CLASS = 40, 4  # images of the first rung: enough to see how long methods take, and who is hopeless
TIMES_MORE = 6  # images on the next rung
TIMES_LAST = 3  # a rung is worth its time if there are more than so many times its images
N_EARLY = 2  # heats on every rung but the last: the first also loads compiled code, so that its times say little
MIN_HELD, HELD_SHARE = 40, 4  # images held out of a heat of the first rung, or this part of its training images
N_FOLDS = 5
MAX_REPEATS, N_REPEATED = 5, 500  # repetitions of the folds of all images, until so many images were judged


class Heat(NamedTuple):
    """One fold on which all methods are tried that are left.

    Attributes
    ----------
    fold : (ndarray, ndarray)
        Rows that methods are trained on, and rows that they are judged on.
    rung : int
        Heats of one rung have about equally many training images.
    starts_rung : bool
        Whether it is the first of its rung.
    is_full : bool
        Whether it is of the last rung, which has all images.
    """

    fold: Fold
    rung: int
    starts_rung: bool
    is_full: bool


def draw_heats(labels: Any, seed: int = 0) -> list[Heat]:
    """Return the heats of a race over images with such labels (n,).

    The rungs have 40 (or 4 per class), 240, 1440, ... training images; the last has five folds of all images. Where
    there are fewer than 500 images, the folds are drawn again, at most five times. From the second rung on, an early
    heat holds out as many images as it has training images: methods that are close are distinguished before they are
    tried on many images, which takes far longer.
    """
    n_images = len(labels)
    sizes = _rung_sizes(n_images, len(np.unique(labels)))
    rngs = iter(spawn_rngs(seed, N_EARLY * len(sizes)))
    early = [
        Heat(draw_part(labels, size, _count_held(size, rung), next(rngs)), rung, number == 0, False)
        for rung, size in enumerate(sizes)
        for number in range(N_EARLY)
    ]
    n_repeats = min(max(1, N_REPEATED // n_images), MAX_REPEATS)
    folds = [fold for repeat in range(n_repeats) for fold in draw_folds(labels, N_FOLDS, seed=(seed + repeat) % 2**32)]
    return early + [Heat(fold, len(sizes), number == 0, True) for number, fold in enumerate(folds)]


def _count_held(size: int, rung: int) -> int:
    """Number of images held out of an early heat with so many training images."""
    return size if rung else max(MIN_HELD, size // HELD_SHARE)


def _rung_sizes(n_images: int, n_classes: int) -> list[int]:
    """Numbers of training images on all rungs but the last."""
    sizes, size = [], max(N_FIRST, N_FIRST_PER_CLASS * n_classes)
    while TIMES_LAST * size < n_images:
        sizes.append(size)
        size *= TIMES_MORE
    return sizes
