"""Probabilities of all pixels of an image, tile by tile, in parallel and in bounded memory.

A further round sees the maps of the round before within the reach of the filter bank. So the image is passed over once,
in bands one tile high: band k goes through round r after band k + 1 has gone through round r - 1. The features of the
image itself are computed once and kept for as many bands as there are rounds.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from invariance._core.parallel import map_jobs
from invariance._core.progress import track
from invariance.segmentation.bank import REACH
from invariance.segmentation.description import BANK_ALONE, TILE_SIDE, Description, Planes
from invariance.segmentation.estimators import Predictor, fast_predictor
from invariance.segmentation.tiles import Tile, tiles

# Number of pixels classified at once: some classifiers need many times the memory of their input.
MAX_COLUMNS = 16_384


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
    height, width = image.shape[:2]
    # A further round must find what it needs in the neighbouring tiles; a small image needs no large tile.
    side = max(min(side, max(height, width)), REACH)
    bands = _bands(height, width, side)
    description.prepare(side)
    predictors = [fast_predictor(estimator) for estimator in estimators]
    maps = [np.empty((height, width, n_classes), np.float32) for _ in estimators]
    described: dict[Tile, np.ndarray] = {}

    def predict(task: tuple[int, Tile]) -> None:
        number, tile = task
        if number == 0:
            described[tile] = description.everywhere(image, tile, side)
        features = described[tile]
        if number > 0:
            context = BANK_ALONE.everywhere(context_of(maps[number - 1]), tile, side)
            features = np.concatenate([features, context])
        maps[number][tile.top : tile.bottom, tile.left : tile.right] = _apply(predictors[number], features)
        if number + 1 == len(estimators):
            del described[tile]

    for step in track(range(len(bands) + len(estimators) - 1), "predicting pixels"):
        # The rounds of one step concern different bands, but the maps of a round must be ready before the next round.
        for number in range(len(estimators)):
            if 0 <= step - number < len(bands):
                map_jobs(predict, [(number, tile) for tile in bands[step - number]], n_jobs)
    return maps[-1]


def context_of(maps: np.ndarray) -> np.ndarray:
    """Select the maps that a further round sees: all classes, or of two classes the second, which determines both."""
    return maps if maps.shape[2] > 2 else maps[..., 1:]


def _bands(height: int, width: int, side: int) -> list[list[Tile]]:
    """Group the tiles of an image by row."""
    bands: dict[int, list[Tile]] = {}
    for tile in tiles(height, width, side):
        bands.setdefault(tile.top, []).append(tile)
    return list(bands.values())


def _apply(predictor: Predictor, features: np.ndarray) -> np.ndarray:
    """Predict probabilities (h, w, K) from features (F, h, w)."""
    columns = features.reshape(len(features), -1)
    parts = (columns[:, start : start + MAX_COLUMNS] for start in range(0, columns.shape[1], MAX_COLUMNS))
    return np.concatenate([predictor.predict_columns(part) for part in parts]).reshape(*features.shape[1:], -1)
