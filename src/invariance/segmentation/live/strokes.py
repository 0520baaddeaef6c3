"""Strokes on images as sparse labels, with a history: the last stroke on a pixel wins, an eraser is a stroke too.

Every pixel belongs to at most one stroke. Owners are kept in small squares that exist only where something was painted,
and a stroke remembers the owners before it; so adding, undoing and redoing cost what the stroke itself costs, however
many strokes there are and however large the image is.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

# Side of the squares in which owners are kept: 16 KB each.
SQUARE_SIDE = 64
NOBODY = -1


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


def _by_square(stroke: Stroke) -> Iterator[tuple[tuple[int, int, int], np.ndarray, tuple[np.ndarray, np.ndarray]]]:
    """Yield (key of a square, indices of the pixels in it, their places in it) of all squares that a stroke touches."""
    down, across = stroke.rows // SQUARE_SIDE, stroke.cols // SQUARE_SIDE
    order = np.lexsort((across, down))
    is_first = np.flatnonzero(np.diff(down[order], prepend=-1) | np.diff(across[order], prepend=-1))
    for chosen in np.split(order, is_first[1:]):
        key = (stroke.image, int(down[chosen[0]]), int(across[chosen[0]]))
        yield key, chosen, (stroke.rows[chosen] % SQUARE_SIDE, stroke.cols[chosen] % SQUARE_SIDE)
