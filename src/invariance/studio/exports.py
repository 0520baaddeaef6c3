"""Where exports go, and the command line that repeats a training without the studio.

Nothing is replaced: a second `model.inv` is `model-2.inv`. What a model learned from is kept beside it, in a folder
named after its content: links to the images, and their labels; so the command line stays right when one paints on.
"""

import hashlib
import os
import shlex
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from invariance.images import Layout, page_writer

MAX_NUMBER = 10_000  # exports of one name
MAX_COPY_BYTES = 2**30  # where links are impossible, larger images are not copied


def exports_folder(directory: Path) -> Path:
    """Return the folder of a project for exports, created if it is missing."""
    folder = directory / "exports"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def claim_path(directory: Path, stem: str, suffix: str) -> Path:
    """Return the path of a file to write: STEM.SUFFIX, or STEM-2.SUFFIX and so on if it exists."""
    return next(path for path in _numbered(directory, stem, suffix) if not os.path.lexists(path))


@contextmanager
def new_folder(directory: Path, stem: str) -> Iterator[Path]:
    """Create a folder, STEM, or STEM-2 and so on if it exists; remove it if the work inside fails or is cancelled."""
    folder = next(path for path in _numbered(directory, stem, "") if _is_created(path))
    try:
        yield folder
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _is_created(path: Path) -> bool:
    try:
        path.mkdir()
    except FileExistsError:
        return False
    return True


def _numbered(directory: Path, stem: str, suffix: str) -> Iterator[Path]:
    folder = exports_folder(directory)
    for number in range(1, MAX_NUMBER):
        yield folder / (f"{stem}{suffix}" if number == 1 else f"{stem}-{number}{suffix}")
    raise FileExistsError(f"'{folder}' holds too many exports named '{stem}'. Remove some.")


def flat_stem(name: str) -> str:
    """Return the stem of a file for an image of a sub-folder: `day 1/a.png` gives `day 1-a`."""
    return "-".join(Path(name).with_suffix("").parts)


def unique_stems(names: Iterable[str]) -> dict[str, str]:
    """Return a stem for every name; names that differ in their suffix only keep it, as `a-png` and `a-tif`."""
    names = list(names)
    stems = [flat_stem(name) for name in names]
    return {
        name: stem if stems.count(stem) == 1 else f"{stem}-{Path(name).suffix.lstrip('.')}"
        for name, stem in zip(names, stems, strict=True)
    }


def mask_suffix(path: Path, n_pages: int) -> str:
    """Return the suffix of the mask of an image: TIFF for TIFFs and stacks, as they keep axes and pixel size."""
    return ".tif" if n_pages > 1 or path.suffix.lower() in (".tif", ".tiff") else ".png"


def write_pages(path: Path, layout: Layout, pages: Iterable[np.ndarray]) -> None:
    """Write the pages of one file."""
    with page_writer(path, layout) as write:
        for page in pages:
            write(page)


def link_file(source: Path, target: Path) -> None:
    """Make a file available at another place without copying it, where the file system can."""
    for link in (os.symlink, os.link):
        try:
            link(source.resolve(), target)
        except (OSError, NotImplementedError):
            continue
        return
    if source.stat().st_size > MAX_COPY_BYTES:
        raise OSError(f"'{source}' is too large to be copied into the project. Allow symbolic links on this machine.")
    shutil.copyfile(source, target)


def digest(parts: Iterable[bytes]) -> str:
    """Return a short name for a content."""
    value = hashlib.sha256()
    for part in parts:
        value.update(len(part).to_bytes(8, "little"))
        value.update(part)
    return value.hexdigest()[:10]


def command_line(*words: str | Path) -> str:
    """Return words as they are typed into a shell."""
    return shlex.join(str(word) for word in words)
