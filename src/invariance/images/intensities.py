"""How stored numbers become intensities: what value is white."""

import numpy as np

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
