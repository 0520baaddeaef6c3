"""Square sub-windows of an image: drawn at random positions and scales, checked, resampled to a fixed size."""

import math

import numpy as np

from invariance._core.checks import check_count, check_number
from invariance._core.randomness import RandomState, make_rng
from invariance.images.intensities import as_float32
from invariance.images.resizing import stretch


def draw_boxes(
    shape: tuple[int, ...], n_windows: int, rng: RandomState, min_scale: float = 0.1, max_scale: float = 1.0
) -> np.ndarray:
    """Draw squares at random inside an image.

    Parameters
    ----------
    shape : tuple of int
        Shape (h, w, ...) of the image.
    n_windows : int
    rng : None, int, Generator or RandomState
    min_scale, max_scale : float, default=0.1 and 1.0
        The side is uniform among the whole numbers from `min_scale` to `max_scale` times the shorter side of the
        image, at least one pixel; the position is then uniform among those that fit.

    Returns
    -------
    boxes : ndarray of shape (n_windows, 3), int64
        Top, left and side of each square.
    """
    check_count("n_windows", n_windows, at_least=0)
    check_number("max_scale", max_scale, 0, 1)
    check_number("min_scale", min_scale, 0, max_scale)
    height, width = shape[:2]
    shorter = check_count("the image's shorter side", min(height, width))
    largest = max(1, math.floor(max_scale * shorter))
    smallest = min(max(1, math.ceil(min_scale * shorter)), largest)
    rng = make_rng(rng)
    sides = rng.integers(smallest, largest, n_windows, endpoint=True)
    tops = rng.integers(0, height - sides, endpoint=True)
    lefts = rng.integers(0, width - sides, endpoint=True)
    return np.column_stack([tops, lefts, sides])


def resample_boxes(image: np.ndarray, boxes: np.ndarray, size: int) -> np.ndarray:
    """Resample squares of an image to one size: larger ones are averaged over areas, smaller ones interpolated.

    Parameters
    ----------
    image : ndarray of shape (h, w) or (h, w, c)
    boxes : ndarray of shape (n, 3)
        Top, left and side of each square, inside the image.
    size : int

    Returns
    -------
    patches : ndarray of shape (n, size, size) or (n, size, size, c), float32
    """
    image = as_float32(image)
    check_count("size", size)
    if image.ndim not in (2, 3):
        raise ValueError(f"image must be (h, w) or (h, w, c); got shape {image.shape}.")
    boxes = check_boxes(boxes, image.shape)
    patches = np.empty((len(boxes), size, size, *image.shape[2:]), dtype=np.float32)
    for patch, (top, left, side) in zip(patches, boxes.tolist(), strict=True):
        patch[...] = stretch(image[top : top + side, left : left + side], size, size)
    return patches


def check_boxes(boxes: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Check that squares lie inside an image.

    Parameters
    ----------
    boxes : array-like of shape (n, 3)
        Top, left and side of each square.
    shape : tuple of int
        Shape (h, w, ...) of the image.

    Returns
    -------
    boxes : ndarray of shape (n, 3), int64
    """
    boxes = np.asarray(boxes)
    if boxes.ndim != 2 or boxes.shape[1] != 3 or boxes.dtype.kind not in "iu":
        raise ValueError(f"boxes must be integers (n, 3) of top, left, side; got {boxes.dtype} of shape {boxes.shape}.")
    boxes = np.ascontiguousarray(boxes, np.int64)
    corners, sides = boxes[:, :2], boxes[:, 2:]
    # Subtracted from the shape, not added to the corners: a sum may overflow, and compiled loops trust this.
    outside = ((corners < 0) | (sides < 1) | (corners > np.array(shape[:2]) - sides)).any(axis=1)
    if outside.any():
        index = int(outside.argmax())
        raise ValueError(f"boxes[{index}] = {boxes[index].tolist()} does not lie in the image of {shape[:2]}.")
    return boxes
