"""Oriented gradients on a grid of cells: the shape of a small, roughly centred image as one vector of length 1."""

from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.base import TransformerMixin

from invariance._core.checks import check_count
from invariance.descriptors import _jit
from invariance.descriptors.protocol import GridDescriptor
from invariance.images import check_image, check_range, to_grey
from invariance.transformations import Brightness, Contrast

# Width of the Gaussian by which pixels count for a cell, in cells.
CELL_WIDTH = 0.5
NEGLIGIBLE = 1e-4  # weights of pixels that are not added up


class GradientGrid(TransformerMixin, GridDescriptor):
    """Orientations of the gradient around the cells of a grid, each cell relative to its surroundings.

    It describes an image as a whole: `extract` gives one vector, and `transform` those of many images of one size.

    Parameters
    ----------
    n_cells : int, default=7
        Number of cells per side.
    n_bins : int, default=8
        Number of orientations, of the full circle.

    Notes
    -----
    A pixel gives the strength of its gradient to the two nearest orientations of all cells, weighed by a Gaussian of
    half a cell. A cell is divided by the strength in and around it, its values are bounded and their square roots
    taken, so that the vector describes where edges run rather than how strong they are. It has length 1; that of an
    image without edges is 0.
    """

    def __init__(self, n_cells: int = 7, n_bins: int = 8):
        self.n_cells = n_cells
        self.n_bins = n_bins

    @property
    def invariances(self):
        """The kinds of transformations that leave the vector unchanged."""
        return (Brightness, Contrast)

    def fit(self, images: Any = None, y: Any = None) -> "GradientGrid":
        """Do nothing: there is nothing to learn."""
        return self

    def transform(self, images: Any) -> np.ndarray:
        """Describe images of one size.

        Parameters
        ----------
        images : array-like of shape (n, h, w) or (n, h, w, c)

        Returns
        -------
        ndarray of shape (n, n_cells * n_cells * n_bins), float32
        """
        return self.describe(np.stack([check_range(to_grey(check_image(image))) for image in images]))

    def describe(self, grey: np.ndarray) -> np.ndarray:
        """Describe grey images (n, h, w) float32, which are not checked: vectors (n, n_cells² n_bins) float32."""
        n_cells, n_bins = check_count("n_cells", self.n_cells), check_count("n_bins", self.n_bins, 2)
        grey = np.ascontiguousarray(grey, np.float32)
        vectors = np.empty((len(grey), n_cells * n_cells * n_bins), np.float32)
        (rows, reaches, _), (columns, _, across_reaches) = (_weigh_cells(length, n_cells) for length in grey.shape[1:])
        _jit.gather_gradients(grey, rows, columns, reaches, across_reaches, n_bins, vectors)
        return vectors

    def _extract(self, image):
        grey = check_range(to_grey(check_image(image)))
        return self.describe(grey[None]), (np.array([grey.shape]) - 1) / 2

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.two_d_array, tags.input_tags.three_d_array = False, True  # images, never flat rows
        return tags


@lru_cache(maxsize=64)  # images of few sizes are described, often one at a time
def _weigh_cells(length: int, n_cells: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How much each of `length` pixels counts for each cell, (n_cells, length) float32, rows summing to 1.

    And the reaches (length, 2) of cells for which a pixel counts, and (n_cells, 2) of pixels that count for a cell.
    """
    size = length / n_cells
    centres = (np.arange(n_cells) + 0.5) * size - 0.5
    away = (np.arange(length) - centres[:, None]) / (CELL_WIDTH * max(size, 1.0))
    weights = np.exp(-0.5 * away**2)
    weights = (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)
    return weights, _reaches(weights.T), _reaches(weights)


def _reaches(weights: np.ndarray) -> np.ndarray:
    """First and one after the last column of every row of weights (r, c), of one hump each, that are not negligible."""
    counts = weights.astype(np.float64) > NEGLIGIBLE
    stops = weights.shape[1] - counts[:, ::-1].argmax(axis=1)
    return np.where(counts.any(axis=1), np.stack([counts.argmax(axis=1), stops]), 0).T.copy()
