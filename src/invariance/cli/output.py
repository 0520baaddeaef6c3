"""The files that a command writes: claimed before any work, never its own input, and nothing foreign by accident.

Every command claims all files that it will write by `claim_file` or `claim_files`. An existing file named with -o is
replaced if it is of the same kind and written by this library; files in a folder are replaced only with --overwrite.
"""

import csv
import math
import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from invariance._core.files import GENERATOR

OverwriteOption = Annotated[
    bool,
    typer.Option(
        "--overwrite",
        help="Replace existing files, whatever they are; never one that is read. Without it, a file named with -o is "
        "replaced only if it is of the same kind and was written by invariance.",
    ),
]
CURE = "Add --overwrite to replace"
MARKED_BYTES = 2**16  # at the beginning and at the end of a file, within which its marker is
PAGE_START = b"<!DOCTYPE html>"
PARQUET_START = b"PAR1"
MAX_NAME_BYTES = 255  # of most file systems, where the system does not say
COLUMNS = ("path", "label")  # of a table of predictions, before those of the classes


class Kind(NamedTuple):
    """A kind of file that commands write: its name in messages, its endings, and whether a file of it is ours."""

    name: str
    endings: tuple[str, ...]
    is_ours: Callable[[Path], bool]


def _is_model(path: Path) -> bool:
    from invariance.models import ModelError, describe

    try:
        return bool(describe(path))
    except (ModelError, OSError):
        return False


def _is_table(path: Path) -> bool:
    """Whether the header is that of a table of predictions, and the first row has probabilities."""
    if path.suffix.lower() == ".parquet":
        with path.open("rb") as parquet:
            return parquet.read(len(PARQUET_START)) == PARQUET_START and _is_marked(path)
    with path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
        try:
            header, row = next(rows := csv.reader(file)), next(rows)
            shares = [float(value) for value in row[len(COLUMNS) :]]
        except (StopIteration, csv.Error, ValueError):
            return False
    return (
        tuple(header[: len(COLUMNS)]) == COLUMNS
        and len(header) == len(row) > len(COLUMNS)
        and all(0 <= share <= 1 for share in shares)
        and math.isclose(sum(shares), 1, abs_tol=1e-3)
    )


def _is_report(path: Path) -> bool:
    return _is_page(path) and _is_marked(path)


def _is_figure(path: Path) -> bool:
    return not _is_page(path) and _is_marked(path)


def _is_page(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(PAGE_START)) == PAGE_START


def _is_marked(path: Path) -> bool:
    """Whether a file names this library as its generator."""
    marker = GENERATOR.encode()
    with path.open("rb") as file:
        start = file.read(MARKED_BYTES)
        file.seek(max(0, path.stat().st_size - MARKED_BYTES))
        return marker in start or marker in file.read(MARKED_BYTES)


MODEL = Kind("model", (".inv",), _is_model)
TABLE = Kind("table", (".csv", ".parquet"), _is_table)
REPORT = Kind("report", (".html", ".htm"), _is_report)
FIGURE = Kind("figure", (".png", ".svg", ".pdf", ".jpg", ".jpeg"), _is_figure)

# The files that the running command has claimed, with what was there before.
_claimed: dict[Path, tuple[int, int] | None] = {}
# What the written files are, where there is more to say than that they are complete.
_described: dict[Path, str] = {}
# The results that are made in blocks, over several runs if need be: what is finished is kept.
_kept: list[Path] = []


def claim_file(path: Path, kind: Kind, overwrite: bool = False, reads: Iterable[Path | None] = ()) -> Path:
    """Return the path of a file that the command will write, or raise an error if it cannot or must not.

    Parameters
    ----------
    path : Path
    kind : Kind
        What will be written.
    overwrite : bool, default=False
        Whether an existing file is replaced that is not of this kind, or that this library did not write.
    reads : iterable of Path or None, default=()
        The files and folders that the command reads; folders with their sub-folders.
    """
    _check_name(path)
    if path.is_dir():
        raise IsADirectoryError(f"cannot write '{path}': it is a folder. Name a file inside it.")
    if path.suffix.lower() not in kind.endings:
        raise ValueError(f"cannot write '{path}': its name must end in {' or '.join(kind.endings)}.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write '{path}': the folder '{path.parent}' does not exist. Create it first.")
    _Inputs(reads, reads_subfolders=True).check(path)
    if os.path.lexists(path) and not overwrite and not kind.is_ours(_regular(path)):
        raise FileExistsError(
            f"cannot write '{path}': it exists, and is not a {kind.name} written by invariance. {CURE} it."
        )
    _check_writable(path, path.parent)
    return _claim(path)


def claim_files(
    folder: Path, paths: Sequence[Path], overwrite: bool = False, reads: Iterable[Path | None] = ()
) -> None:
    """Claim the files that the command will write into a folder, or raise an error if it cannot or must not.

    Parameters
    ----------
    folder : Path
        It may be missing.
    paths : sequence of Path
        All files, in this folder.
    overwrite : bool, default=False
        Whether existing files are replaced.
    reads : iterable of Path or None, default=()
        The files and folders that the command reads; folders without their sub-folders.
    """
    inputs = _Inputs(reads, reads_subfolders=False)
    for path in paths:
        _check_name(path)
        inputs.check(path)
        if path.is_dir():
            raise IsADirectoryError(f"cannot write '{path}': it is a folder. Name a file inside it.")
    existing = [_regular(path) for path in paths if os.path.lexists(path)]
    if existing and not overwrite:
        found = f"{len(existing)} of the {len(paths)} files to write exist, the first is '{existing[0]}'"
        raise FileExistsError(f"cannot write to '{folder}': {found}. {CURE} them, or name another folder with -o.")
    if folder.is_dir():
        _check_writable(folder, folder)
    for path in paths:
        _claim(path)


