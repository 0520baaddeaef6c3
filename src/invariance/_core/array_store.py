"""A bounded folder of arrays that any number of processes share: plain .npy files, and an index in SQLite.

A file appears under its name only when it is complete, and a row of the index only after its file. Nothing waits for
the disk: what a killed process or a stopped machine leaves behind is found by its checksum, and is as if it had never
been stored. The same holds for a folder that cannot be read or written, and for a full disk.
"""

import hashlib
import io
import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from invariance._core.files import atomic_path

INDEX = "index.sqlite"
SCHEMA = """
CREATE TABLE IF NOT EXISTS entries (
    key TEXT PRIMARY KEY, n_bytes INTEGER, checksum BLOB, seconds REAL, used REAL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS entries_by_use ON entries (used);
"""
FILE_NAME = re.compile(r"[0-9a-f]{64}\.npy")
BUSY_SECONDS = 5.0  # that another process may hold the index
REFRESH_SECONDS = 60.0  # within which a second use is not written down
# Of the bytes that may be stored: what is written between two looks at the bound, what one array may take, and what
# is left after arrays were removed. Two processes that write at once stay within the bound.
LOOK_SHARE, LARGEST_SHARE, REST_SHARE = 0.02, 0.25, 0.95


class Stored(NamedTuple):
    """An array and the seconds that it took to make."""

    array: np.ndarray
    seconds: float


class Usage(NamedTuple):
    """The number of arrays and of their bytes."""

    n_arrays: int
    n_bytes: int


class ArrayStore:
    """Arrays by keys, those used last; whatever cannot be read or written is as if it were not there.

    Parameters
    ----------
    folder : Path
        Made if it does not exist. Several processes may use it at the same time.
    max_bytes : int
        What all files together may take.
    """

    def __init__(self, folder: Path, max_bytes: int):
        self.folder = folder
        self.max_bytes = max_bytes
        self._n_unseen = self.max_bytes  # bytes since the last look at the bound; the first array looks
        self._connection: sqlite3.Connection | None = None
        self._is_broken = False
        self._renew_lock()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget_parent)

    def get(self, key: str) -> Stored | None:
        """Return the array of a key, or None.

        Parameters
        ----------
        key : str
            64 hexadecimal digits.
        """
        query = "SELECT n_bytes, checksum, seconds, used FROM entries WHERE key = ?"
        row = self._ask(lambda index: index.execute(query, (key,)).fetchone())
        if row is None:
            return None
        n_bytes, checksum, seconds, used = row
        array = _read_array(self._path(key), n_bytes, checksum)
        if array is None:
            self._ask(lambda index: index.execute("DELETE FROM entries WHERE key = ?", (key,)))
            return None
        now = time.time()
        if abs(now - used) > REFRESH_SECONDS:
            self._ask(lambda index: index.execute("UPDATE entries SET used = ? WHERE key = ?", (now, key)))
        return Stored(array, seconds)

    def put(self, key: str, array: np.ndarray, seconds: float = 0.0) -> None:
        """Store an array, unless it is a large part of all that may be stored.

        Parameters
        ----------
        key : str
            64 hexadecimal digits.
        array : ndarray
            Numbers, of any shape.
        seconds : float, default=0.0
            What it took to make.
        """
        content = _to_npy(array)
        if len(content) > LARGEST_SHARE * self.max_bytes or self._ask(lambda index: True) is None:
            return
        path = self._path(key)
        try:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            with atomic_path(path, len(content), flush=False) as neighbour:
                neighbour.write_bytes(content)
        except OSError:
            return
        row = key, len(content), _checksum(content), seconds, time.time()
        self._ask(lambda index: index.execute("INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?, ?)", row))
        self._n_unseen += len(content)
        if self._n_unseen > LOOK_SHARE * self.max_bytes:
            self._n_unseen = 0
            self._remove_oldest()

    def usage(self) -> Usage:
        """Return how much is stored."""
        query = "SELECT COUNT(*), COALESCE(SUM(n_bytes), 0) FROM entries"
        return Usage(*(self._ask(lambda index: index.execute(query).fetchone()) or (0, 0)))

    def clear(self) -> None:
        """Remove all arrays, and nothing else that may be in the folder."""
        self._ask(lambda index: index.execute("DELETE FROM entries"))
        self._remove_strangers()

    def close(self) -> None:
        """Close the index; the next use opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.npy"

    def _remove_oldest(self) -> None:
        """Remove the arrays that were not used for longest until the rest is within the bound."""
        if self.usage().n_bytes <= (1 - LOOK_SHARE) * self.max_bytes:
            return

        def choose(index: sqlite3.Connection) -> list[str]:
            with _writing(index):
                total = index.execute("SELECT SUM(n_bytes) FROM entries").fetchone()[0]
                oldest = []
                for key, n_bytes in index.execute("SELECT key, n_bytes FROM entries ORDER BY used"):
                    if total <= REST_SHARE * self.max_bytes:
                        break
                    oldest.append(key)
                    total -= n_bytes
                index.executemany("DELETE FROM entries WHERE key = ?", [(key,) for key in oldest])
                return oldest

        for key in self._ask(choose) or []:
            with suppress(OSError):
                self._path(key).unlink(missing_ok=True)
        self._remove_strangers()

    def _remove_strangers(self) -> None:
        """Remove files that the index does not know; that of another process, about to be, is made again."""
        known = self._ask(lambda index: {key for (key,) in index.execute("SELECT key FROM entries")})
        for path in [] if known is None else _array_files(self.folder):
            if path.stem not in known:
                with suppress(OSError):
                    path.unlink(missing_ok=True)

    def _ask(self, question: Callable[[sqlite3.Connection], Any]) -> Any:
        """The answer of the index, or None if it cannot be used; one that is damaged is begun anew."""
        with self._lock:
            for _ in range(2):
                if self._is_broken:
                    return None
                try:
                    self._connection = self._connection or _open_index(self.folder)
                    return question(self._connection)
                except sqlite3.OperationalError:  # locked for long, on a full disk, or read-only
                    return None
                except sqlite3.DatabaseError:
                    self._begin_anew()
                except OSError:
                    self._is_broken = True
            return None

    def _begin_anew(self) -> None:
        """Remove a damaged index; its files are removed with the next look at the bound."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._n_unseen = self.max_bytes
        try:
            for name in (INDEX, f"{INDEX}-wal", f"{INDEX}-shm"):
                (self.folder / name).unlink(missing_ok=True)
        except OSError:
            self._is_broken = True

    def _renew_lock(self) -> None:
        self._lock = Lock()

    def _forget_parent(self) -> None:
        """Leave the connection of the parent process open: it is not ours to close."""
        self._inherited, self._connection = self._connection, None
        self._renew_lock()


