"""Probabilities of all pixels of an image, tile by tile, on all cores, in bounded memory.

A further round sees the maps of the round before as far as the bank reaches. So the image is passed over once, in bands
as high as a tile: band k goes through round r when band k + 1 has gone through round r - 1. What describes the image
itself is computed once and kept for as many bands as there are rounds.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from invariance._core.parallel import map_jobs
from invariance._core.progress import track
from invariance.segmentation.bank import REACH
from invariance.segmentation.boosted import fast_predictor
from invariance.segmentation.description import TILE_SIDE, Description, Planes
from invariance.segmentation.tiles import Tile, tiles

# Pixels that a head sees at once: a head of the user's may need many times their memory.
N_COLUMNS = 16_384
# Maps of a round before are described by the bank, as if they were the channels of an image.
BANK_ALONE = Description(None)


def predict_maps(
    description: Description,
    heads: Sequence[Any],
    image: Planes,
    n_classes: int,
    n_jobs: int | None = None,
    side: int = TILE_SIDE,
) -> np.ndarray:
    """(h, w, c) -> (h, w, K) float32: every round sees the maps of the one before."""
    height, width = image.shape[:2]
    # A further round needs the maps of its neighbours only; a small image needs no large tile.
    side = max(min(side, max(height, width)), REACH)
    bands = _bands(height, width, side)
    description.prepare(side)
    predictors = [fast_predictor(head) for head in heads]
    maps = [np.empty((height, width, n_classes), np.float32) for _ in heads]
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
        if number + 1 == len(heads):
            del described[tile]

    for step in track(range(len(bands) + len(heads) - 1), "labelling pixels"):
        # The rounds of one step concern different bands, but a round's maps must be ready before the next one's.
        for number in range(len(heads)):
            if 0 <= step - number < len(bands):
                map_jobs(predict, [(number, tile) for tile in bands[step - number]], n_jobs)
    return maps[-1]


def context_of(maps: np.ndarray) -> np.ndarray:
    """The maps that a further round sees: all classes, or the second alone of two, which says it all."""
    return maps if maps.shape[2] > 2 else maps[..., 1:]


def _bands(height: int, width: int, side: int) -> list[list[Tile]]:
    """The tiles of an image, a list for each row of them."""
    bands: dict[int, list[Tile]] = {}
    for tile in tiles(height, width, side):
        bands.setdefault(tile.top, []).append(tile)
    return list(bands.values())


def _apply(predictor: Any, features: np.ndarray) -> np.ndarray:
    """Features (F, h, w) -> probabilities (h, w, K)."""
    columns = features.reshape(len(features), -1)
    parts = (columns[:, start : start + N_COLUMNS] for start in range(0, columns.shape[1], N_COLUMNS))
    return np.concatenate([predictor.predict_columns(part) for part in parts]).reshape(*features.shape[1:], -1)
