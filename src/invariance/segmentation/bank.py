"""A fixed bank of rotation-invariant filters, with which every pixel is described.

At each width σ: the blurred image, the length of its gradient, the two eigenvalues of its Hessian and the standard
deviation of the values around the pixel; at the middle widths also the eigenvalues of the structure tensor.
"""

import cv2
import numpy as np

from invariance.segmentation import _jit

# Widths of the Gaussians in pixels (our choice: powers of two).
WIDTHS = (1.0, 2.0, 4.0, 8.0, 16.0)
TENSOR_WIDTHS = (2.0, 4.0, 8.0)
# Gaussians are cut off at this many widths.
TRUNCATE = 3.0
N_RESPONSES = 5 * len(WIDTHS) + 2 * len(TENSOR_WIDTHS)
# How far from a pixel the bank reaches: a Gaussian and two differences of neighbours.
REACH = int(TRUNCATE * WIDTHS[-1] + 0.5) + 2


def filter_bank(plane: np.ndarray, responses: np.ndarray | None = None) -> np.ndarray:
    """Apply the bank to one channel of a tile with its margin.

    Parameters
    ----------
    plane : ndarray of shape (h + 2 REACH, w + 2 REACH)
        One channel of an image.
    responses : ndarray of shape (31, h, w), float32, optional
        Where to write the responses.

    Returns
    -------
    responses : ndarray of shape (31, h, w), float32
        Those of the pixels inside the margin.
    """
    plane = np.ascontiguousarray(plane, np.float32)
    height, width = plane.shape[0] - 2 * REACH, plane.shape[1] - 2 * REACH
    if responses is None:
        responses = np.empty((N_RESPONSES, height, width), np.float32)
    squares = plane * plane
    for index, sigma in enumerate(WIDTHS):
        blurred = _blur(plane, sigma, 2)
        same, *derived = responses[5 * index : 5 * index + 5]
        same[...] = blurred[2:-2, 2:-2]
        _jit.fill_derivatives(blurred, _blur(squares, sigma, 0), np.float32(sigma), *derived)
    products = _slope_products(plane, _radius(TENSOR_WIDTHS[-1]))
    for index, sigma in enumerate(TENSOR_WIDTHS):
        first, second, mixed = (_blur(product, sigma, 0, _radius(TENSOR_WIDTHS[-1])) for product in products)
        _jit.fill_eigenvalues(first, second, mixed, *responses[5 * len(WIDTHS) + 2 * index :][:2])
    return responses


def _slope_products(plane: np.ndarray, margin: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compute the products of the slopes of the least blurred plane, with a margin around the tile."""
    blurred = _blur(plane, WIDTHS[0], margin + 1)
    down = np.float32(0.5) * (blurred[2:, 1:-1] - blurred[:-2, 1:-1])
    right = np.float32(0.5) * (blurred[1:-1, 2:] - blurred[1:-1, :-2])
    return down * down, right * right, down * right


def _blur(plane: np.ndarray, sigma: float, wanted: int, margin: int = REACH) -> np.ndarray:
    """Blur the tile with the margin that is wanted, of a plane whose margin is as large as the Gaussian needs."""
    radius = _radius(sigma)
    spare = margin - wanted - radius
    # OpenCV rounds the last columns of a plane differently; they are to lie in the margin, so all of it is kept there.
    near = plane[spare : plane.shape[0] - spare, spare:]
    weights = _gaussian(sigma, radius)
    blurred = cv2.sepFilter2D(near, cv2.CV_32F, weights, weights)[radius:-radius, radius : wanted - margin or None]
    return np.ascontiguousarray(blurred)  # for compiled loops, which are slow on anything else


def _radius(sigma: float) -> int:
    return int(TRUNCATE * sigma + 0.5)


def _gaussian(sigma: float, radius: int) -> np.ndarray:
    """Compute the weights of a Gaussian (2 radius + 1,), which add up to 1."""
    weights = np.exp(-0.5 * np.square(np.arange(-radius, radius + 1) / sigma))
    return (weights / weights.sum()).astype(np.float32)
