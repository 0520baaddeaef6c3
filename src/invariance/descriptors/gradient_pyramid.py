"""Pyramids of histograms of oriented gradients (PHOG): which way the edges run, in ever smaller parts of an image."""

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import TransformerMixin

from invariance._core.checks import check_count, check_number
from invariance._core.parallel import map_jobs
from invariance.descriptors.protocol import GridDescriptor
from invariance.images import check_image, check_range, read_image, to_grey
from invariance.transformations import Brightness, Contrast

RANGES = (180, 360)
# Of the thresholds of Canny's edge detector, the lower one is this share of the upper one, as in Matlab.
HYSTERESIS = 0.4


class GradientPyramid(TransformerMixin, GridDescriptor):
    """Pyramids of histograms of the orientations at the edges of an image (PHOG), [Bosch07], [Varma07] sec. 4.3.

    It describes an image as a whole: `extract` gives one vector, and `transform` those of many images.

    Parameters
    ----------
    orientation_range : {180, 360}, default=180
        360 distinguishes dark-to-light from light-to-dark edges (the paper's Shape360), 180 does not (Shape180).
    n_bins : int, default=20
        Number of orientations.
    levels : int, default=4
        Number of levels; level l has 2^l x 2^l cells, and the finest counts most, as in `BagOfFeatures`.
    edge_share : float, default=0.3
        Share of pixels whose gradient is strong enough to begin an edge.
    n_jobs : int or None, default=None
        Number of threads of `transform`.

    Notes
    -----
    Edges are Canny's. Each edge pixel gives the strength of its gradient (Sobel) to the two nearest bins, shared by how
    near they are. Each level sums to its weight and all to 1, so a chi² or intersection distance between two vectors is
    the weighted sum of the levels' distances. An image without edges is spread evenly over all bins.
    """

    def __init__(
        self,
        orientation_range: int = 180,
        n_bins: int = 20,
        levels: int = 4,
        edge_share: float = 0.3,
        n_jobs: int | None = None,
    ):
        self.orientation_range = orientation_range
        self.n_bins = n_bins
        self.levels = levels
        self.edge_share = edge_share
        self.n_jobs = n_jobs

    @property
    def invariances(self):
        """The kinds of transformations that leave the vector unchanged."""
        return (Brightness, Contrast)

    def fit(self, images: Any = None, y: Any = None) -> "GradientPyramid":
        """Do nothing: there is nothing to learn."""
        return self

    def transform(self, images: Sequence[Any]) -> np.ndarray:
        """Describe images.

        Parameters
        ----------
        images : sequence of ndarray or path
            Images of any sizes.

        Returns
        -------
        ndarray of shape (n_images, n_bins * (1 + 4 + 16 + ...)), float32
        """
        return np.concatenate(map_jobs(self._vector, images, self.n_jobs, "describing images"))

    def _vector(self, image: Any) -> np.ndarray:
        """The vector (1, n_values) of an image or of its path."""
        return self._extract(read_image(image) if isinstance(image, str | os.PathLike) else image)[0]

    def _extract(self, image):
        if self.orientation_range not in RANGES:
            raise ValueError(f"orientation_range must be 180 or 360 degrees; got {self.orientation_range!r}.")
        n_bins, levels = check_count("n_bins", self.n_bins, 2), check_count("levels", self.levels)
        share = check_number("edge_share", self.edge_share, 0, 1)
        grey = check_range(to_grey(check_image(image)))
        votes = vote_orientations(grey, self.orientation_range, n_bins, share)
        sums = [sum_cells(votes, 2**level, n_bins) for level in range(levels)]
        weights = 2.0 ** (np.maximum(np.arange(levels), 1) - levels)
        parts = [weight * _shares(of_level) for weight, of_level in zip(weights, sums, strict=True)]
        return np.concatenate(parts).astype(np.float32)[None], (np.array([grey.shape]) - 1) / 2

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.two_d_array, tags.input_tags.three_d_array = False, True  # images, never flat rows
        return tags


class Votes(NamedTuple):
    """Votes for orientations: rows and columns of their pixels in [0, 1), bins, and strengths, (n,) each."""

    rows: np.ndarray
    columns: np.ndarray
    bins: np.ndarray
    strengths: np.ndarray


def vote_orientations(grey: np.ndarray, degrees: int, n_bins: int, edge_share: float) -> Votes:
    """Two votes of every edge pixel of a grey image (h, w), for the bins on either side of its orientation."""
    import cv2

    # Canny takes 16-bit numbers; a step from 0 to 1 becomes 4 x 1020.
    across, down = (cv2.Sobel(grey, cv2.CV_32F, *order, scale=1020) for order in ((1, 0), (0, 1)))
    strength = np.hypot(across, down)
    # NumPy finds the quantile of sorted values three times as fast, sorting included.
    upper = max(float(np.quantile(np.sort(strength, axis=None), 1 - edge_share)), 1.0)
    whole_across, whole_down = (np.rint(component).astype(np.int16) for component in (across, down))
    is_edge = np.asarray(cv2.Canny(whole_across, whole_down, HYSTERESIS * upper, upper, L2gradient=True)) > 0
    rows, columns = ((places + 0.5) / length for places, length in zip(np.nonzero(is_edge), grey.shape, strict=True))
    angles = np.degrees(np.arctan2(down[is_edge], across[is_edge])) % degrees
    # Bin b is centred on b + 1/2 bin widths.
    position = angles * (n_bins / degrees) - 0.5
    lower = np.floor(position)
    nearness, bins = position - lower, lower.astype(int)
    strengths = np.concatenate([1 - nearness, nearness]) * np.tile(strength[is_edge], 2)
    return Votes(np.tile(rows, 2), np.tile(columns, 2), np.concatenate([bins, bins + 1]) % n_bins, strengths)


def sum_cells(votes: Votes, n_sides: int, n_bins: int) -> np.ndarray:
    """Sums of votes over n_sides x n_sides cells, row by row: (n_sides² n_bins,)."""
    cells = (votes.rows * n_sides).astype(int) * n_sides + (votes.columns * n_sides).astype(int)
    return np.bincount(cells * n_bins + votes.bins, votes.strengths, minlength=n_sides**2 * n_bins)


def _shares(sums: np.ndarray) -> np.ndarray:
    total = sums.sum()
    return sums / total if total > 0 else np.full(len(sums), 1 / len(sums))
