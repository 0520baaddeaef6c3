"""Writes that leave either the old file or a complete new one, even if the machine stops in between."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: the leftovers of a killed process stay there
    fcntl = None  # type: ignore[assignment]

GENERATOR = "Written by invariance"  # the mark in reports and figures by which commands know their own files
UNFINISHED = ".unfinished"
FULL_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # no space, beyond a quota, beyond the limit for a file
MAX_STEM = 40  # characters of up to four bytes each, so that the name of a neighbour never exceeds 255 bytes


@contextmanager
def atomic_path(path: str | os.PathLike, n_bytes: int | None = None, flush: bool = True) -> Iterator[Path]:
    """Write to a temporary neighbour that is renamed on success and removed on failure.

    If the process is killed, the neighbour stays as `.name-xxxxxxxx.unfinished.suffix` until another process writes
    into the same folder.

    Parameters
    ----------
    path : str or path-like
        The file to write.
    n_bytes : int, default=None
        Its size, if it is known, for the error if the disk is full.
    flush : bool, default=True
        Whether to wait until the contents are on the disk; without, they may be lost if the machine stops.

    Yields
    ------
    neighbour : Path
        An empty file in the same folder; write to it inside the block.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write '{path}': the folder '{path.parent}' does not exist. Create it first.")
    if path.is_dir():
        raise IsADirectoryError(f"cannot write '{path}': it is a folder. Name a file inside it.")
    _remove_leftovers(path.parent.resolve())
    neighbour, handle = _name_neighbour(path), None
    try:  # before the neighbour exists, so that nothing stays if a signal comes at once
        handle = _create_locked(neighbour, path)
        with naming_full_disk(path, neighbour, n_bytes):
            yield neighbour
            if flush:
                _flush_to_disk(neighbour)
        os.replace(neighbour, path)
    finally:
        neighbour.unlink(missing_ok=True)
        if handle is not None:
            os.close(handle)


@contextmanager
def naming_full_disk(path: Path, neighbour: Path, n_bytes: int | None = None) -> Iterator[None]:
    """Make the error of a full disk name the file, and how many bytes it needs; `neighbour` holds what was written."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL_DISK or error.filename not in (None, str(neighbour)):
            raise
        first = error.__context__
        if isinstance(first, OSError) and first.errno in FULL_DISK and first.filename is not None:
            raise first from None  # closing the file failed as well
        status = os.stat(neighbour)  # pixels that were not written yet take no blocks
        n_written = min(status.st_size, 512 * getattr(status, "st_blocks", status.st_size))
        needed = f"more than {n_written:,} bytes" if n_bytes is None else f"{n_bytes:,} bytes"
        reason = f"{error.strerror}; {needed} are needed, and {n_written:,} could be written"
        raise OSError(error.errno, reason, str(path)) from error


def _name_neighbour(path: Path) -> Path:
    """Return a name that no other process takes."""
    return path.parent / f".{path.stem[:MAX_STEM]}-{os.urandom(4).hex()}{UNFINISHED}{path.suffix}"


def _create_locked(neighbour: Path, path: Path) -> int | None:
    """Create a neighbour; return an open handle whose lock says that its writer is alive, None without locks."""
    while True:
        try:
            handle = os.open(neighbour, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(path)) from error  # nobody knows the neighbour's name
        if fcntl is None:
            os.close(handle)
            return None
        with suppress(OSError):  # some network folders have no locks; then nothing is removed there
            fcntl.flock(handle, fcntl.LOCK_EX)
        if neighbour.exists():
            return handle
        os.close(handle)  # another process took it for a leftover before it was locked


@cache
def _remove_leftovers(folder: Path) -> None:
    """Remove the neighbours that no living process holds; once per process, as only earlier ones were killed."""
    if fcntl is None:
        return
    for leftover in folder.glob(f".*-????????{UNFINISHED}*"):
        with suppress(OSError), open(leftover, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            leftover.unlink()


def _flush_to_disk(path: Path) -> None:
    """Wait until the contents of a file are on the disk."""
    with open(path, "rb+") as handle:
        os.fsync(handle.fileno())
