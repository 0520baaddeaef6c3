"""Reading image files: images to float32 in [0, 1], masks to their own integers. The formats are in decoding.py."""

import os
from pathlib import Path

import numpy as np

from invariance._core.checks import check_choice
from invariance.images.decoding import decode, format_name
from invariance.images.intensities import black_and_white, in_unit_range
from invariance.images.pages import ImageError, Pages, out_of_memory

_MAX_LABEL = 2.0**53  # floats up to here are exact integers
_MAX_JPEG_LABELS = 2  # a JPEG with more values than black and white has lost its labels


def read_image(path: str | os.PathLike, *, alpha: str = "composite") -> np.ndarray:
    """Read one image.

    Palettes become RGB (grey if all their colours are), CMYK becomes RGB, 1-bit images become grey, and the
    orientation tag is applied. Values are divided by the white of the file: 1, 255, 65535, `2**b - 1` for a TIFF of
    b <= 16 bits, or the white that a TIFF states (a camera of 12 bits whose values are stored in 16). Floats in [0, 1]
    are not scaled. Signed and 32-bit integers and other floats (a micrograph in electrons, a height map) have no agreed
    white: they are mapped linearly, the smallest value of the file to 0 and the largest to 1, so their absolute level
    is lost. Transparent images are laid over white.

    Parameters
    ----------
    path : str or path-like
    alpha : {"composite", "keep"}, default="composite"
        Whether a transparent image is laid over white, or its opacity is kept as the last channel.

    Returns
    -------
    image : ndarray of shape (h, w) or (h, w, c), float32
        In [0, 1], with the channels of the file.

    Raises
    ------
    ImageError
        If the file is missing, damaged, of an unknown format, has several pages, or would take more than 2 GB of memory
        to read (estimated as 3 times its bytes as stored, and per value 4 bytes, 12 if it is transparent, 28 if its
        white is not agreed).
    """
    path = Path(path)
    pages = decode(path, one_page=True, stored=False)
    if check_choice("alpha", alpha, ("composite", "keep")) == "keep":
        pages = pages._replace(alpha=None)
    return _in_unit_range(path, pages)[0]


def read_compact(path: str | os.PathLike) -> np.ndarray:
    """Read one image as `read_image` does, but keep 8 bits where the file has them: a quarter of the memory.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    image : ndarray of shape (h, w) or (h, w, c), uint8 or float32, C-ordered
        Divided by 255 if it is uint8, it is what `read_image` returns.
    """
    path = Path(path)
    pages = decode(path, one_page=True, stored=False)
    if pages.alpha is None and pages.values.dtype == np.uint8 and pages.white == np.iinfo(np.uint8).max:
        return np.ascontiguousarray(pages.values[0])
    return _in_unit_range(path, pages)[0]


def read_stack(path: str | os.PathLike) -> np.ndarray:
    """Read all pages of a TIFF, or all frames of an animation.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    stack : ndarray of shape (pages, h, w) or (pages, h, w, c), float32
        In [0, 1], as in `read_image`, with the same mapping for all pages; transparent pages are laid over white.
    """
    path = Path(path)
    return _in_unit_range(path, decode(path, one_page=False, stored=False))


def read_mask(path: str | os.PathLike) -> np.ndarray:
    """Read a label image.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    mask : ndarray of shape (h, w), integer
        The integers of the file as stored, never scaled, inverted or laid over a background; the indices of a palette
        image.

    Raises
    ------
    ImageError
        As for `read_image`, and if the values are colours, fractions, not finite, or changed by JPEG.
    """
    path = Path(path)
    return _labels(path, decode(path, one_page=True, stored=True).values)[0]


def read_mask_stack(path: str | os.PathLike) -> np.ndarray:
    """Read all pages of a label file.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    masks : ndarray of shape (pages, h, w), integer
        As in `read_mask`.
    """
    path = Path(path)
    return _labels(path, decode(path, one_page=False, stored=True).values)


def _in_unit_range(path: Path, pages: Pages) -> np.ndarray:
    """Scale pages to float32 in [0, 1], without opacity."""
    try:
        extremes = black_and_white(path, [pages]) if pages.white is None else None
        return in_unit_range(pages, extremes)
    except MemoryError as error:
        raise out_of_memory(path) from error


def _labels(path: Path, values: np.ndarray) -> np.ndarray:
    """Return stored values as labels (pages, h, w), or say why they are none."""
    if values.ndim == 4:
        # Many programs save masks as RGB or with an opaque alpha: exact, as long as all channels agree.
        colours = values[..., :1] if values.shape[-1] == 2 else values[..., :3]
        if (colours != colours[..., :1]).any():
            raise ImageError(
                f"mask '{path}' is in colour, but a mask holds one integer per pixel. Save it as grey; if it is a "
                f"stack of {colours.shape[-1]} masks that was written as one colour image, save it as grey pages."
            )
        values = colours[..., 0]
    if values.dtype.kind == "f":
        n_bad = int(np.count_nonzero(~(np.abs(values) < _MAX_LABEL)))
        if n_bad:
            raise ImageError(
                f"mask '{path}' holds NaN, infinity or huge numbers at {n_bad} of {values.size} pixels, "
                f"but a mask holds integers. Replace them."
            )
        if not np.array_equal(values, np.rint(values)):
            raise ImageError(f"mask '{path}' holds fractions, but a mask holds integers. Round its values.")
        return values.astype(np.int64)
    if format_name(path) == "JPEG" and len(np.unique(values)) > _MAX_JPEG_LABELS:
        raise ImageError(
            f"mask '{path}' holds {len(np.unique(values))} values, because JPEG changes labels at their edges. "
            f"Export the mask again as PNG or TIFF."
        )
    return np.ascontiguousarray(values, dtype=np.uint8 if values.dtype == bool else values.dtype.newbyteorder("="))
