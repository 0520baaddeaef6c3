"""What the live engine computes of images and keeps: features of tiles, rows of strokes, predicted maps.

Of `max_bytes`, three quarters are for features and one for maps. Maps of an old model stay until newer ones are there.
"""

import threading
from collections.abc import Hashable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from invariance.segmentation.description import BANK_ALONE, TILE_SIDE
from invariance.segmentation.live.images import Decimated
from invariance.segmentation.live.instant import InstantModel
from invariance.segmentation.live.refinement import BLOCK_SIDE, RefinedModel
from invariance.segmentation.live.stroke_rows import StrokeRows
from invariance.segmentation.live.strokes import Painted
from invariance.segmentation.live.tile_store import TileStore
from invariance.segmentation.live.views import full_size, grid_tile
from invariance.segmentation.standard import StandardImage
from invariance.segmentation.tiles import Tile

# A refined model predicts all pixels; at lower resolutions than this its results would cost too much.
MAX_REFINED_STEP = 4
# Rows of strokes are kept for so many resolutions besides the full one.
MAX_RESOLUTIONS = 3
# Features are kept longest where the last so many strokes are.
MAX_PREFERRED_STROKES = 64
# It is remembered of so many tiles which model predicted them last.
MAX_REMEMBERED = 100_000

Model = InstantModel | RefinedModel


class Place(NamedTuple):
    """A tile of the grid of an image at a resolution."""

    image: int
    step: int
    tile: Tile


class Source(NamedTuple):
    """Which model predicted a tile; the model itself may be gone."""

    version: int
    stage: str
    classes: np.ndarray


class LiveMaps:
    """Computes and keeps what is known of images; it is thread-safe.

    Parameters
    ----------
    max_bytes : int
        Maximum number of bytes of features and maps.
    max_pixels : int
        Maximum number of rows of strokes per resolution.
    seed : int
        Seed of the choice of rows.
    """

    def __init__(self, max_bytes: int, max_pixels: int, seed: int):
        self.images: list[StandardImage] = []
        self._max_pixels, self._seed = max_pixels, seed
        self._features = TileStore(max_bytes - max_bytes // 4)
        self._maps = TileStore(max_bytes // 4)
        self._rows: dict[int, StrokeRows] = {}
        self._lock = threading.Lock()
        self._latest: dict[Place, Source] = {}

    @property
    def nbytes(self) -> int:
        """Bytes of everything that is kept."""
        return self._features.nbytes + self._maps.nbytes + sum(rows.nbytes for rows in list(self._rows.values()))

    def at_step(self, image: int, step: int) -> Any:
        """Return an image at a resolution."""
        return self.images[image] if step == 1 else Decimated(self.images[image], step)

    def describe(self, image: int, step: int, tile: Tile) -> np.ndarray:
        """Return the features (F, h, w) of a tile, computed at the first call."""
        place = Place(image, step, tile)
        return self._features.get(place, lambda: BANK_ALONE.everywhere(self.at_step(image, step), tile, TILE_SIDE))

    def rows_at(self, step: int) -> StrokeRows:
        """Return the kept rows of strokes at a resolution."""
        with self._lock:
            if step not in self._rows:
                kept = [old for old in self._rows if old != 1][1 - MAX_RESOLUTIONS :]
                self._rows = {old: self._rows[old] for old in (1, *kept) if old in self._rows}
                shape_of = partial(self._shape_at, step)
                self._rows[step] = StrokeRows(self.describe, shape_of, step, self._seed, self._max_pixels)
            return self._rows[step]

    def _shape_at(self, step: int, image: int) -> tuple[int, ...]:
        return self.at_step(image, step).shape

    def prefer(self, painted: list[Painted]) -> None:
        """Keep the features of the tiles with the newest strokes longest."""
        keys: set[Hashable] = set()
        for part in painted[-MAX_PREFERRED_STROKES:]:
            stroke, shape = part.stroke, self.images[part.stroke.image].shape
            corners = np.unique(np.stack([stroke.rows // TILE_SIDE, stroke.cols // TILE_SIDE], axis=1), axis=0)
            for row, col in (TILE_SIDE * corners).tolist():
                keys.add(Place(stroke.image, 1, grid_tile(row, col, shape)))
        self._features.prefer(keys)

    def predict(self, model: Model, place: Place) -> np.ndarray:
        """Predict probabilities (h, w, K) of a tile, unless they are kept."""
        source = Source(model.version, model.stage, model.classes)
        if isinstance(model, RefinedModel):
            maps = self._assemble(source, place, model)
        else:
            maps = self._maps.get((place, model.version), lambda: model.predict(self.describe(*place), place.step))
        assert maps is not None
        self._remember(place, source)
        return maps

    def recall(self, place: Place) -> tuple[np.ndarray, Source] | None:
        """Return the last prediction of a tile and what made it, if it is kept."""
        source = self._latest.get(place)
        if source is None:
            return None
        is_instant = source.stage == InstantModel.stage
        maps = self._maps.find((place, source.version)) if is_instant else self._assemble(source, place, None)
        return None if maps is None else (maps, source)

    def clear(self) -> None:
        """Forget everything that can be computed again."""
        with self._lock:
            self._rows, self._latest = {}, {}
        self._features.clear()
        self._maps.clear()

    def _remember(self, place: Place, source: Source) -> None:
        with self._lock:
            before = self._latest.get(place)
            if before is not None and _age(before) > _age(source):
                return  # another thread was faster
            self._latest[place] = source
            if len(self._latest) > MAX_REMEMBERED:
                del self._latest[next(iter(self._latest))]
        if before is not None and before.stage == InstantModel.stage and before.version != source.version:
            self._maps.discard((place, before.version))

    def _assemble(self, source: Source, place: Place, model: RefinedModel | None) -> np.ndarray | None:
        """Put a tile together from the blocks of a refined model; None if one is not kept and there is no model."""
        image = self.images[place.image]
        area = full_size(place.tile, place.step, image.shape)
        maps = np.empty((*place.tile.shape, len(source.classes)), np.float32)
        for top in range(area.top // BLOCK_SIDE * BLOCK_SIDE, area.bottom, BLOCK_SIDE):
            for left in range(area.left // BLOCK_SIDE * BLOCK_SIDE, area.right, BLOCK_SIDE):
                block = Tile(top, min(top + BLOCK_SIDE, image.shape[0]), left, min(left + BLOCK_SIDE, image.shape[1]))
                key = (place.image, block, source.version, source.stage)
                part = self._maps.find(key)
                if part is None and model is not None:
                    part = self._maps.get(key, partial(model.predict, image, block))
                if part is None:
                    return None
                _copy_sampled(part, block, maps, area, place.step)
        maps.flags.writeable = False
        return maps


def _age(source: Source) -> tuple[int, bool]:
    """Order predictions: newer strokes first, then the refined model."""
    return source.version, source.stage == RefinedModel.stage


def _copy_sampled(part: np.ndarray, block: Tile, maps: np.ndarray, area: Tile, step: int) -> None:
    """Copy every `step`-th pixel of a block into the maps of an area, counted from the corner of the area."""
    top, left = max(block.top, area.top), max(block.left, area.left)
    first_row, first_col = -(-(top - area.top) // step), -(-(left - area.left) // step)
    rows = range(area.top + first_row * step, min(block.bottom, area.bottom), step)
    cols = range(area.left + first_col * step, min(block.right, area.right), step)
    if rows and cols:
        sampled = part[rows[0] - block.top :: step, cols[0] - block.left :: step][: len(rows), : len(cols)]
        maps[first_row : first_row + len(rows), first_col : first_col + len(cols)] = sampled
