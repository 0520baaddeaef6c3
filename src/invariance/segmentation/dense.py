"""Probabilities of all pixels of an image, tile by tile, in parallel and in bounded memory.

A further round sees the maps of the round before within the reach of the filter bank. So the image is passed over once,
in bands one tile high: band k goes through round r after band k + 1 has gone through round r - 1. The features of the
image itself are computed once and kept for as many bands as there are rounds.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from invariance._core.parallel import map_jobs
from invariance._core.progress import track
from invariance.segmentation.bank import REACH
from invariance.segmentation.description import BANK_ALONE, TILE_SIDE, Describes, Description, Planes, tile_side
from invariance.segmentation.estimators import Predictor, fast_predictor
from invariance.segmentation.tiles import Tile, Window, cover, tiles


class Chain(NamedTuple):
    """The classifiers of all rounds, and the pixels at which the maps of the last one will be described.

    Attributes
    ----------
    estimators : sequence of fitted classifiers
        One per round; from the second on they also see the maps of the round before.
    rows, cols : ndarray of shape (n,)
        The pixels.
    """

    estimators: Sequence[Any]
    rows: np.ndarray
    cols: np.ndarray

    def needs(self, number: int, tile: Tile) -> bool:
        """Tell whether the map of a round in a tile influences the maps of the last round around a pixel."""
        reach = REACH * (len(self.estimators) - number)
        is_near_row = (tile.top - reach <= self.rows) & (self.rows < tile.bottom + reach)
        is_near_col = (tile.left - reach <= self.cols) & (self.cols < tile.right + reach)
        return bool(np.any(is_near_row & is_near_col))


def predict_maps(
    description: Description,
    estimators: Sequence[Any],
    image: Planes,
    n_classes: int,
    n_jobs: int | None = None,
    side: int = TILE_SIDE,
) -> np.ndarray:
    """Predict the probabilities of all pixels.

    Parameters
    ----------
    description : Description
        The features of a pixel.
    estimators : sequence of fitted classifiers
        One per round; from the second on they also see the maps of the round before.
    image : StandardImage or ndarray of shape (h, w, c)
        The image.
    n_classes : int
        Number of classes.
    n_jobs : int or None, default=None
        Number of tiles computed at a time.
    side : int, default=256
        Maximum side of a tile in pixels.

    Returns
    -------
    maps : ndarray of shape (h, w, n_classes), float32
        Probabilities of the last round.
    """
    return _predict(description, [estimators], image, n_classes, n_jobs, side, lambda *_: True)[0]


def predict_part(
    description: Description,
    estimators: Sequence[Any],
    image: Planes,
    n_classes: int,
    part: Tile,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Predict the probabilities (h, w, K) of a part of an image, bit for bit as `predict_maps` does.

    The tiles are those of the whole image. Only those that the part depends on are read and computed: rounds before the
    last one also in the tiles within reach.
    """
    height, width, _ = image.shape
    all_tiles = list(tiles(height, width, tile_side(image, TILE_SIDE)))
    windows = [cover([tile for tile in all_tiles if tile.meets(part)])]
    for _ in estimators[1:]:
        windows.insert(0, cover([tile for tile in all_tiles if tile.meets(windows[0].grow(REACH))]))

    def is_needed(number: int, tile: Tile, _: int) -> bool:
        return tile.meets(windows[number])

    window = windows[0]
    maps = _predict(description, [estimators], image, n_classes, n_jobs, TILE_SIDE, is_needed, window)[0]
    return maps[part.inside(window)]


def predict_around(
    description: Describes, chains: Sequence[Chain], image: Planes, n_classes: int, n_jobs: int | None = None
) -> list[np.ndarray]:
    """Predict the probabilities of the last round of every chain around its pixels, within the reach of the bank.

    The image is described once for all chains, which have the same number of rounds, and only where a chain needs it.

    Returns
    -------
    maps : list of ndarrays of shape (h, w, n_classes), float32
        For every chain, its probabilities, or 0 far from its pixels.
    """

    def is_needed(number: int, tile: Tile, place: int) -> bool:
        return chains[place].needs(number, tile)

    return _predict(description, [chain.estimators for chain in chains], image, n_classes, n_jobs, TILE_SIDE, is_needed)


def _predict(description, chains, image, n_classes, n_jobs, side, is_needed, window=None) -> list[np.ndarray]:
    """Predict the maps of the last round of chains of estimators, where `is_needed(number, tile, chain)`.

    Maps are kept of a window of the image that consists of whole tiles, by default of all.
    """
    height, width, n_channels = image.shape
    window = Tile(0, height, 0, width) if window is None else window
    side = tile_side(image, side)
    bands = _bands([tile for tile in tiles(height, width, side) if tile.meets(window)])
    description.prepare(side)
    n_rounds = len(chains[0])
    predictors = [[fast_predictor(estimator) for estimator in chain] for chain in chains]
    maps = [[np.zeros((*window.shape, n_classes), np.float32) for _ in chain] for chain in chains]
    described: dict[Tile, np.ndarray] = {}
    n_own = description.n_features(n_channels)
    n_context = BANK_ALONE.n_features(n_maps(n_classes)) if n_rounds > 1 else 0

    def predict(task: tuple[int, Tile]) -> None:
        number, tile = task
        needed = [place for place in range(len(chains)) if is_needed(number, tile, place)]
        if needed and tile not in described:
            # The features of the image, and behind them those of the maps of one chain at a time.
            described[tile] = np.empty((n_own + n_context, *tile.shape), np.float32)
            description.everywhere(image, tile, side, described[tile][:n_own])
        for place in needed:
            features = described[tile][: None if number else n_own]
            if number > 0:
                context = Window(context_of(maps[place][number - 1]), window, (height, width))
                BANK_ALONE.everywhere(context, tile, side, features[n_own:])
            maps[place][number][tile.inside(window)] = _apply(predictors[place][number], features)
        if number + 1 == n_rounds:
            described.pop(tile, None)

    for step in track(range(len(bands) + n_rounds - 1), "predicting pixels"):
        # The rounds of one step concern different bands, but the maps of a round must be ready before the next round.
        for number in range(n_rounds):
            if 0 <= step - number < len(bands):
                map_jobs(predict, [(number, tile) for tile in bands[step - number]], n_jobs)
    return [chain[-1] for chain in maps]


def context_of(maps: np.ndarray) -> np.ndarray:
    """Select the maps that a further round sees: all classes, or of two classes the second, which determines both."""
    return maps[..., -n_maps(maps.shape[2]) :]


def n_maps(n_classes: int) -> int:
    """Compute how many maps a further round sees."""
    return n_classes if n_classes > 2 else 1


def _bands(tiles: Sequence[Tile]) -> list[list[Tile]]:
    """Group tiles by row."""
    bands: dict[int, list[Tile]] = {}
    for tile in tiles:
        bands.setdefault(tile.top, []).append(tile)
    return list(bands.values())


def _apply(predictor: Predictor, features: np.ndarray) -> np.ndarray:
    """Predict probabilities (h, w, K) from features (F, h, w)."""
    return predictor.predict_columns(features.reshape(len(features), -1)).reshape(*features.shape[1:], -1)