def _open_index(folder: Path) -> sqlite3.Connection:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    index = sqlite3.connect(folder / INDEX, BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        index.execute("PRAGMA journal_mode = WAL")
        index.execute("PRAGMA synchronous = NORMAL")  # does not wait for the disk; a crash may lose the last rows
        index.executescript(SCHEMA)
    except sqlite3.Error:
        index.close()
        raise
    return index


@contextmanager
def _writing(index: sqlite3.Connection) -> Iterator[None]:
    """A transaction that no other process writes within."""
    index.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        index.execute("ROLLBACK")
        raise
    index.execute("COMMIT")


def _array_files(folder: Path) -> Iterator[Path]:
    """Files that have the name of an array of a store."""
    return (path for path in folder.glob("??/*.npy") if FILE_NAME.fullmatch(path.name))


def _to_npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, np.asarray(array, order="C"), allow_pickle=False)
    return file.getvalue()


def _read_array(path: Path, n_bytes: int, checksum: bytes) -> np.ndarray | None:
    """The array of a file, or None if it is not the file that was written."""
    try:
        content = np.fromfile(path, np.uint8)
    except OSError:
        return None
    if len(content) != n_bytes or _checksum(content) != checksum:
        return None
    start = io.BytesIO(content[:4096].tobytes())
    np.lib.format.read_magic(start)
    shape, _, dtype = np.lib.format.read_array_header_1_0(start)
    return content[start.tell() :].view(dtype).reshape(shape)  # in place, where NumPy's own reader copies


def _checksum(content: Any) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()
