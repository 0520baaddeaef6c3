"""Writes that leave either the old file or a whole new one, whenever the machine dies."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_path(path: str | os.PathLike) -> Iterator[Path]:
    """A temporary neighbour of `path` to write to; renamed to `path` on success, removed on any failure."""
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write '{path}': the folder '{path.parent}' does not exist. Create it first.")
    if path.is_dir():
        raise IsADirectoryError(f"cannot write '{path}': it is a folder. Name a file inside it.")
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix)
    os.close(handle)
    neighbour = Path(name)
    try:
        yield neighbour
        _flush_to_disk(neighbour)
        os.chmod(neighbour, 0o666 & ~_umask())
        os.replace(neighbour, path)
    finally:
        neighbour.unlink(missing_ok=True)


def _flush_to_disk(path: Path) -> None:
    with open(path, "rb+") as handle:
        os.fsync(handle.fileno())


def _umask() -> int:
    """The process's umask; mkstemp ignores it, and a model file should be as readable as any other."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
