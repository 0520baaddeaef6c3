"""Reading image files: PNG, JPEG, TIFF, GIF, BMP and WebP to float32 in [0, 1], masks to their own integers."""

import os
from pathlib import Path

import numpy as np

from invariance.images.decoding import decode
from invariance.images.errors import ImageError
from invariance.images.intensities import as_float32, between, black_and_white
from invariance.images.pages import Pages

SUFFIXES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".gif", ".bmp", ".webp")


def read_image(path: str | os.PathLike) -> np.ndarray:
    """One image as float32 in [0, 1]: (h, w) if grey, else (h, w, c) with the file's channels.

    Palettes become RGB or RGBA (grey if all their colours are), CMYK becomes RGB, 1-bit images become grey; the
    orientation tag is obeyed. Values are divided by the file's white: 1, 255, 65535, or 2**b - 1 for a TIFF of b <= 16
    bits. Floats in [0, 1] stay as they are. Signed and 32-bit integers and other floats (a micrograph in electrons, a
    height map) have no agreed white: they are mapped linearly, the file's least value to 0 and its greatest to 1, so
    their absolute level is lost.
    """
    path = Path(path)
    return _in_unit_range(path, decode(path, one_page=True, stored=False))[0]


def read_stack(path: str | os.PathLike) -> np.ndarray:
    """All pages of a TIFF, or frames of an animation, as float32 in [0, 1]: (pages, h, w) or (pages, h, w, c).

    A file of one page gives a stack of 1. Intensities as in `read_image`, with one mapping for all pages.
    """
    path = Path(path)
    return _in_unit_range(path, decode(path, one_page=False, stored=False))


def read_mask(path: str | os.PathLike) -> np.ndarray:
    """A label image (h, w) with the file's own integers, never scaled; a palette image gives its indices."""
    path = Path(path)
    return _labels(path, decode(path, one_page=True, stored=True).values)[0]


def read_mask_stack(path: str | os.PathLike) -> np.ndarray:
    """All pages of a label file (pages, h, w), as `read_mask` reads one."""
    path = Path(path)
    return _labels(path, decode(path, one_page=False, stored=True).values)


def image_paths(folder: str | os.PathLike, *, recursive: bool = False) -> list[Path]:
    """The image files of a folder by their suffixes, sorted; hidden files and hidden folders are left out."""
    folder = check_folder(folder)
    found = folder.rglob("*") if recursive else folder.iterdir()
    return sorted(
        path
        for path in found
        if path.suffix.lower() in SUFFIXES
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
        and path.is_file()
    )


def check_folder(folder: str | os.PathLike) -> Path:
    """The folder as a Path, if it is one."""
    folder = Path(folder)
    if not folder.exists():
        raise ImageError(f"folder '{folder}' does not exist. Check the path.")
    if not folder.is_dir():
        raise ImageError(f"'{folder}' is a file, but a folder was expected. Name the folder that holds it.")
    return folder


def _in_unit_range(path: Path, pages: Pages) -> np.ndarray:
    if pages.white is not None:
        return as_float32(pages.values, pages.white)
    return between(pages.values, *black_and_white(path, [pages.values]))


def _labels(path: Path, values: np.ndarray) -> np.ndarray:
    if values.ndim == 4:
        # Many programs save masks as RGB or with an opaque alpha: exact, as long as the colours say one number.
        colours = values[..., :1] if values.shape[-1] == 2 else values[..., :3]
        if (colours != colours[..., :1]).any():
            raise ImageError(f"mask '{path}' is in colour, but a mask holds one integer a pixel. Save it as grey.")
        values = colours[..., 0]
    if values.dtype.kind == "f":
        if not np.array_equal(values, np.rint(values)):
            raise ImageError(f"mask '{path}' holds fractions or NaN, but a mask holds integers. Round its values.")
        return values.astype(np.int64)
    return np.ascontiguousarray(values, dtype=np.uint8 if values.dtype == bool else values.dtype.newbyteorder("="))
