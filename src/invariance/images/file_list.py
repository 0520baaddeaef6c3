"""A list of image files that may be millions: on the disk, each file once, read in blocks."""

import hashlib
import os
import sqlite3
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


class FileList:
    """Files in the order in which they are added, each once; memory does not grow with their number.

    The list is a database of SQLite in a temporary file, which is removed with the object.

    Parameters
    ----------
    n_together : int
        Number of files per block.
    """

    def __init__(self, n_together: int):
        self.n_together = n_together
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute("CREATE TABLE files (number INTEGER PRIMARY KEY, path BLOB UNIQUE NOT NULL)")

    def add(self, paths: Iterable[Path]) -> None:
        """Append files; those that are in the list stay where they are."""
        self._database.execute("BEGIN")
        self._database.executemany(
            "INSERT OR IGNORE INTO files (path) VALUES (?)", ((os.fsencode(path),) for path in paths)
        )
        self._database.execute("COMMIT")

    def __len__(self) -> int:
        return self._database.execute("SELECT coalesce(max(number), 0) FROM files").fetchone()[0]

    @property
    def n_blocks(self) -> int:
        """Number of blocks; the last one may have fewer files."""
        return -(-len(self) // self.n_together)

    def block(self, number: int) -> list[Path]:
        """Return the files of a block, from 0."""
        start = number * self.n_together
        query = "SELECT path FROM files WHERE number > ? AND number <= ? ORDER BY number"
        return [Path(os.fsdecode(path)) for (path,) in self._database.execute(query, (start, start + self.n_together))]

    def fingerprint(self) -> str:
        """Return a hash of all names, sizes and times of the last change."""
        digest = hashlib.sha256()
        for (path,) in self._database.execute("SELECT path FROM files ORDER BY number"):
            digest.update(path + b"\0")
            with suppress(OSError):  # what is gone has neither
                status = os.stat(path)
                digest.update(f"{status.st_size} {status.st_mtime_ns}\0".encode())
        return digest.hexdigest()
