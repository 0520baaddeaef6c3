"""A fixed bank of rotation-invariant filters, with which every pixel is described.

At each width σ: the blurred image, the length of its gradient, the two eigenvalues of its Hessian and the standard
deviation of the values around the pixel; at the middle widths also the eigenvalues of the structure tensor.
"""

import numpy as np
from scipy import ndimage

# Widths of the Gaussians in pixels (our choice: powers of two).
WIDTHS = (1.0, 2.0, 4.0, 8.0, 16.0)
TENSOR_WIDTHS = (2.0, 4.0, 8.0)
# Gaussians are cut off at this many widths.
TRUNCATE = 3.0
N_RESPONSES = 5 * len(WIDTHS) + 2 * len(TENSOR_WIDTHS)
# How far from a pixel the bank reaches: a Gaussian and two differences of neighbours.
REACH = int(TRUNCATE * WIDTHS[-1] + 0.5) + 2


def filter_bank(plane: np.ndarray) -> np.ndarray:
    """Apply the bank to one channel.

    Parameters
    ----------
    plane : ndarray of shape (h, w)
        One channel of an image.

    Returns
    -------
    responses : ndarray of shape (31, h, w), float32
        Values closer than `REACH` to the border depend on what lies beyond it, here the mirrored channel.
    """
    plane = np.asarray(plane, np.float32)
    responses = np.empty((N_RESPONSES, *plane.shape), np.float32)
    slopes = np.gradient(_blur(plane, WIDTHS[0]))
    products = (slopes[0] * slopes[0], slopes[1] * slopes[1], slopes[0] * slopes[1])
    squares = plane * plane
    for index, width in enumerate(WIDTHS):
        blurred, gradient, large, small, deviation = responses[5 * index : 5 * index + 5]
        blurred[...] = _blur(plane, width)
        along_rows, along_cols = np.gradient(blurred)
        np.multiply(width, np.hypot(along_rows, along_cols), out=gradient)
        rows_rows, rows_cols = np.gradient(along_rows)
        _eigenvalues(rows_rows, np.gradient(along_cols, axis=1), rows_cols, large, small)
        large *= width**2
        small *= width**2
        np.sqrt(np.maximum(_blur(squares, width) - blurred * blurred, 0), out=deviation)
    for index, width in enumerate(TENSOR_WIDTHS):
        large, small = responses[5 * len(WIDTHS) + 2 * index :][:2]
        first, second, mixed = (_blur(product, width) for product in products)
        _eigenvalues(first, second, mixed, large, small)
    return responses


def _blur(plane: np.ndarray, width: float) -> np.ndarray:
    return ndimage.gaussian_filter(plane, width, mode="mirror", truncate=TRUNCATE)


def _eigenvalues(first, second, mixed, large, small) -> None:
    """Fill `large` and `small` with the eigenvalues of the symmetric matrix [[first, mixed], [mixed, second]]."""
    middle = 0.5 * (first + second)
    radius = np.hypot(0.5 * (first - second), mixed)
    np.add(middle, radius, out=large)
    np.subtract(middle, radius, out=small)
