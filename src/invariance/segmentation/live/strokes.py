"""Strokes on images as sparse labels, with a history: the last stroke on a pixel wins, an eraser is a stroke too.

Every pixel belongs to at most one stroke. Owners are kept in small squares that exist only where something was painted,
and a stroke remembers the owners before it; so adding, undoing and redoing cost what the stroke itself costs, however
many strokes there are and however large the image is.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from invariance._core.checks import check_number

# Side of the squares in which owners are kept: 16 KB each.
SQUARE_SIDE = 64
NOBODY = -1
# Pixels under a brush are marked in a box around the whole line if it has at most so many, which is fastest.
MAX_DENSE_PIXELS = 16_000_000


class Stroke(NamedTuple):
    """Pixels of one image that got one label.

    Attributes
    ----------
    image : int
        Index of the image.
    rows, cols : ndarray of shape (n,), int32
        The pixels, each once, in the order of rows.
    label : int or None
        The label; None erases.
    """

    image: int
    rows: np.ndarray
    cols: np.ndarray
    label: int | None


class Painted(NamedTuple):
    """A labelled stroke that still owns pixels.

    Attributes
    ----------
    number : int
        Its number of all strokes ever made, never used again.
    position : int
        Its place in the history, from 0.
    stroke : Stroke
        The stroke.
    owned : ndarray of shape (n,), bool
        Which of its pixels no later stroke has taken. It is replaced, never changed.
    """

    number: int
    position: int
    stroke: Stroke
    owned: np.ndarray


class _Entry:
    """One step of the history."""

    def __init__(self, number: int, stroke: Stroke):
        self.number = number
        self.stroke = stroke
        self.squares = list(_by_square(stroke))
        self.before = np.empty(0, np.int32)
        self.owned: np.ndarray | None = None  # None: to be read again

    @property
    def nbytes(self) -> int:
        arrays = [self.stroke.rows, self.stroke.cols, self.before, *([] if self.owned is None else [self.owned])]
        for _, chosen, places in self.squares:
            arrays += [chosen, *places]
        return sum(array.nbytes for array in arrays)


class Strokes:
    """A history of strokes, and who owns which pixel now. It is not thread-safe.

    Attributes
    ----------
    revision : int
        Number of changes until now, of which an undo is one.
    """

    def __init__(self) -> None:
        self.revision = 0
        self._entries: list[_Entry] = []
        self._n_done = 0
        self._n_made = 0
        self._by_number: dict[int, _Entry] = {}
        self._owners: dict[tuple[int, int, int], np.ndarray] = {}

    def __len__(self) -> int:
        """Return the number of strokes that are not undone, erasers included."""
        return self._n_done

    @property
    def nbytes(self) -> int:
        """Bytes of all pixels and owners: at most 29 per pixel of a stroke, and 16 KB per square with an owner."""
        return sum(entry.nbytes for entry in self._entries) + sum(square.nbytes for square in self._owners.values())

    def add(self, stroke: Stroke) -> None:
        """Add a stroke; those that were undone before can no longer be redone."""
        for entry in self._entries[self._n_done :]:
            del self._by_number[entry.number]
        del self._entries[self._n_done :]
        entry = _Entry(self._n_made, stroke)
        self._n_made += 1
        self._entries.append(entry)
        self._by_number[entry.number] = entry
        self._do(entry)

    def undo(self) -> Stroke | None:
        """Take back the last stroke and return it; None if there is none."""
        if self._n_done == 0:
            return None
        self._n_done -= 1
        self.revision += 1
        entry = self._entries[self._n_done]
        self._write(entry, entry.before)
        self._forget_owned(entry)
        return entry.stroke

    def redo(self) -> Stroke | None:
        """Do again the stroke that was undone last and return it; None if there is none."""
        if self._n_done == len(self._entries):
            return None
        entry = self._entries[self._n_done]
        self._do(entry)
        return entry.stroke

    def painted(self) -> list[Painted]:
        """List the labelled strokes that own at least one pixel, in the order of the history."""
        done = enumerate(self._entries[: self._n_done])
        listed = [Painted(entry.number, at, entry.stroke, self._owned(entry)) for at, entry in done]
        return [painted for painted in listed if painted.stroke.label is not None and painted.owned.any()]

    def numbers(self) -> set[int]:
        """Return the numbers of all strokes that are done or can be redone."""
        return set(self._by_number)

    def _do(self, entry: _Entry) -> None:
        entry.before = self._read(entry)
        self._n_done += 1
        self.revision += 1
        owner = NOBODY if entry.stroke.label is None else entry.number
        self._write(entry, np.full(len(entry.before), owner, np.int32))
        self._forget_owned(entry)

    def _forget_owned(self, entry: _Entry) -> None:
        """Mark what changed owners: the pixels of a stroke and of those that it painted over."""
        entry.owned = None
        for number in np.unique(entry.before).tolist():
            if number != NOBODY:
                self._by_number[number].owned = None

    def _owned(self, entry: _Entry) -> np.ndarray:
        if entry.owned is None:
            entry.owned = self._read(entry) == entry.number
        return entry.owned

    def _read(self, entry: _Entry) -> np.ndarray:
        """Read the owners (n,) of the pixels of a stroke."""
        owners = np.full(len(entry.stroke.rows), NOBODY, np.int32)
        for key, chosen, places in entry.squares:
            if key in self._owners:
                owners[chosen] = self._owners[key][places]
        return owners

    def _write(self, entry: _Entry, owners: np.ndarray) -> None:
        for key, chosen, places in entry.squares:
            square = self._owners.get(key)
            if square is None:
                square = self._owners[key] = np.full((SQUARE_SIDE, SQUARE_SIDE), NOBODY, np.int32)
            square[places] = owners[chosen]
            if (square == NOBODY).all():
                del self._owners[key]


def make_stroke(image: int, shape: tuple[int, ...], rows: Any, cols: Any, label: int | None) -> Stroke:
    """Check the pixels of a stroke; raise ValueError if there is none or if one is outside the image.

    Parameters
    ----------
    image : int
        Index of the image.
    shape : tuple of int
        Its height and width, first.
    rows, cols : array-like of shape (n,), int
        The pixels, in any order.
    label : int or None
        The label; None erases.

    Returns
    -------
    stroke : Stroke
        The stroke, each pixel once.
    """
    rows, cols = np.atleast_1d(np.asarray(rows)), np.atleast_1d(np.asarray(cols))
    if rows.ndim != 1 or rows.shape != cols.shape:
        raise ValueError(f"rows and cols must be (n,) and of the same length; got {rows.shape} and {cols.shape}.")
    if len(rows) == 0:
        raise ValueError("a stroke must have at least one pixel inside the image; got none. Paint on the image.")
    for name, values, length in (("rows", rows, shape[0]), ("cols", cols, shape[1])):
        if values.dtype.kind not in "iu":
            raise ValueError(f"{name} must be integers; got {values.dtype}. Round them.")
        if values.min() < 0 or values.max() >= length:
            raise ValueError(
                f"{name} must be from 0 to {length - 1} in image {image}; got {values.min()} to {values.max()}. "
                f"Clip the stroke, as brush_pixels does."
            )
    places = np.unique(rows.astype(np.int64) * shape[1] + cols)
    rows, cols = np.divmod(places, shape[1])
    return Stroke(image, rows.astype(np.int32), cols.astype(np.int32), label)


def brush_pixels(points: Any, radius: float, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Find the pixels under a round brush that is drawn along a line.

    Parameters
    ----------
    points : array-like of shape (n, 2)
        Row and column of the corners of the line, in pixels; one point is a disc.
    radius : float
        Radius of the brush in pixels: pixels whose centre is at most that far from the line. Less than 0.5 counts as
        0.5, the width of one pixel.
    shape : tuple of int
        Height and width of the image, first; pixels outside are left out.

    Returns
    -------
    rows, cols : ndarray of shape (n,), int32
        The pixels, in the order of rows; none if the line is outside the image.
    """
    points = _check_points(points)
    reach = max(check_number("radius", radius, low=0), 0.5)
    segments = list(pairwise(points)) if len(points) > 1 else [(points[0], points[0])]
    low, high = _box_around(points.min(axis=0), points.max(axis=0), reach, shape)
    if (low > high).any():
        return np.empty(0, np.int32), np.empty(0, np.int32)
    if np.prod(high - low + 1) <= MAX_DENSE_PIXELS:
        is_near = np.zeros(high - low + 1, bool)
        for start, stop in segments:
            top, left, found = _near_segment(start, stop, reach, shape)
            is_near[top - low[0] :, left - low[1] :][: found.shape[0], : found.shape[1]] |= found
        rows, cols = np.nonzero(is_near)
        return (rows + low[0]).astype(np.int32), (cols + low[1]).astype(np.int32)
    places = [np.empty(0, np.int64)]
    for start, stop in segments:
        top, left, found = _near_segment(start, stop, reach, shape)
        rows, cols = np.nonzero(found)
        places.append((rows + top) * shape[1] + cols + left)
    rows, cols = np.divmod(np.unique(np.concatenate(places)), shape[1])
    return rows.astype(np.int32), cols.astype(np.int32)


