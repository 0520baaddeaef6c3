"""A large image in tiles, each read with a halo around it so that results do not depend on where tiles end."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np


class Tile(NamedTuple):
    """The pixels [top, bottom) x [left, right) of an image."""

    top: int
    bottom: int
    left: int
    right: int

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width."""
        return self.bottom - self.top, self.right - self.left

    def grow(self, margin: int) -> "Tile":
        """Add a margin on all sides; the result may exceed the image."""
        return Tile(self.top - margin, self.bottom + margin, self.left - margin, self.right + margin)

    def meets(self, other: "Tile") -> bool:
        """Tell whether both have a pixel in common."""
        is_near_row = self.top < other.bottom and other.top < self.bottom
        return is_near_row and self.left < other.right and other.left < self.right

    def inside(self, window: "Tile") -> tuple[slice, slice]:
        """Return the slices of this tile in an array of the pixels of a window."""
        rows = slice(self.top - window.top, self.bottom - window.top)
        return rows, slice(self.left - window.left, self.right - window.left)


def tiles(height: int, width: int, side: int) -> Iterator[Tile]:
    """Yield tiles of at most side x side pixels that cover an image, each pixel once."""
    for top in range(0, height, side):
        for left in range(0, width, side):
            yield Tile(top, min(top + side, height), left, min(left + side, width))


class Window:
    """Values of a part of an image, found at the places that they have in the whole image.

    Parameters
    ----------
    values : ndarray of shape (h, w, c)
        The values in the part.
    part : Tile
        The part.
    shape : tuple of int
        Height and width of the whole image.
    """

    def __init__(self, values: np.ndarray, part: Tile, shape: tuple[int, int]):
        self._values, self._part = values, part
        self.shape = (*shape, values.shape[2])

    def __getitem__(self, place: tuple[slice, slice]) -> np.ndarray:
        rows, cols = place
        return self._values[Tile(rows.start, rows.stop, cols.start, cols.stop).inside(self._part)]


def cover(tiles: Sequence[Tile]) -> Tile:
    """Return the smallest part of an image that holds some tiles."""
    tops, bottoms, lefts, rights = zip(*tiles, strict=True)
    return Tile(min(tops), max(bottoms), min(lefts), max(rights))


def cut(image: Any, tile: Tile, halo: int) -> np.ndarray:
    """Cut a tile with its halo, (h + 2 halo, w + 2 halo[, c]), mirrored at the border.

    Only what is needed is read from `image`, which may be memory-mapped.
    """
    rows = _mirrored(tile.top - halo, tile.bottom + halo, image.shape[0])
    cols = _mirrored(tile.left - halo, tile.right + halo, image.shape[1])
    part = np.asarray(image[rows.min() : rows.max() + 1, cols.min() : cols.max() + 1])
    return part[(rows - rows.min())[:, None], cols - cols.min()]


def _mirrored(start: int, stop: int, length: int) -> np.ndarray:
    """Fold the positions start..stop-1 back into 0..length-1, as numpy's padding mode "reflect" does."""
    period = max(2 * (length - 1), 1)
    folded = np.abs(np.arange(start, stop)) % period
    return np.minimum(folded, period - folded) if length > 1 else np.zeros(stop - start, np.int64)
