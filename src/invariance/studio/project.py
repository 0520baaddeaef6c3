"""The project: one SQLite file in which every change is on the disk before it is acknowledged.

Actions (strokes, masks, labels of images, removed classes) are one linear history. Undone actions stay until a new one
takes their place. Rasters and labels are computed from the actions, so that nothing else has to be kept consistent.
"""

import json
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from invariance.studio.classes import LabelClass, check_class, next_colour
from invariance.studio.database import lock_directory, make_directories, naming_failures, open_database

DIRECTORY, FILE = "invariance-studio", "project.sqlite"
MAX_CLASSES = {"pixels": 32, "images": 1000}  # pixels: as `LiveSegmenter`


class Action(NamedTuple):
    """A step of the history.

    Attributes
    ----------
    seq : int
        Its number; later actions have larger ones, and none is used twice.
    mode : {"pixels", "images"}
    kind : str
        "brush", "fill", "mask" or "remove" of pixels; "label" or "remove" of images.
    image, page : int or None
        What was painted.
    layer : {"labels", "final"} or None
    number : int or None
        The class; 0 erases.
    radius : float or None
        Of a brush.
    data : bytes or None
        Points of a stroke as float64, or a compressed mask.
    more : dict
        Whatever else it depends on: the classes that were locked, the labels of images.
    """

    seq: int
    mode: str
    kind: str
    image: int | None = None
    page: int | None = None
    layer: str | None = None
    number: int | None = None
    radius: float | None = None
    data: bytes | None = None
    more: dict[str, Any] = {}  # noqa: RUF012 - never changed

    @property
    def points(self) -> np.ndarray:
        """Rows and columns (n, 2) of the points of a stroke."""
        return np.frombuffer(self.data or b"", "<f8").reshape(-1, 2)


