"""Label rasters of pages as sparse tiles, changed by strokes and masks, and changed back.

A tile is never written into: a change replaces it by another. So whoever reads a tile has a consistent one, without
waiting for anybody.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

TILE_SIDE = 256
EMPTY = np.zeros((TILE_SIDE, TILE_SIDE), np.uint8)
EMPTY.flags.writeable = False


class PageKey(NamedTuple):
    """A layer of a page of an image."""

    image: int
    page: int
    layer: str


class Box(NamedTuple):
    """The pixels [top, bottom) x [left, right)."""

    top: int
    left: int
    bottom: int
    right: int


class Change(NamedTuple):
    """What a change of a page replaced.

    Attributes
    ----------
    key : PageKey
    box : Box
        Holds all changed pixels.
    rows, cols : ndarray of shape (n,), int32
        The changed pixels; empty if tiles are kept as a whole.
    before : ndarray of shape (n,), uint8
        Their class numbers before.
    tiles : dict
        The tiles before, by row and column; None where there was none.
    """

    key: PageKey
    box: Box
    rows: np.ndarray
    cols: np.ndarray
    before: np.ndarray
    tiles: dict[tuple[int, int], np.ndarray | None]


NO_PIXELS = np.empty(0, np.int32)


class Rasters:
    """Class numbers of pixels, 0 for none. One thread changes them at a time; any thread may read."""

    def __init__(self) -> None:
        self._pages: dict[PageKey, dict[tuple[int, int], np.ndarray]] = {}

    def pages(self) -> list[PageKey]:
        """List the layers of pages that hold anything."""
        return [key for key, tiles in list(self._pages.items()) if tiles]

    def tile(self, key: PageKey, row: int, col: int) -> np.ndarray:
        """Return a tile (256, 256) uint8; pixels outside of the page are 0."""
        return self._pages.get(key, {}).get((row, col), EMPTY)

    def tiles(self, key: PageKey, box: Box | None = None) -> list[tuple[int, int]]:
        """List the rows and columns of tiles that hold anything and touch a box, sorted."""
        found = sorted(list(self._pages.get(key, {})))
        if box is None:
            return found
        return [place for place in found if place in _places_of(box)]

    def dense(self, key: PageKey, shape: tuple[int, ...]) -> np.ndarray:
        """Return a page (h, w) uint8."""
        page = np.zeros(shape[:2], np.uint8)
        for (row, col), tile in list(self._pages.get(key, {}).items()):
            part = page[row * TILE_SIDE : (row + 1) * TILE_SIDE, col * TILE_SIDE : (col + 1) * TILE_SIDE]
            part[...] = tile[: part.shape[0], : part.shape[1]]
        return page

    def read(self, key: PageKey, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Return the class numbers of pixels (n,) uint8."""
        numbers = np.zeros(len(rows), np.uint8)
        for place, chosen in _by_tile(rows, cols):
            numbers[chosen] = self.tile(key, *place)[rows[chosen] % TILE_SIDE, cols[chosen] % TILE_SIDE]
        return numbers

    def find(self, key: PageKey, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Return rows and columns of all pixels of a class, int32."""
        rows, cols = [NO_PIXELS], [NO_PIXELS]
        for row, col in self.tiles(key):
            down, across = np.nonzero(self.tile(key, row, col) == number)
            rows.append((down + row * TILE_SIDE).astype(np.int32))
            cols.append((across + col * TILE_SIDE).astype(np.int32))
        return np.concatenate(rows), np.concatenate(cols)

    # ------------------------------------------------------------ changes

    def paint(self, key: PageKey, rows: np.ndarray, cols: np.ndarray, number: int) -> Change:
        """Give pixels a class number; 0 erases."""
        before = self.read(key, rows, cols)
        self._write(key, rows, cols, np.full(len(rows), number, np.uint8))
        return Change(key, _box_of(rows, cols), rows, cols, before, {})

    def paint_mask(self, key: PageKey, mask: np.ndarray, locked: Iterable[int] = ()) -> Change:
        """Paint the pixels of a mask (h, w) that are not 0, except those of locked classes."""
        tiles: dict[tuple[int, int], np.ndarray | None] = {}
        for row in range(-(-mask.shape[0] // TILE_SIDE)):
            for col in range(-(-mask.shape[1] // TILE_SIDE)):
                part = mask[row * TILE_SIDE : (row + 1) * TILE_SIDE, col * TILE_SIDE : (col + 1) * TILE_SIDE]
                old = self.tile(key, row, col)
                new = np.zeros_like(old)
                new[: part.shape[0], : part.shape[1]] = part
                new = np.where((new == 0) | np.isin(old, list(locked)), old, new)
                if not np.array_equal(new, old):
                    tiles[row, col] = self._pages.get(key, {}).get((row, col))
                    self._put(key, (row, col), new)
        return Change(key, Box(0, 0, *mask.shape), NO_PIXELS, NO_PIXELS, np.empty(0, np.uint8), tiles)

    def take_back(self, change: Change) -> None:
        """Restore what a change replaced; later changes must have been taken back before."""
        self._write(change.key, change.rows, change.cols, change.before)
        for place, tile in change.tiles.items():
            self._put(change.key, place, EMPTY if tile is None else tile)

    def _write(self, key: PageKey, rows: np.ndarray, cols: np.ndarray, numbers: np.ndarray) -> None:
        for place, chosen in _by_tile(rows, cols):
            tile = self.tile(key, *place).copy()
            tile[rows[chosen] % TILE_SIDE, cols[chosen] % TILE_SIDE] = numbers[chosen]
            self._put(key, place, tile)

    def _put(self, key: PageKey, place: tuple[int, int], tile: np.ndarray) -> None:
        tile.flags.writeable = False
        tiles = self._pages.setdefault(key, {})
        if tile.any():
            tiles[place] = tile
        else:
            tiles.pop(place, None)


def _by_tile(rows: np.ndarray, cols: np.ndarray) -> Iterator[tuple[tuple[int, int], np.ndarray]]:
    """Yield row and column of a tile and the indices of the pixels in it."""
    if len(rows) == 0:
        return
    down, across = rows // TILE_SIDE, cols // TILE_SIDE
    order = np.lexsort((across, down))
    is_first = np.flatnonzero(np.diff(down[order], prepend=-1) | np.diff(across[order], prepend=-1))
    for chosen in np.split(order, is_first[1:]):
        yield (int(down[chosen[0]]), int(across[chosen[0]])), chosen


def _box_of(rows: np.ndarray, cols: np.ndarray) -> Box:
    return (
        Box(int(rows.min()), int(cols.min()), int(rows.max()) + 1, int(cols.max()) + 1)
        if len(rows)
        else Box(0, 0, 0, 0)
    )


class _Places(NamedTuple):
    """The tiles that touch a box."""

    rows: range
    cols: range

    def __contains__(self, place: object) -> bool:
        assert isinstance(place, tuple)
        return place[0] in self.rows and place[1] in self.cols


def _places_of(box: Box) -> _Places:
    return _Places(
        range(box.top // TILE_SIDE, -(-box.bottom // TILE_SIDE)),
        range(box.left // TILE_SIDE, -(-box.right // TILE_SIDE)),
    )
