"""Pyramids of histograms of oriented gradients (PHOG): which way the edges run, in ever smaller parts of an image."""

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from invariance._core.checks import check_count, check_number
from invariance._core.parallel import map_jobs
from invariance.descriptors.hsl import check_image, check_range
from invariance.images import read_image, to_grey

RANGES = (180, 360)
# Of the thresholds of Canny's edge detector, the lower one is this share of the upper one, as in Matlab.
HYSTERESIS = 0.4


class GradientPyramid(TransformerMixin, BaseEstimator):
    """Images as pyramids of histograms of the orientations at their edges, [Bosch07], [Varma07] sec. 4.3.

    Parameters
    ----------
    range : 360 tells dark-to-light from light-to-dark (the paper's Shape360), 180 does not (Shape180)
    n_bins : how many orientations are told apart
    levels : level l has 2^l x 2^l cells; the finest counts most, as in `WordHistograms`
    edge_share : the share of pixels whose gradient is strong enough to begin an edge
    n_jobs : threads

    Edges are Canny's. Each edge pixel gives the strength of its gradient (Sobel) to the two nearest bins, shared by how
    near they are. Each level sums to its weight and all to 1, so a chi² or intersection distance between two vectors is
    the weighted sum of the levels' distances. An image without edges is spread evenly over all bins.
    """

    def __init__(
        self,
        range: int = 180,
        n_bins: int = 20,
        levels: int = 4,
        edge_share: float = 0.3,
        n_jobs: int | None = None,
    ):
        self.range = range
        self.n_bins = n_bins
        self.levels = levels
        self.edge_share = edge_share
        self.n_jobs = n_jobs

    @property
    def invariances(self) -> tuple[str, ...]:
        """What leaves the vector unchanged, up to rounding."""
        return ("brightness", "contrast", "negative") if self.range == 180 else ("brightness", "contrast")

    def fit(self, images=None, y=None) -> "GradientPyramid":
        """There is nothing to learn."""
        return self

    def transform(self, images: Sequence[Any]) -> np.ndarray:
        """Images (arrays or paths, any sizes) as float32 (n, n_bins * (1 + 4 + 16 + ...))."""
        return np.stack(map_jobs(self.describe_image, images, self.n_jobs, "describing images"))

    def describe_image(self, image: Any) -> np.ndarray:
        """One image (h, w) or (h, w, 3 or 4), or its path, as a float32 vector, level by level, row by row."""
        if self.range not in RANGES:
            raise ValueError(f"range must be 180 or 360 degrees; got {self.range!r}.")
        n_bins, levels = check_count("n_bins", self.n_bins, 2), check_count("levels", self.levels)
        share = check_number("edge_share", self.edge_share, 0, 1)
        image = check_image(read_image(image) if isinstance(image, str | os.PathLike) else image)
        votes = vote_orientations(check_range(to_grey(image)), self.range, n_bins, share)
        sums = [sum_cells(votes, 2**level, n_bins) for level in range(levels)]
        weights = 2.0 ** (np.maximum(np.arange(levels), 1) - levels)
        parts = [weight * _shares(of_level) for weight, of_level in zip(weights, sums, strict=True)]
        return np.concatenate(parts).astype(np.float32)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
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
    upper = max(float(np.quantile(strength, 1 - edge_share)), 1.0)
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
