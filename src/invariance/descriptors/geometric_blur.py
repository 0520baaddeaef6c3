"""Geometric blur: the edges around a point, seen the less sharply the farther they are from it."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn.preprocessing import normalize

from invariance._core.checks import check_count, check_number
from invariance._core.parallel import iterate_jobs
from invariance.descriptors.protocol import GridDescriptor
from invariance.images import check_image, check_range, to_grey
from invariance.transformations import Brightness, Contrast, Shifts

# Standard deviation in pixels of the blur before edges are measured.
EDGE_WIDTH = 1.5
# Bytes of a block of squared distances between features, to stay in the cache.
BLOCK_BYTES = 2**20


class GeometricBlur(GridDescriptor):
    """Features at edge points of an image, [Berg01], [Varma07] sec. 4.3: GB, and with `distortion` GBDist.

    Parameters
    ----------
    n_points : int, default=100
        Maximum number of features per image; edge points are drawn by their strength.
    radii : sequence of float, default=(0, 4, 8, 16, 28, 44)
        Distances from a feature's point, in pixels, of the rings on which edges are read.
    n_orientations : int, default=4
        Channels of edges; each responds to edges of one direction, of either sign.
    blur, min_blur : float, default=0.5 and 1.0
        The edges at distance r are blurred with width blur * r + min_blur.
    distortion : float, default=0.0
        Weight of the place of a feature: the vector is continued by its row and column, relative to the image's
        middle, in units of the image's diagonal, times this.
    random_state : int, default=0
        Seed of the points; an image has the same points every time.

    Notes
    -----
    A ring has 12 readings, small ones fewer. Features have length 1 before the place is appended. Every image has at
    least one feature. Smooth deformations change features little, the less the nearer they are to the point.

    Differs from [Varma07], where a distortion of first order is added to the distance of features: here both are
    squared and summed, so that they are one Euclidean distance, and matching is one matrix product.
    """

    def __init__(
        self,
        n_points: int = 100,
        radii: Sequence[float] = (0, 4, 8, 16, 28, 44),
        n_orientations: int = 4,
        blur: float = 0.5,
        min_blur: float = 1.0,
        distortion: float = 0.0,
        random_state: int = 0,
    ):
        self.n_points = n_points
        self.radii = radii
        self.n_orientations = n_orientations
        self.blur = blur
        self.min_blur = min_blur
        self.distortion = distortion
        self.random_state = random_state

    @property
    def invariances(self):
        """The kinds of transformations that leave the vectors unchanged if their places follow."""
        return (Brightness, Contrast) if self.distortion else (Shifts, Brightness, Contrast)

    def _extract(self, image):
        import cv2

        image = check_image(image)
        edges = orient_edges(check_range(to_grey(image)), check_count("n_orientations", self.n_orientations))
        points = draw_points(edges.sum(axis=2), check_count("n_points", self.n_points), self.random_state)
        blur, min_blur = check_number("blur", self.blur, 0), check_number("min_blur", self.min_blur, 0)
        readings = []
        for radius in self.radii:
            width = blur * check_number("radii", radius, 0) + min_blur
            blurred = cv2.GaussianBlur(edges, (0, 0), width, borderType=cv2.BORDER_CONSTANT) if width else edges
            readings.append(_read(blurred.reshape(edges.shape), points, ring_offsets(radius)))
        features = normalize(np.concatenate(readings, axis=1), copy=False)
        distortion = check_number("distortion", self.distortion, 0)
        if not distortion:
            return features, points.astype(float)
        relative = (points - (np.array(edges.shape[:2]) - 1) / 2) / np.hypot(*edges.shape[:2])
        return np.hstack([features, (distortion * relative).astype(np.float32)]), points.astype(float)


def orient_edges(grey: np.ndarray, n_orientations: int) -> np.ndarray:
    """Strength of edges of every direction: float32 (h, w, n_orientations), by gradients of the slightly blurred image.

    A gradient counts in the channels of directions near its own, by a power of the cosine of the angle between them
    that falls to one half midway between two channels. Of one channel only, it counts all.
    """
    import cv2

    smooth = cv2.GaussianBlur(grey, (0, 0), EDGE_WIDTH)
    across, down = (cv2.Sobel(smooth, cv2.CV_32F, *order, scale=1 / 8) for order in ((1, 0), (0, 1)))
    strength, angle = np.hypot(across, down), np.arctan2(down, across)
    directions = (np.pi / n_orientations) * np.arange(n_orientations, dtype=np.float32)
    if n_orientations == 1:
        return strength[..., None]
    sharpness = float(np.log(0.5) / np.log(np.cos(np.pi / 2 / n_orientations)))
    return strength[..., None] * np.abs(np.cos(angle[..., None] - directions)) ** sharpness


def draw_points(strength: np.ndarray, n_points: int, seed: int) -> np.ndarray:
    """Rows and columns (n, 2) of at most n_points pixels that are ridges of edge strength (h, w), drawn by strength.

    The draw is without replacement; an image with fewer ridge pixels gives all of them, a flat one its middle.
    """
    import cv2

    is_ridge = (strength >= cv2.dilate(strength, np.ones((1, 3)))) | (strength >= cv2.dilate(strength, np.ones((3, 1))))
    candidates = np.argwhere(is_ridge & (strength > 1e-4))
    if len(candidates) == 0:
        return np.array(strength.shape)[None] // 2
    if len(candidates) <= n_points:
        return candidates
    # The largest of log(u) / weight are a draw without replacement by weight.
    keys = np.log(np.random.default_rng(seed).random(len(candidates))) / strength[tuple(candidates.T)]
    return candidates[np.sort(np.argpartition(-keys, n_points)[:n_points])]


def ring_offsets(radius: float) -> np.ndarray:
    """Rows and columns (n, 2), as whole numbers, of the readings around a point on a ring."""
    n_readings = 1 if radius == 0 else int(min(12, 2 * radius + 4))
    angles = 2 * np.pi * np.arange(n_readings) / n_readings
    return np.rint(radius * np.column_stack([np.sin(angles), np.cos(angles)])).astype(int)


def _read(planes: np.ndarray, points: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """The planes (h, w, c) at all offsets from all points, 0 outside: float32 (n, offsets * c)."""
    margin = int(np.abs(offsets).max())
    padded = np.pad(planes, ((margin, margin), (margin, margin), (0, 0)))
    rows, columns = np.moveaxis(points[:, None] + offsets + margin, 2, 0)
    return padded[rows, columns].reshape(len(points), -1)


def match_distances(
    images: Sequence[np.ndarray], others: Sequence[np.ndarray] | None = None, n_jobs: int | None = None
) -> np.ndarray:
    """Distances of images by matching their features, [Varma07] sec. 4.3.

    The distance is D(I -> J) + D(J -> I), with D(I -> J) the mean over the features of I of the Euclidean distance to
    the nearest feature of J.

    Parameters
    ----------
    images : sequence of ndarray of shape (n_i, n_values)
        The features of every image, at least one.
    others : sequence of ndarray or None, default=None
        The features of the images to compare with; None compares the images with each other, each pair once.
    n_jobs : int or None, default=None
        Number of threads.

    Returns
    -------
    ndarray of shape (n_images, n_others), float64
    """
    columns = images if others is None else others
    gallery = stack_features(columns)
    firsts = range(len(images)) if others is None else [0] * len(images)
    tasks = list(zip(images, firsts, strict=True))
    distances = np.zeros((len(images), len(columns)))
    rows = iterate_jobs(partial(_match, gallery), tasks, n_jobs, "matching images")
    for distance, first, row in zip(distances, firsts, rows, strict=True):
        distance[first:] = row
    if others is None:
        np.fill_diagonal(distances, 0)  # else what rounding left
        distances += distances.T
    return distances


class Gallery(NamedTuple):
    """The features of many images: stacked (N, D), their squared lengths (N,), and where each begins, and the end."""

    features: np.ndarray
    squares: np.ndarray
    bounds: np.ndarray


def stack_features(images: Sequence[np.ndarray]) -> Gallery:
    """The features (n_i, D) of images, one after the other."""
    counts = [len(features) for features in images]
    if min(counts, default=0) == 0:
        raise ValueError(f"images must have at least one feature each; got {counts[:5]}... features.")
    features = np.concatenate(images)
    return Gallery(features, np.einsum("nd,nd->n", features, features), np.cumsum([0, *counts]))


def _match(gallery: Gallery, task: tuple[np.ndarray, int]) -> np.ndarray:
    """Distances of one image's features (n, D) from those of the images of the gallery from `first` on."""
    features, first = task
    bounds, own_squares = gallery.bounds, np.einsum("nd,nd->n", features, features)[:, None]
    n_block = max(1, BLOCK_BYTES * (len(bounds) - 1) // (4 * len(features) * int(bounds[-1])))
    found = []
    for start in range(first, len(bounds) - 1, n_block):
        begins = bounds[start : start + n_block + 1]
        part, cuts = slice(begins[0], begins[-1]), begins[:-1] - begins[0]
        squares = features @ gallery.features[part].T
        squares *= -2
        squares += gallery.squares[part]
        squares += own_squares
        forth = np.sqrt(np.minimum.reduceat(squares, cuts, axis=1).clip(0)).mean(axis=0)
        back = np.add.reduceat(np.sqrt(squares.min(axis=0).clip(0)), cuts) / np.diff(begins)
        found.append(forth + back)
    return np.concatenate(found)
