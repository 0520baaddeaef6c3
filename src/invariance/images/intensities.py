"""How stored numbers become intensities: what value is white."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from invariance.images.errors import ImageError

_WHITE = {np.dtype(bool): 1, np.dtype(np.uint8): 255, np.dtype(np.uint16): 65535}


def white_of(dtype: np.dtype) -> int | None:
    """The value that means white in a dtype; None where that is not agreed (signed, 32 bits, float)."""
    return _WHITE.get(np.dtype(dtype).newbyteorder("="))


def as_float32(values: np.ndarray, white: int | None = None) -> np.ndarray:
    """Intensities as C-ordered float32: bool as 0 and 1, uint8 / 255, uint16 / 65535, others cast as they are.

    `white` overrides the dtype's (a 12-bit camera stores its white as 4095 in uint16). A C-ordered float32 array comes
    back itself, not as a copy: do not write into it.
    """
    values = np.asarray(values)
    white = white_of(values.dtype) if white is None else white
    try:
        with np.errstate(over="raise"):
            floats = values.astype(np.float32, order="C", copy=False)
    except FloatingPointError:
        raise ValueError("image values must fit float32 (up to 3.4e38); got larger ones. Rescale them.") from None
    return floats if white in (None, 1) else floats / np.float32(white)


def black_and_white(path: Path, pages: Iterable[np.ndarray]) -> tuple[float, float]:
    """The values that become 0 and 1 where no white is agreed, in one pass over the pages of the file `path`.

    These are 0 and 1 themselves for floats that lie between them, else the file's least and greatest value.
    """
    least, greatest, n_bad, n_values = np.inf, -np.inf, 0, 0
    for values in pages:
        if values.dtype.kind == "c":
            raise ImageError(f"image '{path}' holds complex numbers. Save their magnitude instead.")
        n_values += values.size
        n_bad += values.size - int(np.count_nonzero(np.isfinite(values)))
        least, greatest = min(least, float(values.min())), max(greatest, float(values.max()))
    if n_bad:
        raise ImageError(f"image '{path}' holds NaN or infinity at {n_bad} of {n_values} values. Replace them.")
    is_unit = values.dtype.kind == "f" and least >= 0 and greatest <= 1
    return (0.0, 1.0) if is_unit else (least, greatest)


def between(values: np.ndarray, black: float, white: float) -> np.ndarray:
    """Values as float32, mapped linearly so that black becomes 0 and white 1; all 0 if these are equal."""
    return as_float32((values.astype(np.float64) - black) / (white - black or 1.0))
