"""What the image files of a data set hold, as a digest: stored results are of these values.

The code that reads files may change without outdating results; then the digests tell whether it reads the same values.
"""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from invariance._core.files import atomic_path
from invariance._core.parallel import iterate_jobs
from invariance.datasets._sources import SOURCES, locate
from invariance.images import image_paths, read_stack

FILE = Path(__file__).parents[1] / "docs" / "reproductions" / "data.json"


def digest_of(folder: Path) -> str:
    """Hash of the names, shapes, types and values of all image files of a folder and its sub-folders."""
    whole = hashlib.sha256()
    paths = image_paths(folder, recursive=True)
    for path, part in zip(paths, iterate_jobs(_digest_file, paths, -1, f"reading {folder.name}"), strict=True):
        whole.update(f"{path.relative_to(folder).as_posix()} {part}\n".encode())
    return whole.hexdigest()[:16]


def _digest_file(path: Path) -> str:
    pages = np.ascontiguousarray(read_stack(path))
    return hashlib.sha256(f"{pages.shape} {pages.dtype}".encode() + pages.tobytes()).hexdigest()


def check_data(names: Iterable[str]) -> None:
    """Refuse data sets whose images are not those of the stored results; a new data set is added to the digests.

    Parameters
    ----------
    names : iterable of str
        Data sets that are on this machine; those without image files, or generated, have nothing to check.
    """
    stored = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    for name in names:
        if name not in SOURCES or not image_paths(folder := locate(name), recursive=True):
            continue
        found = digest_of(folder)
        if stored.setdefault(name, found) != found:
            raise ValueError(
                f"the images of '{name}' are read as {found}, but stored results are of {stored[name]}: other files or "
                f"a change in reading. Find out which; remove the line from {FILE} only if all results are run again."
            )
    with atomic_path(FILE) as neighbour:
        neighbour.write_text(json.dumps(dict(sorted(stored.items())), indent=1) + "\n", encoding="utf-8")
