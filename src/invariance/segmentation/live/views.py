"""What is visible of an image, and the tiles of a fixed grid that show it, from the centre outwards."""

from numbers import Integral
from typing import NamedTuple

import numpy as np

from invariance._core.checks import check_count
from invariance.segmentation.description import TILE_SIDE
from invariance.segmentation.tiles import Tile

# So that the side of a tile in pixels of the image fits 32 bits; no image is as large as one tile then.
MAX_STEP = 2**20


class View(NamedTuple):
    """The pixels [top, bottom) x [left, right) of an image, seen at a resolution.

    Attributes
    ----------
    image : int
        Index of the image.
    top, left, bottom, right : int
        Borders in pixels of the image; what is outside of the image is left out.
    step : int
        Only every `step`-th pixel is wanted, in both directions; at most 2**20.
    """

    image: int
    top: int
    left: int
    bottom: int
    right: int
    step: int = 1


class LiveTile(NamedTuple):
    """Predicted probabilities of a tile.

    Attributes
    ----------
    image : int
        Index of the image.
    tile : Tile
        The pixels of the image that it shows.
    step : int
        Distance of the predicted pixels, the first being (top, left).
    probabilities : ndarray of shape (h, w, n_classes), float32
        Probabilities of every `step`-th pixel, in the order of `classes`. Read-only.
    classes : ndarray of shape (n_classes,)
        The labels.
    stage : {"instant", "refined"}
        Which model predicted them.
    version : int
        The number of changes of strokes that the model has learned from.
    """

    image: int
    tile: Tile
    step: int
    probabilities: np.ndarray
    classes: np.ndarray
    stage: str
    version: int


def check_view(view: View, shape: tuple[int, ...]) -> View:
    """Clip a view to its image; raise ValueError if nothing of it is left."""
    step = check_count("step", view.step, at_most=MAX_STEP)
    borders = (view.top, view.left, view.bottom, view.right)
    if not all(isinstance(border, Integral) for border in borders):
        raise ValueError(f"the borders of a view must be whole numbers; got {view}. Round them.")
    top, left, bottom, right = map(int, borders)
    clipped = View(int(view.image), max(top, 0), max(left, 0), min(bottom, shape[0]), min(right, shape[1]), step)
    if clipped.top >= clipped.bottom or clipped.left >= clipped.right:
        raise ValueError(f"a view must show a part of its image of {shape[0]} x {shape[1]} pixels; got {view}.")
    return clipped


def grid_tile(row: int, col: int, shape: tuple[int, ...]) -> Tile:
    """Return the tile of the grid in which a pixel lies."""
    top, left = row // TILE_SIDE * TILE_SIDE, col // TILE_SIDE * TILE_SIDE
    return Tile(top, min(top + TILE_SIDE, shape[0]), left, min(left + TILE_SIDE, shape[1]))


def tiles_of(view: View, shape: tuple[int, ...]) -> list[Tile]:
    """List the tiles of the grid that show a view, the one nearest to its centre first.

    Parameters
    ----------
    view : View
        A view that was checked.
    shape : tuple of int
        Height and width of the image at the resolution of the view, first.

    Returns
    -------
    tiles : list of Tile
        In pixels of that resolution.
    """
    top, left = view.top // view.step, view.left // view.step
    bottom, right = (view.bottom - 1) // view.step + 1, (view.right - 1) // view.step + 1
    found = [
        grid_tile(row, col, shape)
        for row in range(top // TILE_SIDE * TILE_SIDE, bottom, TILE_SIDE)
        for col in range(left // TILE_SIDE * TILE_SIDE, right, TILE_SIDE)
    ]
    middle = (top + bottom, left + right)
    return sorted(
        found, key=lambda tile: (tile.top + tile.bottom - middle[0]) ** 2 + (tile.left + tile.right - middle[1]) ** 2
    )


def draw_tiles(shapes: list[tuple[int, ...]], n_tiles: int, rng: np.random.Generator) -> list[tuple[int, Tile]]:
    """Draw tiles of the grid from images of some shapes: (index of an image, tile), in the order of images and rows."""
    sizes = [(-(-shape[0] // TILE_SIDE), -(-shape[1] // TILE_SIDE)) for shape in shapes]
    ends = np.cumsum([rows * cols for rows, cols in sizes])
    drawn = []
    for number in np.sort(rng.choice(ends[-1], min(n_tiles, ends[-1]), replace=False)).tolist():
        image = int(np.searchsorted(ends, number, side="right"))
        row, col = divmod(number - int(ends[image]) + sizes[image][0] * sizes[image][1], sizes[image][1])
        drawn.append((image, grid_tile(row * TILE_SIDE, col * TILE_SIDE, shapes[image])))
    return drawn


def full_size(tile: Tile, step: int, shape: tuple[int, ...]) -> Tile:
    """Return the pixels of an image that a tile of lower resolution shows."""
    return Tile(tile.top * step, min(tile.bottom * step, shape[0]), tile.left * step, min(tile.right * step, shape[1]))