def check_folder(folder: Path) -> None:
    """Refuse a folder for results that is a file, or that cannot be created because its parent is missing."""
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"cannot write to '{folder}': it is a file. Name a folder.")
    if not folder.parent.is_dir():
        raise FileNotFoundError(
            f"cannot create '{folder}': the folder '{folder.parent}' does not exist. Create it first."
        )


def claim_store(path: Path, reads: Iterable[Path | None] = ()) -> None:
    """Claim the store of a volume, or raise an error if it is, holds or lies in something that is read."""
    _check_name(path)
    check_folder(path)
    place = Path(os.path.realpath(path))
    for read in filter(None, reads):
        other = Path(os.path.realpath(read))
        if place == other or place in other.parents or other in place.parents:
            raise ValueError(f"cannot write '{path}': '{read}' is read by this command. Name another result.")
    keep_blocks(path)


def keep_blocks(path: Path) -> None:
    """Note that the finished blocks of a claimed result are kept if the command is interrupted."""
    _kept.append(path)


def describe_written(path: Path, what: str) -> None:
    """Note what a claimed file that was written is, in a clause, in case the command is interrupted."""
    _described[path] = what


def forget_kept_blocks() -> None:
    """Note that results that were made in blocks are complete."""
    _kept.clear()


def forget_claims() -> None:
    """Begin a command."""
    _claimed.clear()
    _described.clear()
    forget_kept_blocks()


def describe_kept() -> str:
    """Say in a sentence which of the claimed files the command has written, after it was interrupted."""
    if _kept:
        return f"the finished blocks of '{_kept[0]}' are kept. Run the same command again to go on."
    written = [path for path, before in _claimed.items() if _identity(path) not in (None, before)]
    if not written:
        existed = [path for path, before in _claimed.items() if before is not None]
        return f"nothing was written, '{existed[0]}' is as before." if existed else "nothing was written."
    if len(_claimed) == 1:
        what = f": {_described[written[0]]}" if written[0] in _described else ""
        return f"'{written[0]}' was written and is complete{what}."
    return f"{len(written)} of {len(_claimed)} files were written and are complete, the last is '{written[-1]}'."


def _claim(path: Path) -> Path:
    _claimed[path] = _identity(path)
    return path


def _identity(path: Path) -> tuple[int, int] | None:
    """What changes if a file is replaced; None if there is none."""
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


def _regular(path: Path) -> Path:
    """Return a path at which there is a regular file, or a link to one; a device or a pipe is never replaced."""
    if not path.is_file():
        what = "not a regular file" if path.exists() else "a link to a file that does not exist"
        raise FileExistsError(f"cannot write '{path}': it is {what}. Remove it, or name another file.")
    return path


def _check_name(path: Path) -> None:
    """Refuse a name that is longer than the file system allows."""
    n_bytes, limit = len(os.fsencode(path.name)), MAX_NAME_BYTES
    folder = next((parent for parent in path.parents if parent.is_dir()), None)
    if folder is not None and hasattr(os, "pathconf"):
        limit = os.pathconf(folder, "PC_NAME_MAX")
    if n_bytes > limit:
        raise ValueError(
            f"cannot write '{path}': its name has {n_bytes} bytes, but {limit} are the limit. Use a shorter name."
        )


class _Inputs:
    """The files and folders that a command reads, found by any of their names.

    Parameters
    ----------
    paths : iterable of Path or None
    reads_subfolders : bool
        Whether the images in sub-folders of the folders are read as well.
    """

    def __init__(self, paths: Iterable[Path | None], reads_subfolders: bool):
        found = [path for path in paths if path is not None and path.exists()]
        files = [path for path in found if not path.is_dir()]
        self._places = {os.path.realpath(path) for path in files}
        self._nodes = {(status.st_dev, status.st_ino) for status in map(os.stat, files)}
        self._folders = {Path(os.path.realpath(path)): path for path in found if path.is_dir()}
        self._reads_subfolders = reads_subfolders

    def check(self, path: Path) -> None:
        """Refuse to write a file that is read, or that would be read among the images of a folder the next time."""
        place = Path(os.path.realpath(path))
        status = path.stat() if path.exists() else None
        if str(place) in self._places or (status is not None and (status.st_dev, status.st_ino) in self._nodes):
            raise ValueError(
                f"cannot write '{path}': it is read by this command. Name another file, or another folder."
            )
        if self._folders and _is_image_name(path):
            above = list(place.parents)
            for folder in above if self._reads_subfolders else above[:1]:
                if folder in self._folders:
                    raise ValueError(
                        f"cannot write '{path}': the images in '{self._folders[folder]}' are read by this command, and "
                        f"the next time it would be one of them. Name another folder."
                    )


def _is_image_name(path: Path) -> bool:
    from invariance.images.decoding import SUFFIXES

    return path.suffix.lower() in SUFFIXES


def _check_writable(path: Path, folder: Path) -> None:
    try:
        with tempfile.TemporaryFile(dir=folder):
            return
    except OSError as error:
        raise OSError(f"cannot write '{path}': {error.strerror} in '{folder}'. Name another folder.") from error
