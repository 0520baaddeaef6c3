"""Training windows labelled by the object they lie on, [Moosmann06] sec. 4, setting 2.

Without masks all windows of an image have its label, most of them wrongly: they lie on the background. With a mask only
those that lie on the object by half or more keep the label; the others are background.

Differs from [Moosmann06], which trains on the objects alone: windows beside an object are kept as examples of the
background, so that every image gives the same number of windows however small its object is. Whole images are counted
and classified, in training as in testing.
"""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from invariance.images import read_image

# The least share of a window on the object that makes it a window of the object.
ON_OBJECT = 0.5
# The label of windows beside an object, where labels are texts and none is given.
BACKGROUND = "background"


def read_mask(mask: Any, shape: tuple[int, ...]) -> np.ndarray:
    """A mask (h, w), float32 of 0 and 1, of an array or path for an image of a shape (h, w, ...)."""
    mask = read_image(mask, alpha="keep") if isinstance(mask, str | os.PathLike) else np.asarray(mask)
    on = mask.any(axis=2) if mask.ndim == 3 else mask.astype(bool)
    if on.shape != tuple(shape[:2]):
        raise ValueError(
            f"masks must have the height and width of their images; got a mask of shape {mask.shape} for an image of "
            f"shape {tuple(shape)}."
        )
    return on.astype(np.float32)


def lie_on_object(mask: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Which windows lie on the object by half or more, or which points lie on it.

    Parameters
    ----------
    mask : ndarray of shape (h, w), float
        1 on the object and 0 beside it; values between from interpolation.
    places : ndarray of shape (n, 3) or (n, 2)
        Top, left and side of windows, or row and column of points.

    Returns
    -------
    ndarray of shape (n,), bool
    """
    if places.shape[1] == 2:
        rows, columns = np.clip(np.rint(places).astype(int), 0, np.array(mask.shape) - 1).T
        return mask[rows, columns] >= ON_OBJECT
    sums = np.zeros((mask.shape[0] + 1, mask.shape[1] + 1))
    sums[1:, 1:] = mask.cumsum(axis=0, dtype=np.float64).cumsum(axis=1)
    top, left, side = np.asarray(places).T
    bottom, right = top + side, left + side
    inside = sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left]
    return inside >= ON_OBJECT * side**2


def label_vectors(
    classes: np.ndarray, codes: np.ndarray, on_object: Sequence[np.ndarray], background: Any
) -> tuple[np.ndarray, Any]:
    """Labels of the vectors of all images, and the label of the background.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        The labels of images.
    codes : ndarray of shape (n_images,)
        The class of every image.
    on_object : sequence of ndarray of shape (n_vectors_of_image,), bool
        Which vectors have the label of their image.
    background : object or None
        Label of the other vectors; None means a label of its own: one above the largest number, or "background".
    """
    is_number = classes.dtype.kind in "biuf"
    if classes.dtype.kind == "b":
        classes = classes.astype(np.int64)
    if background is None:
        background = classes.max() + 1 if is_number else BACKGROUND
        while background in classes.tolist():
            background += "_"
    elif (np.asarray(background).dtype.kind in "biuf") != is_number:
        raise ValueError(
            f"background must be a label of the same kind as y, such as {classes[0]!r}; got {background!r}."
        )
    labels = classes[np.repeat(codes, [len(on) for on in on_object])]
    return np.where(np.concatenate(on_object), labels, background), background
