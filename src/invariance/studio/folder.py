"""The image files of the opened folder: their ids, names and sizes, read from as little of each file as possible."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from invariance.images import ImageError
from invariance.images.decoding import format_name
from invariance.images.pages import ORIENTATION_TAG
from invariance.studio.pages import list_pages, open_pages
from invariance.studio.project import Project

GREY_MODES = ("1", "L", "LA", "La", "I", "F")
_TRANSPOSED = (5, 6, 7, 8)  # orientations in which rows are stored as columns


class Source(NamedTuple):
    """An image file.

    Attributes
    ----------
    id : int
    name : str
        The path in the folder, with slashes.
    path : Path
        Absolute.
    n_pages, height, width, n_channels : int
        0 if it cannot be read.
    error : str or None
        Why it cannot be read.
    """

    id: int
    name: str
    path: Path
    n_pages: int = 0
    height: int = 0
    width: int = 0
    n_channels: int = 0
    error: str | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of a page, (h, w) or (h, w, c)."""
        return (self.height, self.width) if self.n_channels == 1 else (self.height, self.width, self.n_channels)


# What pages, height, width and channels a file has, from as little of it as possible.
Probe = Callable[[Path], tuple[int, int, int, int]]


def find_images(project: Project) -> list[Source]:
    """List the images of the folder, without those of the project, and read their sizes where these are not known."""
    found = []
    # By their names alone: whoever opens and closes the file of the project in this process takes its locks away.
    for path in list_pages(project.folder):
        real = Path(os.path.realpath(path))
        if real.is_relative_to(project.folder) and not real.is_relative_to(project.directory):
            found.append(path)
    keys = [os.fsencode(path.relative_to(project.folder)) for path in found]
    registered, painted = project.register_images(keys), project.painted_images()
    noted: dict[int, dict[str, Any]] = {}
    sources = []
    for path, key in zip(found, keys, strict=True):
        number, known = registered[key]
        name = key.replace(os.fsencode(os.sep), b"/").decode("utf-8", "replace")
        source, news = _describe(Source(number, name, path), known, number in painted)
        sources.append(source)
        if news is not None:
            noted[number] = news
    project.note_images(noted)
    return sources


def _describe(source: Source, known: dict[str, Any] | None, is_painted: bool) -> tuple[Source, dict[str, Any] | None]:
    """Return an image with its size, and what is to be noted of it; None if that was known."""
    try:
        status = source.path.stat()
        stamp = [status.st_size, status.st_mtime_ns]
        if known is not None and known["stamp"] == stamp:
            return source._replace(**known["size"]), None
        n_pages, height, width, n_channels = probe(source.path)
    except (ImageError, OSError, ValueError) as error:
        return source._replace(error=str(error)), None
    size: dict[str, Any] = {"n_pages": n_pages, "height": height, "width": width, "n_channels": n_channels}
    if is_painted and known is not None and known["size"] != size:
        return source._replace(error=f"image '{source.name}' has another size than before. Restore the old one."), None
    return source._replace(**size), {"stamp": stamp, "size": size}


def probe(path: Path) -> tuple[int, int, int, int]:
    """Return the number of pages, height, width and number of channels of a file."""
    return _probe_stack(path) if path.is_dir() else PROBES.get(format_name(path), _probe_header)(path)


def _probe_stack(path: Path) -> tuple[int, int, int, int]:
    shape = open_pages(path).shape
    return shape[0], shape[1], shape[2], shape[3] if len(shape) == 4 else 1


def _probe_header(path: Path) -> tuple[int, int, int, int]:
    """Read the header of a file with one page; its pixels are decoded only if it says too little."""
    from PIL import Image

    try:
        with Image.open(path) as image:
            n_pages = 1 if image.format == "MPO" else getattr(image, "n_frames", 1)
            mode, (width, height) = image.mode, image.size
            orientation = image.getexif().get(ORIENTATION_TAG, 1)
    except Exception:  # damaged; our own decoder says what is wrong
        return _probe_stack(path)
    is_grey = mode in GREY_MODES or mode.startswith("I;16")
    if n_pages != 1 or mode in ("P", "PA") or min(width, height) < 1:
        return _probe_stack(path)
    if orientation in _TRANSPOSED:
        width, height = height, width
    return 1, height, width, 1 if is_grey else 3


# How files of a format are probed; others by their headers. A further kind of source adds a line here.
PROBES: dict[str, Probe] = {"TIFF": _probe_stack}


def check_inside(path: Path, folder: Path) -> None:
    """Refuse a file that is, or whose folder is, a link out of a folder."""
    if not Path(os.path.realpath(path)).is_relative_to(folder):
        raise ImageError(f"'{path}' is a link out of '{folder}', which is not followed. Copy the file.")
