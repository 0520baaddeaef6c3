"""Which labelled pixels belong together: neighbouring pixels are similar, so a whole stroke is one observation."""

import cv2
import numpy as np
from scipy import ndimage

from invariance.segmentation.sampling import Pixels

# With at least this many images, whole images are held out.
MIN_IMAGES = 4
# Labelled pixels with at most twice this many others between them belong to one stroke.
NEAR = 4
# A stroke larger than this in height or width, in pixels, is cut into squares of this side: a section that is labelled
# everywhere is more than one observation.
SQUARE = 64
# Of every class of a stroke, at most this many patches serve to learn filters (our choice).
MAX_PER_STROKE = 32


def group_pixels(pixels: Pixels, strokes: np.ndarray) -> np.ndarray:
    """Number what is held out as a whole (n,): images or, if there are few, strokes, which are numbered (n,)."""
    images = np.unique(pixels.image, return_inverse=True)[1].ravel()
    return images if images.max() + 1 >= MIN_IMAGES else strokes


def number_strokes(are_labelled: list[np.ndarray], pixels: Pixels) -> np.ndarray:
    """Number the stroke of every pixel: connected labelled pixels, or nearly so; large strokes are cut into squares.

    Parameters
    ----------
    are_labelled : list of bool ndarrays of shape (h, w)
        Which pixels of every image are labelled.
    pixels : Pixels
        Labelled pixels.

    Returns
    -------
    strokes : ndarray of shape (n,)
        Numbers from 0.
    """
    keys = [
        np.column_stack([np.full(len(places), index), _find_strokes(are_labelled[index], pixels, places)])
        for index, places in pixels.by_image()
    ]
    return np.unique(np.concatenate(keys), axis=0, return_inverse=True)[1].ravel()


def thin_strokes(pixels: Pixels, strokes: np.ndarray, n_wanted: int, rng: np.random.Generator) -> Pixels:
    """Draw pixels such that large strokes do not outweigh the others: of every class of a stroke at most some number.

    Parameters
    ----------
    pixels : Pixels
        Labelled pixels.
    strokes : ndarray of shape (n,)
        The number of the stroke of every pixel.
    n_wanted : int
        The number is `MAX_PER_STROKE`, or larger if fewer than this many pixels would remain.
    rng : Generator
    """
    shuffled = rng.permutation(len(strokes))
    groups = np.unique(np.stack([strokes, pixels.codes]), axis=1, return_inverse=True)[1].ravel()[shuffled]
    by_group = np.argsort(groups, kind="stable")
    counts = np.bincount(groups)
    rank = np.arange(len(groups)) - np.repeat(np.cumsum(counts) - counts, counts)
    n_kept_by_rank = np.cumsum(np.bincount(rank))
    n_each = max(MAX_PER_STROKE, int(np.searchsorted(n_kept_by_rank, n_wanted)) + 1)
    return pixels.take(np.sort(shuffled[by_group[rank < n_each]]))


def _find_strokes(is_labelled: np.ndarray, pixels: Pixels, places: np.ndarray) -> np.ndarray:
    """Find the stroke of some pixels of one image: (m, 3) of its number, and row and column of the square if cut."""
    side = 2 * NEAR + 1
    numbers, _ = ndimage.label(cv2.dilate(is_labelled.astype(np.uint8), np.ones((side, side), np.uint8)))
    rows, cols = pixels.rows[places], pixels.cols[places]
    sides = [max(part.stop - part.start for part in box) for box in ndimage.find_objects(numbers)]
    own = numbers[rows, cols]
    is_cut = np.array(sides)[own - 1] > SQUARE + 2 * NEAR
    return np.column_stack([own, np.where(is_cut, rows // SQUARE, 0), np.where(is_cut, cols // SQUARE, 0)])
