"""What is finished: one SQLite file beside the result, written by the one process that gives out the blocks."""

import json
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

SCHEMA = """
CREATE TABLE IF NOT EXISTS job (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS finished (
  stage TEXT NOT NULL, number INTEGER NOT NULL, result TEXT NOT NULL, PRIMARY KEY (stage, number)
) WITHOUT ROWID;
"""
WAIT_SECONDS = 10.0
# The folder of a job, beside its result, and the file in it.
JOB_SUFFIX, RECORDS = ".job", "records.sqlite"


def job_folder(target: Path) -> Path:
    """Return the folder of a job, beside its result."""
    return target.with_name(target.name + JOB_SUFFIX)


class RecordsError(ValueError):
    """Records that belong to another job, or that cannot be read."""


class Records:
    """The finished blocks of a job.

    Parameters
    ----------
    file : Path
        The SQLite file; made if it does not exist.
    job : dict
        What the results depend on: the model, the settings and the source, as JSON.

    Raises
    ------
    RecordsError
        If the file belongs to another job, or another process has it open.
    """

    def __init__(self, file: Path, job: dict[str, Any]):
        self.file = file
        try:
            self._database = sqlite3.connect(file, timeout=WAIT_SECONDS, isolation_level=None)
            # No other process may give out blocks of this job. A plain journal also works on network folders.
            self._database.execute("PRAGMA locking_mode = EXCLUSIVE")
            self._database.execute("PRAGMA synchronous = FULL")
            self._database.execute("BEGIN EXCLUSIVE")
            for statement in filter(str.strip, SCHEMA.split(";")):
                self._database.execute(statement)
            self._database.execute("COMMIT")
            self._compare(job)
        except sqlite3.OperationalError as error:
            raise RecordsError(
                f"the records '{file}' cannot be used ({error}). Another process may be working on them; wait for it."
            ) from error
        except sqlite3.DatabaseError as error:
            raise RecordsError(f"'{file}' is damaged ({error}). Begin again with --restart.") from error

    def _compare(self, job: dict[str, Any]) -> None:
        """Store what the results depend on, or refuse another."""
        stored = dict(self._database.execute("SELECT key, value FROM job").fetchall())
        wanted = {key: json.dumps(value, sort_keys=True) for key, value in job.items()}
        if not stored:
            self._database.executemany("INSERT INTO job VALUES (?, ?)", wanted.items())
            return
        differing = sorted(key for key in stored.keys() | wanted.keys() if stored.get(key) != wanted.get(key))
        if differing:
            self.close()
            raise RecordsError(
                f"the {' and the '.join(differing)} of the result are not those that it was begun with. Use the same, "
                f"name another output, or begin again with --restart, which deletes what is there."
            )

    def numbers(self, stage: str) -> set[int]:
        """Return the numbers of the finished blocks of a stage."""
        return {number for (number,) in self._database.execute("SELECT number FROM finished WHERE stage = ?", (stage,))}

    def results(self, stage: str) -> dict[int, Any]:
        """Return the results of a stage by number."""
        found = self._database.execute("SELECT number, result FROM finished WHERE stage = ?", (stage,))
        return {number: json.loads(result) for number, result in found}

    def result(self, stage: str, number: int) -> Any:
        """Return the result of one finished block."""
        query = "SELECT result FROM finished WHERE stage = ? AND number = ?"
        (result,) = self._database.execute(query, (stage, number)).fetchone()
        return json.loads(result)

    def add(self, stage: str, finished: Iterable[tuple[int, Any]]) -> None:
        """Record blocks and their results, all of them or none; they are on the disk when this returns."""
        self._database.execute("BEGIN")
        self._database.executemany(
            "INSERT OR REPLACE INTO finished VALUES (?, ?, ?)",
            ((stage, number, json.dumps(result)) for number, result in finished),
        )
        self._database.execute("COMMIT")

    def close(self) -> None:
        """Close the file."""
        self._database.close()