class Project:
    """An open project; it is thread-safe, and no other process can open it.

    Parameters
    ----------
    folder : Path
        The folder of the images.
    directory : Path or None, default=None
        The folder of the project. None means `invariance-studio` in the folder of the images.

    Attributes
    ----------
    folder, directory : Path
        Both absolute.
    """

    def __init__(self, folder: Path, directory: Path | None = None):
        self.folder = Path(os.path.realpath(folder))
        self.directory = Path(os.path.realpath(directory or self.folder / DIRECTORY))
        self._lock = threading.RLock()
        make_directories(self.directory)
        self._handle = lock_directory(self.directory)
        try:
            self._db = open_database(self.directory / FILE)
        except BaseException:
            self._unlock()
            raise
        self._image_labels: dict[int, int] | None = None

    def close(self) -> None:
        """Close the file; another process may open it then."""
        with self._lock:
            self._db.close()
            self._unlock()

    def _unlock(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    # ------------------------------------------------------------ history

    def actions(self, mode: str) -> list[Action]:
        """Return the actions that are not undone, in their order."""
        return [_action(row) for row in self._read(f"{_ACTIONS} WHERE mode = ? AND NOT is_undone ORDER BY seq", mode)]

    def add_action(self, mode: str, kind: str, stroke_id: str | None = None, **fields: Any) -> int:
        """Append an action, instead of those that were undone; return its number when it is on the disk.

        A `stroke_id` is kept with it, for `find_received`.
        """
        fields["more"] = json.dumps(fields.get("more", {}))
        with self._writing() as db:
            db.execute("DELETE FROM actions WHERE is_undone")
            columns = ", ".join(["mode", "kind", *fields])
            marks = ", ".join("?" * (len(fields) + 2))
            cursor = db.execute(f"INSERT INTO actions({columns}) VALUES ({marks})", (mode, kind, *fields.values()))
            seq = int(cursor.lastrowid or 0)
            if kind == "remove":
                self._mark_removed(db, seq, mode, fields["number"])
            if stroke_id is not None:
                db.execute("INSERT INTO received VALUES (?, ?)", (stroke_id, seq))
            return seq

    def find_received(self, stroke_id: str) -> int | None:
        """Return the number of the action that a stroke became, undone or not; None if it never came."""
        rows = self._read("SELECT seq FROM received WHERE stroke_id = ?", stroke_id)
        return rows[0][0] if rows else None

    def undo(self) -> Action | None:
        """Undo the last action and return it; None if there is none."""
        return self._step("WHERE NOT is_undone ORDER BY seq DESC LIMIT 1", is_undone=True)

    def redo(self) -> Action | None:
        """Do again the action that was undone last and return it; None if there is none."""
        return self._step("WHERE is_undone ORDER BY seq LIMIT 1", is_undone=False)

    def can_undo_and_redo(self) -> tuple[bool, bool]:
        """Whether there is something to undo, and something to redo."""
        (row,) = self._read(
            "SELECT EXISTS(SELECT 1 FROM actions WHERE NOT is_undone), EXISTS(SELECT 1 FROM actions WHERE is_undone)"
        )
        return bool(row[0]), bool(row[1])

    def _step(self, which: str, is_undone: bool) -> Action | None:
        with self._writing() as db:
            row = db.execute(f"{_ACTIONS} {which}").fetchone()
            if row is None:
                return None
            action = _action(row)
            db.execute("UPDATE actions SET is_undone = ? WHERE seq = ?", (is_undone, action.seq))
            if action.kind == "remove":
                self._mark_removed(db, None if is_undone else action.seq, action.mode, action.number)
            return action

    def _mark_removed(self, db: sqlite3.Connection, seq: int | None, mode: str, number: int | None) -> None:
        db.execute("UPDATE classes SET removed_by = ? WHERE mode = ? AND number = ?", (seq, mode, number))

    # ------------------------------------------------------------ classes

    def classes(self, mode: str) -> list[LabelClass]:
        """Return the classes of a mode by their numbers."""
        rows = self._read(
            "SELECT number, name, colour, is_hidden, is_locked FROM classes "
            "WHERE mode = ? AND removed_by IS NULL ORDER BY number",
            mode,
        )
        return [
            LabelClass(mode, number, name, colour, bool(is_hidden), bool(is_locked))
            for number, name, colour, is_hidden, is_locked in rows
        ]

    def find_class(self, mode: str, number: int) -> LabelClass:
        """Return a class; raise ValueError if there is none of that number."""
        for found in self.classes(mode):
            if found.number == number:
                return found
        raise ValueError(f"there is no class {number}. Add it first.")

    def add_class(self, mode: str, name: str | None = None, colour: str | None = None) -> LabelClass:
        """Add a class; numbers of removed classes are not used again, since these may come back."""
        with self._lock:
            number = 1 + max(
                (row[0] for row in self._read("SELECT number FROM classes WHERE mode = ?", mode)), default=0
            )
            if number > MAX_CLASSES[mode]:
                raise ValueError(
                    f"there can be {MAX_CLASSES[mode]} classes, removed ones included. Use another project."
                )
            others = self.classes(mode)
            names = {other.name for other in others}
            free = next(text for n in range(number, number + len(names) + 1) if (text := f"Class {n}") not in names)
            added = LabelClass(mode, number, name or free, colour or next_colour(number))
            check_class(added, others)
            with self._writing() as db:
                db.execute("INSERT INTO classes(mode, number, name, colour) VALUES (?, ?, ?, ?)", added[:4])
            return added

    def change_class(self, mode: str, number: int, **changes: Any) -> LabelClass:
        """Change the name, the colour, or whether a class is hidden or locked."""
        with self._lock:
            changed = self.find_class(mode, number)._replace(**changes)
            check_class(changed, [other for other in self.classes(mode) if other.number != number])
            with self._writing() as db:
                db.execute(
                    "UPDATE classes SET name = ?, colour = ?, is_hidden = ?, is_locked = ? "
                    "WHERE mode = ? AND number = ?",
                    (changed.name, changed.colour, changed.is_hidden, changed.is_locked, mode, number),
                )
            return changed

    # ------------------------------------------------------------ labels of whole images

    def image_labels(self) -> dict[int, int]:
        """Return the class numbers of labelled images, by their ids."""
        with self._lock:
            if self._image_labels is None:
                labels: dict[int, int] = {}
                for action in self.actions("images"):
                    if action.kind == "remove":
                        labels = {image: number for image, number in labels.items() if number != action.number}
                    else:
                        labels.update({int(image): number for image, number in action.more["labels"].items()})
                self._image_labels = {image: number for image, number in labels.items() if number}
            return dict(self._image_labels)

    def label_images(self, labels: dict[int, int]) -> int:
        """Label images as one action, 0 removes a label; return its number when it is on the disk."""
        numbers = {found.number for found in self.classes("images")} | {0}
        for number in labels.values():
            if number not in numbers:
                raise ValueError(f"there is no class {number}. Add it first.")
        return self.add_action("images", "label", more={"labels": {str(key): value for key, value in labels.items()}})

    # ------------------------------------------------------------ images and settings

    def register_images(self, paths: list[bytes]) -> dict[bytes, tuple[int, dict[str, Any] | None]]:
        """Return the id of every path, and what was noted of it; new paths get a new id."""
        with self._writing() as db:
            db.executemany("INSERT OR IGNORE INTO images(path) VALUES (?)", [(path,) for path in paths])
        rows = self._read("SELECT path, id, known FROM images")
        found = {bytes(path): (number, json.loads(known) if known else None) for path, number, known in rows}
        return {path: found[path] for path in paths}

    def note_images(self, known: dict[int, dict[str, Any]]) -> None:
        """Keep what was read of image files, by their ids."""
        with self._writing() as db:
            rows = [(json.dumps(value), number) for number, value in known.items()]
            db.executemany("UPDATE images SET known = ? WHERE id = ?", rows)

    def painted_images(self) -> set[int]:
        """Return the ids of the images with actions, undone ones included."""
        return {row[0] for row in self._read("SELECT DISTINCT image FROM actions WHERE image IS NOT NULL")}

    def settings(self) -> dict[str, Any]:
        """Return all settings."""
        return {key: json.loads(value) for key, value in self._read("SELECT key, value FROM settings ORDER BY key")}

    def change_settings(self, changes: dict[str, Any]) -> None:
        """Set settings; None removes one."""
        with self._writing() as db:
            for key, value in changes.items():
                if value is None:
                    db.execute("DELETE FROM settings WHERE key = ?", (key,))
                else:
                    db.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (key, json.dumps(value)))

    # ------------------------------------------------------------ inside

    def _read(self, query: str, *values: Any) -> list[tuple]:
        with self._lock, naming_failures(self.directory):
            return self._db.execute(query, values).fetchall()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Change the file as one transaction, which is on the disk when the block has ended."""
        with self._lock, naming_failures(self.directory):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
            finally:
                self._image_labels = None


_ACTIONS = "SELECT seq, mode, kind, image, page, layer, number, radius, data, more FROM actions"


def _action(row: tuple) -> Action:
    *columns, more = row
    return Action._make([*columns, json.loads(more)])
