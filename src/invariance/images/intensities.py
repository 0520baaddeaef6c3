"""How stored numbers become intensities: which value is white."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from invariance.images.pages import ImageError, Pages
from invariance.images.transparency import over_background

_WHITE = {np.dtype(bool): 1, np.dtype(np.uint8): 255, np.dtype(np.uint16): 65535}


def white_of(dtype: np.dtype) -> int | None:
    """Return the value that means white in a dtype; None where that is not agreed (signed, 32 bits, float)."""
    return _WHITE.get(np.dtype(dtype).newbyteorder("="))


def as_float32(values: np.ndarray, white: int | None = None) -> np.ndarray:
    """Convert intensities to float32: bool to 0 and 1, uint8 / 255, uint16 / 65535, others without scaling.

    Parameters
    ----------
    values : array-like
    white : int, default=None
        The value that becomes 1; None takes that of the dtype. A 12-bit camera stores white as 4095 in uint16.

    Returns
    -------
    floats : ndarray, float32, C-ordered
        A C-ordered float32 array is returned itself, not as a copy: do not write into it.
    """
    values = np.asarray(values)
    white = white_of(values.dtype) if white is None else white
    try:
        with np.errstate(over="raise"):
            floats = values.astype(np.float32, order="C", copy=False)
    except FloatingPointError:
        raise ValueError("image values must fit float32 (up to 3.4e38); got larger ones. Rescale them.") from None
    if white in (None, 1):
        return floats
    if floats is values or np.may_share_memory(floats, values):
        return floats / np.float32(white)
    floats /= np.float32(white)
    return floats


def black_and_white(path: Path, pages: Iterable[Pages]) -> tuple[float, float]:
    """Find the values that become 0 and 1 where no white is agreed, in one pass over the pages.

    Parameters
    ----------
    path : Path
        The file, for errors.
    pages : iterable of Pages

    Returns
    -------
    black, white : float
        0 and 1 for floats that lie between them, else the smallest and the largest value of the file.
    """
    lowest, highest, n_bad, n_values = np.inf, -np.inf, 0, 0
    for page in pages:
        values, colours = page.values, page.colours
        if values.dtype.kind == "c":
            raise ImageError(f"image '{path}' holds complex numbers. Save their magnitude instead.")
        n_values += values.size
        n_bad += values.size - int(np.count_nonzero(np.isfinite(values)))
        lowest, highest = min(lowest, float(colours.min())), max(highest, float(colours.max()))
    if n_bad:
        raise ImageError(f"image '{path}' holds NaN or infinity at {n_bad} of {n_values} values. Replace them.")
    is_unit = values.dtype.kind == "f" and lowest >= 0 and highest <= 1
    return (0.0, 1.0) if is_unit else (lowest, highest)


def between(values: np.ndarray, black: float, white: float) -> np.ndarray:
    """Map values linearly to float32 so that black becomes 0 and white 1; all become 0 if these are equal."""
    return as_float32((values.astype(np.float64) - black) / (white - black or 1.0))


def in_unit_range(pages: Pages, extremes: tuple[float, float] | None) -> np.ndarray:
    """Scale pages to float32 in [0, 1] and lay transparent ones over the background.

    Parameters
    ----------
    pages : Pages
    extremes : tuple of two float or None
        The values that become 0 and 1 where `pages.white` is None, as `black_and_white` finds them.

    Returns
    -------
    images : ndarray of shape (pages, h, w) or (pages, h, w, c), float32
        Without opacity.
    """
    if pages.white is None:
        colours = between(pages.colours, *(extremes or (0.0, 1.0)))
    else:
        colours = as_float32(pages.colours, pages.white)
    if pages.alpha is None:
        return colours
    opacity = _opacity(pages)
    if (opacity == 1).all():
        return colours
    grey = colours.ndim == 3
    composite = over_background(colours[..., None] if grey else colours, opacity, pages.alpha == "premultiplied")
    return composite[..., 0] if grey else composite


def _opacity(pages: Pages) -> np.ndarray:
    """Return the last channel as float32 in [0, 1]; integers are opaque at the largest value of their dtype."""
    stored = pages.values[..., -1]
    if stored.dtype.kind in "iu":
        return as_float32(stored, np.iinfo(stored.dtype).max)
    return as_float32(np.clip(stored, 0, 1))
