"""Writes that leave either the old file or a whole new one, whenever the machine dies."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: what a killed run has left stays there
    fcntl = None  # type: ignore[assignment]

UNFINISHED = ".unfinished"
LONGEST_STEM = 40  # characters of up to four bytes each, so that the neighbour of a long name has no longer one


@contextmanager
def atomic_path(path: str | os.PathLike) -> Iterator[Path]:
    """A temporary neighbour of `path` to write to; renamed to `path` on success, removed on any failure.

    Of a process that was killed the neighbour stays, as `.name-xxxxxxxx.unfinished.suffix`, until another process
    writes into the same folder.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write '{path}': the folder '{path.parent}' does not exist. Create it first.")
    if path.is_dir():
        raise IsADirectoryError(f"cannot write '{path}': it is a folder. Name a file inside it.")
    _remove_leftovers(path.parent.resolve())
    handle, neighbour = _make_neighbour(path)
    try:
        yield neighbour
        _flush_to_disk(neighbour)
        os.chmod(neighbour, 0o666 & ~_umask())
        os.replace(neighbour, path)
    finally:
        neighbour.unlink(missing_ok=True)
        if handle is not None:
            os.close(handle)


def _make_neighbour(path: Path) -> tuple[int | None, Path]:
    """A new neighbour, and an open handle whose lock says that its writer lives; None where there are no locks."""
    while True:
        handle, name = tempfile.mkstemp(
            dir=path.parent, prefix=f".{path.stem[:LONGEST_STEM]}-", suffix=UNFINISHED + path.suffix
        )
        if fcntl is None:
            os.close(handle)
            return None, Path(name)
        with suppress(OSError):  # some network folders have no locks, and then nothing is removed there
            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.path.exists(name):
            return handle, Path(name)
        os.close(handle)  # another process took it for a leftover before it was locked


@cache
def _remove_leftovers(folder: Path) -> None:
    """Remove the neighbours that no living process holds; once a process, because only earlier ones were killed."""
    if fcntl is None:
        return
    for leftover in folder.glob(f".*-????????{UNFINISHED}*"):
        with suppress(OSError), open(leftover, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            leftover.unlink()


def _flush_to_disk(path: Path) -> None:
    with open(path, "rb+") as handle:
        os.fsync(handle.fileno())


def _umask() -> int:
    """The process's umask; mkstemp ignores it, and a model file should be as readable as any other."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
