"""Which labelled pixels belong together: neighbouring pixels are similar, so a whole stroke is one observation."""

import cv2
import numpy as np
from scipy import ndimage

from invariance.segmentation.sampling import Pixels

# With at least this many images, an image is one observation.
MIN_IMAGES = 4
# Labelled pixels with at most twice this many others between them belong to one stroke.
NEAR = 4
# A stroke larger than this in height or width, in pixels, is cut into squares of this side: a section that is labelled
# everywhere is more than one observation.
SQUARE = 64


def group_pixels(masks: list[np.ndarray], classes: np.ndarray, pixels: Pixels) -> np.ndarray:
    """Number the observation of every pixel: (n,) from 0.

    An observation is a whole image or, if there are few images, a stroke: labelled pixels that are connected or nearly
    so. Large strokes are cut into squares.

    Parameters
    ----------
    masks : list of integer ndarrays of shape (h, w)
        The masks.
    classes : ndarray of shape (n_classes,)
        The values of labelled pixels.
    pixels : Pixels
        Labelled pixels.

    Returns
    -------
    groups : ndarray of shape (n,)
        The number of the observation of every pixel.
    """
    if len(np.unique(pixels.image)) >= MIN_IMAGES:
        return np.unique(pixels.image, return_inverse=True)[1].ravel()
    keys = [
        np.column_stack([np.full(len(places), index), _find_strokes(np.isin(masks[index], classes), pixels, places)])
        for index, places in pixels.by_image()
    ]
    return np.unique(np.concatenate(keys), axis=0, return_inverse=True)[1].ravel()


def _find_strokes(is_labelled: np.ndarray, pixels: Pixels, places: np.ndarray) -> np.ndarray:
    """Find the stroke of some pixels of one image: (m, 3) of its number, and row and column of the square if cut."""
    side = 2 * NEAR + 1
    numbers, _ = ndimage.label(cv2.dilate(is_labelled.astype(np.uint8), np.ones((side, side), np.uint8)))
    rows, cols = pixels.rows[places], pixels.cols[places]
    sides = [max(part.stop - part.start for part in box) for box in ndimage.find_objects(numbers)]
    own = numbers[rows, cols]
    is_cut = np.array(sides)[own - 1] > SQUARE + 2 * NEAR
    return np.column_stack([own, np.where(is_cut, rows // SQUARE, 0), np.where(is_cut, cols // SQUARE, 0)])
