"""Listing the images of a folder, and what in it is left out, with the reason."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from invariance.images.decoding import SUFFIXES, known_format
from invariance.images.pages import ImageError

# Suffixes of images that are not read. Other files (notes, tables) lie beside images on purpose.
UNREAD_SUFFIXES = frozenset({
    ".heic", ".heif", ".avif", ".jp2", ".j2k", ".jxl", ".svg", ".ico", ".psd", ".xcf", ".exr", ".hdr", ".tga", ".pbm",
    ".pgm", ".ppm", ".pnm", ".cr2", ".cr3", ".nef", ".arw", ".dng", ".orf", ".rw2", ".raw", ".dcm", ".nii", ".mrc",
    ".czi", ".lif", ".nd2", ".lsm", ".svs", ".ndpi", ".vsi", ".eps",
})  # fmt: skip
_MIN_SIGNATURE = 3  # bytes: two are too few to tell that a file without a known suffix is an image
_RIFF, _WEBP = b"RIFF", b"WEBP"  # sounds and films begin with the first alone


class Listing(NamedTuple):
    """The files of a folder.

    Attributes
    ----------
    paths : list of Path
        Images by their suffixes, sorted.
    left_out : list of (Path, str)
        Images of unsupported formats or suffixes and folders that were not read, with the reason.
    """

    paths: list[Path]
    left_out: list[tuple[Path, str]]


def list_images(folder: str | os.PathLike, *, recursive: bool = False) -> Listing:
    """List the images of a folder and what is left out; hidden files and folders are neither.

    Parameters
    ----------
    folder : str or path-like
    recursive : bool, default=False
        Whether sub-folders are searched as well; otherwise those that hold images are left out. Links to folders are
        not followed.

    Returns
    -------
    listing : Listing
    """
    left_out: list[tuple[Path, str]] = []
    return Listing(list(iterate_images(folder, left_out, recursive=recursive)), sorted(left_out))


def iterate_images(
    folder: str | os.PathLike, left_out: list[tuple[Path, str]], *, recursive: bool = False
) -> Iterator[Path]:
    """Yield the images of a folder as `list_images` lists them, one by one, since there may be millions.

    Parameters
    ----------
    folder : str or path-like
    left_out : list of (Path, str)
        What is left out is appended, with the reason.
    recursive : bool, default=False
        Whether sub-folders are searched as well.

    Yields
    ------
    path : Path
        Sorted by the parts of the path.
    """
    for path in _walk(check_folder(folder), recursive, left_out):
        if _has_known_suffix(path):
            yield path
        elif (reason := _why_unread(path)) is not None:
            left_out.append((path, reason))


def image_paths(folder: str | os.PathLike, *, recursive: bool = False) -> list[Path]:
    """List the image files of a folder by their suffixes, sorted.

    Parameters
    ----------
    folder : str or path-like
    recursive : bool, default=False
        Whether sub-folders are searched as well.

    Returns
    -------
    paths : list of Path
        Without hidden files and without files in hidden folders.
    """
    return [path for path in _walk(check_folder(folder), recursive) if _has_known_suffix(path)]


def check_folder(folder: str | os.PathLike) -> Path:
    """Return the folder as a Path, or raise an error if it is not a folder that can be read."""
    folder = Path(folder)
    if not folder.exists():
        raise ImageError(f"folder '{folder}' does not exist. Check the path.")
    if not folder.is_dir():
        raise ImageError(f"'{folder}' is a file, but a folder was expected. Name the folder that holds it.")
    try:
        os.scandir(folder).close()
    except OSError as error:
        raise ImageError(_unreadable(folder, error)) from error
    return folder


def _walk(folder: Path, recursive: bool, left_out: list[tuple[Path, str]] | None = None) -> Iterator[Path]:
    """Yield the files of a folder, sorted; what is not searched is appended to `left_out`."""
    noted = [] if left_out is None else left_out
    try:
        # Only names are kept, which take a fraction of the memory of paths.
        names = sorted((path.name for path in folder.iterdir()), key=os.path.normcase)
    except OSError as error:
        noted.append((folder, _unreadable(folder, error)))
        return
    for path in map(folder.joinpath, names):
        if path.name.startswith("."):
            continue
        if path.is_file():
            yield path
        elif path.is_dir() and recursive and path.is_symlink():
            noted.append((path, f"folder '{path}' is a link, which is not followed. Name the folder itself."))
        elif path.is_dir() and recursive:
            yield from _walk(path, recursive, left_out)
        elif path.is_dir() and left_out is not None and any(map(_has_known_suffix, _walk(path, recursive=True))):
            noted.append((path, f"folder '{path}' holds images, but sub-folders are not read. Name it as well."))


def _unreadable(folder: Path, error: OSError) -> str:
    return f"folder '{folder}' cannot be read ({error.strerror}). Check its permissions."


def _has_known_suffix(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES


def _why_unread(path: Path) -> str | None:
    """Say why a file that is an image is not read; None for files that are none."""
    suffix = path.suffix.lower()
    if suffix in UNREAD_SUFFIXES:
        return f"'{path}' is a {suffix} file, which is not read. Convert it to PNG or TIFF."
    try:
        with path.open("rb") as file:
            header = file.read(12)
    except OSError:
        return None
    found = known_format(header, _MIN_SIGNATURE)
    if found is None or (header.startswith(_RIFF) and not header.endswith(_WEBP)):
        return None
    return f"'{path}' is a {found.name} image, but its name does not end in {' or '.join(found.suffixes)}. Rename it."
