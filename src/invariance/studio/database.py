"""The SQLite file of a project: its tables, and opening it for this process alone."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from invariance.studio.classes import next_colour

try:
    import fcntl
except ImportError:  # Windows, where SQLite's own lock is enough
    fcntl = None  # type: ignore[assignment]

LOCK = "project.lock"
APPLICATION_ID = 0x494E5653  # "INVS", which SQLite keeps in the header of the file
FORMAT = 1
SCHEMA = """
CREATE TABLE images(id INTEGER PRIMARY KEY AUTOINCREMENT, path BLOB NOT NULL UNIQUE, known TEXT);
CREATE TABLE classes(mode TEXT NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL, colour TEXT NOT NULL,
    is_hidden INTEGER NOT NULL DEFAULT 0, is_locked INTEGER NOT NULL DEFAULT 0, removed_by INTEGER,
    PRIMARY KEY (mode, number));
CREATE TABLE actions(seq INTEGER PRIMARY KEY AUTOINCREMENT, mode TEXT NOT NULL, kind TEXT NOT NULL, image INTEGER,
    page INTEGER, layer TEXT, number INTEGER, radius REAL, data BLOB, more TEXT NOT NULL DEFAULT '{}',
    is_undone INTEGER NOT NULL DEFAULT 0);
CREATE TABLE settings(key TEXT PRIMARY KEY, value TEXT NOT NULL);
"""
# Ids that pages gave their strokes, and the actions that these became. Not a column of the actions: an id must be known
# after its action was undone and replaced. Projects that were made before this table get it when they are opened.
RECEIVED = "CREATE TABLE IF NOT EXISTS received(stroke_id TEXT PRIMARY KEY, seq INTEGER NOT NULL)"


class ProjectError(ValueError):
    """A project that cannot be used; one sentence names it, the defect and the cure."""


@contextmanager
def naming_failures(directory: Path) -> Iterator[None]:
    """Say in a sentence what is wrong if the file cannot be read or written."""
    try:
        yield
    except sqlite3.ProgrammingError as error:  # the file is closed
        raise ProjectError("the studio is closing. Start it again.") from error
    except sqlite3.Error as error:
        raise ProjectError(
            f"the project '{directory}' cannot be read or written ({error}); the last change was not saved. "
            f"Check the disk and its free space."
        ) from error


def make_directories(directory: Path) -> None:
    """Make the folders of a project that are missing."""
    try:
        for part in (directory, directory / "labels", directory / "exports"):
            part.mkdir(exist_ok=True)
    except FileNotFoundError as error:
        raise ProjectError(f"'{directory.parent}' does not exist. Create it, or name another --project.") from error
    except OSError as error:
        raise ProjectError(
            f"cannot write into '{directory}' ({error.strerror}). Name another folder with --project."
        ) from error


def lock_directory(directory: Path) -> int | None:
    """Take the lock of a project, which lasts as long as the returned handle is open; None without such locks.

    The locks of SQLite itself are lost if anything in this process opens and closes its file.
    """
    if fcntl is None:
        return None
    handle = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(handle)
        raise _in_use(directory) from error
    except OSError:  # some network folders have no locks
        pass
    return handle


def _in_use(path: Path) -> ProjectError:
    return ProjectError(f"'{path}' is open in another studio. Close that one, or name another folder with --project.")


def open_database(path: Path) -> sqlite3.Connection:
    """Open the file for this process alone, or raise an error in one sentence."""
    db = None
    try:
        db = sqlite3.connect(path, timeout=0.5, isolation_level=None, check_same_thread=False)
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        is_new = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
        _check_owner(db, path, is_new)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("BEGIN EXCLUSIVE")
        if is_new:
            for statement in SCHEMA.split(";")[:-1]:
                db.execute(statement)
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            db.execute(f"PRAGMA user_version = {FORMAT}")
            for number in (1, 2):
                row = ("pixels", number, f"Class {number}", next_colour(number))
                db.execute("INSERT INTO classes(mode, number, name, colour) VALUES (?, ?, ?, ?)", row)
        db.execute(RECEIVED)
        db.execute("COMMIT")
        return db
    except sqlite3.DatabaseError as error:
        if db is not None:
            db.close()
        if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
            raise _in_use(path) from error
        raise ProjectError(f"'{path}' cannot be opened ({error}). Move it away, or restore a copy of it.") from error
    except ProjectError:
        if db is not None:
            db.close()
        raise


def _check_owner(db: sqlite3.Connection, path: Path, is_new: bool) -> None:
    """Refuse files of other programs, of later versions, and damaged ones, before anything is written."""
    owner, version = (db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
    if (owner, version) == (0, 0) and is_new:
        return
    if owner != APPLICATION_ID:
        raise ProjectError(f"'{path}' is not a project of the studio. Move it away, or name another --project.")
    if version > FORMAT:
        raise ProjectError(f"'{path}' was written by a later version of invariance. Install that version.")
    found = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if found != "ok" or not {"images", "classes", "actions", "settings"} <= tables:
        raise ProjectError(f"'{path}' is damaged ({found}). Move it away, or restore a copy of it.")
