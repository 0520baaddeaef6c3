"""Which labelled pixels belong together: neighbouring pixels are similar, so a whole stroke is one observation."""

import numpy as np
from scipy import ndimage

from invariance.segmentation.sampling import Pixels

# With at least this many images, an image is one observation.
MIN_IMAGES = 4
# A connected region of labelled pixels larger than this in height or width, in pixels, is cut into squares of half that
# side: a section that is labelled everywhere is more than one observation.
MAX_STROKE = 128
EIGHT_NEIGHBOURS = np.ones((3, 3), bool)


def group_pixels(masks: list[np.ndarray], classes: np.ndarray, pixels: Pixels) -> np.ndarray:
    """Number the observation of every pixel: (n,) from 0.

    An observation is a whole image or, if there are few images, a connected region of labelled pixels, which is cut
    into squares if it is large.

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
    numbers, _ = ndimage.label(is_labelled, EIGHT_NEIGHBOURS)
    rows, cols = pixels.rows[places], pixels.cols[places]
    sides = [max(part.stop - part.start for part in box) for box in ndimage.find_objects(numbers)]
    own = numbers[rows, cols]
    is_cut = np.array(sides)[own - 1] > MAX_STROKE
    square = MAX_STROKE // 2
    return np.column_stack([own, np.where(is_cut, rows // square, 0), np.where(is_cut, cols // square, 0)])