def fill_pixels(points: Any, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Find the pixels whose centre is inside of a closed polygon, by the even-odd rule.

    Parameters
    ----------
    points : array-like of shape (n, 2)
        Row and column of the corners, in pixels; the last one is joined to the first.
    shape : tuple of int
        Height and width of the image, first; pixels outside are left out.

    Returns
    -------
    rows, cols : ndarray of shape (n,), int32
        The pixels, in the order of rows; none if the polygon has no pixel of the image inside.
    """
    points = _check_points(points)
    height, width = shape[:2]
    low = np.clip(np.ceil(points.min(axis=0)), 0, (height, width)).astype(int)
    high = np.clip(np.floor(points.max(axis=0)) + 1, 0, (height, width)).astype(int)
    # A border of the polygon changes, in its row, the side of all pixels left of it.
    is_changed = np.zeros((max(high[0] - low[0], 0), max(high[1] - low[1], 0) + 1), bool)
    for (r_i, c_i), (r_j, c_j) in zip(points, np.roll(points, 1, axis=0), strict=True):
        first, last = (int(np.clip(np.ceil(row), low[0], high[0])) for row in sorted((r_i, r_j)))
        if first < last:  # pixels with (r_i > r) != (r_j > r)
            rows = np.arange(first, last)
            crossing = (c_j - c_i) * (rows - r_i) / (r_j - r_i) + c_i
            cols = np.clip(np.ceil(crossing), low[1], high[1]).astype(int)
            is_changed[rows - low[0], cols - low[1]] ^= True
    inside = np.bitwise_xor.accumulate(is_changed[:, :0:-1], axis=1)[:, ::-1]
    rows, cols = np.nonzero(inside)
    return (rows + low[0]).astype(np.int32), (cols + low[1]).astype(np.int32)


def _check_points(points: Any) -> np.ndarray:
    points = np.atleast_2d(np.asarray(points, np.float64))
    if points.ndim != 2 or points.shape[1] != 2 or not np.isfinite(points).all():
        raise ValueError(f"points must be finite and of shape (n, 2); got an array of shape {points.shape}.")
    return points


def _box_around(
    low: np.ndarray, high: np.ndarray, reach: float, shape: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the first and the last row and column of an image that are at most `reach` from a box."""
    first = np.maximum(np.ceil(low - reach), 0)
    last = np.minimum(np.floor(high + reach), np.array(shape[:2]) - 1)
    return first.astype(np.int64), last.astype(np.int64)


def _near_segment(
    start: np.ndarray, stop: np.ndarray, reach: float, shape: tuple[int, ...]
) -> tuple[int, int, np.ndarray]:
    """Find the pixels at most `reach` from a line between two points: top, left, and which of a box (h, w) are."""
    low, high = _box_around(np.minimum(start, stop), np.maximum(start, stop), reach, shape)
    rows = np.arange(low[0], high[0] + 1)[:, None]
    cols = np.arange(low[1], high[1] + 1)
    along = stop - start
    length = float(along @ along)
    share = ((rows - start[0]) * along[0] + (cols - start[1]) * along[1]) / length if length else np.zeros((1, 1))
    share = np.clip(share, 0, 1)
    distance = (rows - start[0] - share * along[0]) ** 2 + (cols - start[1] - share * along[1]) ** 2
    return int(low[0]), int(low[1]), distance <= reach**2


def _by_square(stroke: Stroke) -> Iterator[tuple[tuple[int, int, int], np.ndarray, tuple[np.ndarray, np.ndarray]]]:
    """Yield (key of a square, indices of the pixels in it, their places in it) of all squares that a stroke touches."""
    down, across = stroke.rows // SQUARE_SIDE, stroke.cols // SQUARE_SIDE
    order = np.lexsort((across, down))
    is_first = np.flatnonzero(np.diff(down[order], prepend=-1) | np.diff(across[order], prepend=-1))
    for chosen in np.split(order, is_first[1:]):
        key = (stroke.image, int(down[chosen[0]]), int(across[chosen[0]]))
        yield key, chosen, (stroke.rows[chosen] % SQUARE_SIDE, stroke.cols[chosen] % SQUARE_SIDE)
