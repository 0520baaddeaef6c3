"""The features of a pixel: responses to the fixed filter bank and to the learned filters."""

from typing import NamedTuple, Protocol

import numpy as np

from invariance._core.parallel import map_jobs
from invariance._core.progress import track
from invariance.segmentation.bank import N_RESPONSES, REACH, filter_bank
from invariance.segmentation.sampling import Pixels
from invariance.segmentation.standard import StandardImage
from invariance.segmentation.tiles import Tile, Window, cut, tiles
from invariance.segmentation.windows import WindowResponses, window_reach

# Pixels per side of a tile: 31 float32 responses per channel and pixel take 8 MB.
TILE_SIDE = 256
# What can be described: an image, or the maps (h, w, m) of an earlier round.
Planes = StandardImage | Window | np.ndarray


class Description(NamedTuple):
    """Which features of a pixel to compute.

    Attributes
    ----------
    windows : WindowResponses or None
        The learned filters, in addition to the filter bank on every channel.
    """

    windows: WindowResponses | None

    def prepare(self, side: int) -> None:
        """Compute what all tiles need once, before several threads use it."""
        if self.windows is not None:
            self.windows.prepare(side)

    def n_features(self, n_channels: int) -> int:
        """Compute the number of features of a pixel of an image with some number of channels."""
        return N_RESPONSES * n_channels + (0 if self.windows is None else self.windows.n_responses)

    def everywhere(self, image: Planes, tile: Tile, side: int, features: np.ndarray | None = None) -> np.ndarray:
        """Compute features (F, h, w) float32 of all pixels of a tile of at most side x side pixels.

        They are written to `features` if given, a contiguous array.
        """
        if features is None:
            features = np.empty((self.n_features(image.shape[2]), *tile.shape), np.float32)
        part = self._describe(image, tile, features)
        if self.windows is not None:
            near = _trim(part, self._reach - window_reach(self.windows.size))
            self.windows.everywhere(near, side, features[N_RESPONSES * image.shape[2] :])
        return features

    def at(self, image: Planes, rows: np.ndarray, cols: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """Compute features (n, F) float32 of some pixels; tiles without any of them are skipped."""
        chosen = tiles_with(image, rows, cols)

        def describe(task):
            tile, inside = task
            maps = np.empty((N_RESPONSES * image.shape[2], *tile.shape), np.float32)
            part = self._describe(image, tile, maps)
            near_rows, near_cols = rows[inside] - tile.top, cols[inside] - tile.left
            described = [maps[:, near_rows, near_cols].T]
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

    def _describe(self, image: Planes, tile: Tile, features: np.ndarray) -> np.ndarray:
        """Cut the tile with its margin, (H, W, c), and fill the first features with the responses of its channels."""
        part = cut(image, tile, self._reach)
        near = _trim(part, self._reach - REACH)
        for channel in range(part.shape[2]):
            filter_bank(near[..., channel], features[N_RESPONSES * channel :][:N_RESPONSES])
        return part


# For the maps of an earlier round, which are described as if they were the channels of an image.
BANK_ALONE = Description(None)


class Describes(Protocol):
    """What a `Description` does, for functions that need no more of it."""

    def prepare(self, side: int) -> None:
        """Compute what all tiles need once, before several threads use it."""

    def n_features(self, n_channels: int) -> int:
        """Compute the number of features of a pixel of an image with some number of channels."""

    def everywhere(self, image: Planes, tile: Tile, side: int, features: np.ndarray | None = None) -> np.ndarray:
        """Compute features (F, h, w) float32 of all pixels of a tile of at most side x side pixels."""

    def at(self, image: Planes, rows: np.ndarray, cols: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """Compute features (n, F) float32 of some pixels."""


def describe_pixels(
    description: Describes, images: list[StandardImage], pixels: Pixels, n_jobs: int | None
) -> np.ndarray:
    """Compute features (n, F) of drawn pixels."""
    parts = [
        description.at(images[index], pixels.rows[places], pixels.cols[places], n_jobs)
        for index, places in track(list(pixels.by_image()), "describing pixels")
    ]
    return np.concatenate(parts)


def tile_side(image: Planes, side: int = TILE_SIDE) -> int:
    """Compute the side of the tiles of an image: a small image needs no large tile.

    A further round must find what it needs of the round before in the neighbouring tiles.
    """
    return max(min(side, max(image.shape[:2])), REACH)


def tiles_with(image: Planes, rows: np.ndarray, cols: np.ndarray) -> list[tuple[Tile, np.ndarray]]:
    """Find the tiles in which some pixels lie, each with the indices of its pixels."""
    return [
        (tile, inside)
        for tile in tiles(image.shape[0], image.shape[1], tile_side(image))
        if len(inside := np.flatnonzero(_is_inside(tile, rows, cols)))
    ]


def _trim(array: np.ndarray, margin: int) -> np.ndarray:
    return array[margin : array.shape[0] - margin, margin : array.shape[1] - margin]


def _is_inside(tile: Tile, rows, cols) -> np.ndarray:
    return (tile.top <= rows) & (rows < tile.bottom) & (tile.left <= cols) & (cols < tile.right)
