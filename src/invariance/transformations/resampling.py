"""A resampling is a linear map: one sparse row of interpolation weights per pixel of the result."""

import numpy as np
from scipy import sparse

BORDERS = ("zero", "edge", "reflect", "wrap")
INTERPOLATIONS = ("linear", "nearest")

# Source positions this close to a pixel centre are that pixel, so that quarter turns and whole shifts are exact.
SNAP = 1e-7


def pixel_grid(image_shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return the coordinates of all pixels, measured from the centre of the image.

    Parameters
    ----------
    image_shape : tuple of int

    Returns
    -------
    y, x : ndarray of shape (h w,), float64
    """
    height, width = image_shape[:2]
    y, x = np.meshgrid(np.arange(height) - (height - 1) / 2, np.arange(width) - (width - 1) / 2, indexing="ij")
    return y.ravel(), x.ravel()


def resampling_matrix(
    y: np.ndarray, x: np.ndarray, image_shape: tuple[int, ...], border: str, interpolation: str
) -> sparse.csr_matrix:
    """Build the matrix whose row p interpolates the image at the source position (y[p], x[p]).

    Parameters
    ----------
    y, x : ndarray of shape (h w,)
        Source positions, measured from the centre of the image.
    image_shape : tuple of int
    border : {"zero", "edge", "reflect", "wrap"}
    interpolation : {"linear", "nearest"}

    Returns
    -------
    matrix : sparse matrix of shape (h w, h w)
    """
    height, width = image_shape[:2]
    rows, row_weights = _neighbours(y + (height - 1) / 2, height, border, interpolation)
    cols, col_weights = _neighbours(x + (width - 1) / 2, width, border, interpolation)
    n_pixels = height * width
    entries = []
    for row, row_weight in zip(rows, row_weights, strict=True):
        for col, col_weight in zip(cols, col_weights, strict=True):
            entries.append((row_weight * col_weight, row * width + col))
    weights = np.concatenate([weight for weight, _ in entries])
    sources = np.concatenate([source for _, source in entries])
    targets = np.tile(np.arange(n_pixels), len(entries))
    matrix = sparse.coo_matrix((weights, (targets, sources)), shape=(n_pixels, n_pixels)).tocsr()
    matrix.eliminate_zeros()
    return matrix


def _neighbours(position, size, border, interpolation):
    """Find indices and weights of the pixels from which positions along one axis are interpolated."""
    nearest = np.rint(position)
    if interpolation == "nearest":
        return _inside(np.array([nearest]), np.ones((1, len(position))), size, border)
    position = np.where(np.abs(position - nearest) < SNAP, nearest, position)
    below = np.floor(position)
    share = position - below
    return _inside(np.stack([below, below + 1]), np.stack([1 - share, share]), size, border)


def _inside(index, weight, size, border):
    """Bring indices outside 0..size-1 back inside as the border says; a zero border takes their weight away."""
    index = index.astype(np.int64)
    if border == "zero":
        weight = np.where((index >= 0) & (index < size), weight, 0.0)
    elif border == "reflect":
        # The edge pixel is the mirror and is not repeated, as in numpy.pad's "reflect".
        period = max(2 * (size - 1), 1)
        index = np.abs((index + size - 1) % period - (size - 1))
    elif border == "wrap":
        index = index % size
    return np.clip(index, 0, size - 1), weight
