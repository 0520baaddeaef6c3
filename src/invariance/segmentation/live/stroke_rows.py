"""The rows that an instant model learns from: features of some pixels of every stroke, computed once and kept.

A long stroke is not worth more than a short one: at most some hundred of its pixels are taken, in an order drawn from
the seed and its place in the history. If a stroke loses pixels to a later one, the next in that order take their place.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from invariance._core.parallel import map_jobs
from invariance.segmentation.description import TILE_SIDE
from invariance.segmentation.live.strokes import Painted
from invariance.segmentation.live.views import grid_tile
from invariance.segmentation.tiles import Tile

# Pixels per stroke, a power of two; halved as often as needed so that all strokes together stay within the limit.
MAX_ROWS_PER_STROKE = 256
# Pixels of a stroke are taken from so many tiles at most, so that a line across a slide does not describe all of it.
MAX_TILES_PER_STROKE = 8

# Computes the features (F, h, w) of a tile, from the index of an image, the step of its resolution and the tile.
Describe = Callable[[int, int, Tile], np.ndarray]


class Rows(NamedTuple):
    """Samples for a classifier.

    Attributes
    ----------
    features : ndarray of shape (n, F), float32
        Features of pixels.
    labels : ndarray of shape (n,)
        Their labels.
    strokes, images : ndarray of shape (n,)
        The place of their stroke in the history, and the index of their image.
    places : ndarray of shape (n, 2)
        Row and column of their pixels, at full resolution.
    """

    features: np.ndarray
    labels: np.ndarray
    strokes: np.ndarray
    images: np.ndarray
    places: np.ndarray


class _Kept(NamedTuple):
    """What is kept of a stroke: the order of its pixels, and the features (m, F) of the first m of them."""

    painted: Painted
    order: np.ndarray
    features: np.ndarray

    def places(self, n_rows: int) -> np.ndarray:
        """Return row and column of the first pixels."""
        chosen, stroke = self.order[:n_rows], self.painted.stroke
        return np.stack([stroke.rows[chosen], stroke.cols[chosen]], axis=1)


class StrokeRows:
    """Keeps the features of strokes at one resolution.

    Parameters
    ----------
    describe : callable
        Computes the features of a tile.
    shape_of : callable
        Returns the shape of an image at this resolution, from its index.
    step : int
        Step of the resolution.
    seed : int
        Seed of the order in which pixels are taken.
    max_pixels : int
        Maximum number of rows.
    """

    def __init__(
        self, describe: Describe, shape_of: Callable[[int], tuple[int, ...]], step: int, seed: int, max_pixels: int
    ):
        self._describe, self._shape_of, self._step = describe, shape_of, step
        self._seed, self._max_pixels = seed, max_pixels
        self._kept: dict[int, _Kept] = {}

    @property
    def nbytes(self) -> int:
        """Bytes of the kept features."""
        return sum(kept.features.nbytes for kept in list(self._kept.values()))

    def collect(self, painted: list[Painted], n_jobs: int | None = None) -> Rows:
        """Return the rows of strokes; what is kept of other strokes is forgotten."""
        kept = [self._find(part) for part in painted]
        n_rows = _rows_per_stroke([len(part.order) for part in kept], self._max_pixels)
        kept = self._complete(kept, n_rows, n_jobs)
        self._kept = {part.painted.number: part for part in kept}
        parts = [part.features[:n_rows] for part in kept]
        counts = [len(part) for part in parts]
        return Rows(
            np.concatenate(parts),
            np.repeat([part.stroke.label for part in painted], counts),
            np.repeat([part.position for part in painted], counts),
            np.repeat([part.stroke.image for part in painted], counts),
            np.concatenate([part.places(n_rows) for part in kept]),
        )

    def _find(self, painted: Painted) -> _Kept:
        """Find what is kept of a stroke, or of its pixels before it lost or regained some."""
        kept = self._kept.get(painted.number)
        if kept is not None and kept.painted.owned is painted.owned:
            return kept
        order = choose_pixels(painted, self._seed, MAX_ROWS_PER_STROKE, self._step)
        n_same = 0
        if kept is not None:
            n_common = min(len(order), len(kept.order), len(kept.features))
            is_other = np.flatnonzero(order[:n_common] != kept.order[:n_common])
            n_same = int(is_other[0]) if len(is_other) else n_common
        return _Kept(painted, order, np.empty((0, 0), np.float32) if kept is None else kept.features[:n_same])

    def _complete(self, kept: list[_Kept], n_rows: int, n_jobs: int | None) -> list[_Kept]:
        """Describe the pixels that are missing among the first `n_rows` of every stroke, tile by tile."""
        wanted: dict[tuple[int, Tile], list[tuple[int, int, int, int]]] = {}
        for number, part in enumerate(kept):
            stroke = part.painted.stroke
            shape = self._shape_of(stroke.image)
            for place in range(len(part.features), min(n_rows, len(part.order))):
                pixel = part.order[place]
                row, col = int(stroke.rows[pixel]) // self._step, int(stroke.cols[pixel]) // self._step
                wanted.setdefault((stroke.image, grid_tile(row, col, shape)), []).append((number, place, row, col))

        def describe(task) -> np.ndarray:
            (image, tile), pixels = task
            rows, cols = np.array(pixels)[:, 2:].T
            return self._describe(image, self._step, tile)[:, rows - tile.top, cols - tile.left].T

        found: dict[int, list[tuple[int, np.ndarray]]] = {}
        for pixels, features in zip(wanted.values(), map_jobs(describe, list(wanted.items()), n_jobs), strict=True):
            for (number, place, _, _), row in zip(pixels, features, strict=True):
                found.setdefault(number, []).append((place, row))
        return [_join(part, found.get(number, []), n_rows) for number, part in enumerate(kept)]


def choose_pixels(painted: Painted, seed: int, n_pixels: int, step: int = 1) -> np.ndarray:
    """Choose pixels that a stroke owns, in random order; the same for the same seed and place in the history.

    Parameters
    ----------
    painted : Painted
        The stroke.
    seed : int
        Seed of the order.
    n_pixels : int
        Maximum number.
    step : int, default=1
        Step of the resolution at which they are described.

    Returns
    -------
    order : ndarray of shape (n,), int32
        Indices of the pixels of the stroke, of few tiles.
    """
    stroke = painted.stroke
    order = np.random.default_rng([seed, painted.position]).permutation(len(stroke.rows))
    order = order[painted.owned[order]]
    down, across = stroke.rows[order] // (step * TILE_SIDE), stroke.cols[order] // (step * TILE_SIDE)
    _, first, tile = np.unique(np.stack([down, across]), axis=1, return_index=True, return_inverse=True)
    order = order[np.argsort(np.argsort(first))[tile.ravel()] < MAX_TILES_PER_STROKE]
    return order[:n_pixels].astype(np.int32)


def _rows_per_stroke(sizes: list[int], max_rows: int) -> int:
    """Compute how many rows a stroke may have so that all have at most `max_rows` together: a power of two."""
    n_rows = MAX_ROWS_PER_STROKE
    while n_rows > 1 and sum(min(size, n_rows) for size in sizes) > max_rows:
        n_rows //= 2
    return n_rows


def _join(kept: _Kept, found: list[tuple[int, np.ndarray]], n_rows: int) -> _Kept:
    """Append rows in the order of their places; forget those beyond twice the number that is used."""
    features = kept.features[: 2 * n_rows]
    if found:
        rows = [row for _, row in sorted(found, key=lambda pair: pair[0])]
        features = np.concatenate([features, rows]) if len(features) else np.array(rows, np.float32)
    elif len(features) < len(kept.features):
        features = features.copy()  # a slice would hold all of them
    return kept._replace(features=features)
