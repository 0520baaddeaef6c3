"""How a pixel is described: the filter bank, and the learned filters."""

from typing import NamedTuple

import numpy as np

from invariance._core.parallel import map_jobs
from invariance.segmentation.bank import REACH, filter_bank
from invariance.segmentation.standard import StandardImage
from invariance.segmentation.tiles import Tile, cut, tiles
from invariance.segmentation.windows import WindowResponses, window_reach

TILE_SIDE = 256
# What can be described: an image, or the maps (h, w, m) of an earlier round.
Planes = StandardImage | np.ndarray


class Description(NamedTuple):
    """What to compute of a pixel: always the bank of every channel, and the learned windows if there are any."""

    windows: WindowResponses | None

    def prepare(self, side: int) -> None:
        """Compute once what all tiles need, before several threads ask for it."""
        if self.windows is not None:
            self.windows.prepare(side)

    def everywhere(self, image: Planes, tile: Tile, side: int) -> np.ndarray:
        """Features (F, h, w) float32 of all pixels of a tile of at most side x side pixels."""
        part, features = self._begin(image, tile)
        if self.windows is not None:
            features.append(self.windows.everywhere(_trim(part, self._reach - window_reach(self.windows.size)), side))
        return np.concatenate(features)

    def at(self, image: Planes, rows: np.ndarray, cols: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """Features (n, F) float32 of some pixels; only the tiles that hold one of them are computed."""
        chosen = [
            (tile, inside)
            for tile in tiles(image.shape[0], image.shape[1], TILE_SIDE)
            if len(inside := np.flatnonzero(_holds(tile, rows, cols)))
        ]

        def describe(task):
            tile, inside = task
            part, features = self._begin(image, tile)
            near_rows, near_cols = rows[inside] - tile.top, cols[inside] - tile.left
            described = [maps[:, near_rows, near_cols].T for maps in features]
            if self.windows is not None:
                described.append(self.windows.at(part, near_rows + self._reach, near_cols + self._reach))
            return np.concatenate(described, axis=1)

        parts = map_jobs(describe, chosen, n_jobs)
        result = np.empty((len(rows), parts[0].shape[1]), np.float32)
        for (_, inside), described in zip(chosen, parts, strict=True):
            result[inside] = described
        return result

    @property
    def _reach(self) -> int:
        return max(REACH, 0 if self.windows is None else window_reach(self.windows.size))

    def _begin(self, image, tile) -> tuple[np.ndarray, list[np.ndarray]]:
        """The tile with its reach around it, (H, W, c), and the banks (31, h, w) of its channels."""
        part = cut(image, tile, self._reach)
        around = _trim(part, self._reach - REACH)
        banks = [filter_bank(around[..., channel]) for channel in range(part.shape[2])]
        return part, [bank[:, REACH:-REACH, REACH:-REACH] for bank in banks]


def _trim(array: np.ndarray, margin: int) -> np.ndarray:
    return array[margin : array.shape[0] - margin, margin : array.shape[1] - margin]


def _holds(tile: Tile, rows, cols) -> np.ndarray:
    return (tile.top <= rows) & (rows < tile.bottom) & (tile.left <= cols) & (cols < tile.right)
