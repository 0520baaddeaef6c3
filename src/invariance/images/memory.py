"""The memory that reading an image takes, estimated from its header, so that a large one is refused before decoding."""

from pathlib import Path

import numpy as np

from invariance.images.intensities import white_of
from invariance.images.pages import ImageError

MAX_IMAGE_BYTES = 2**31  # what reading one image may take
# Per value: copies as stored (of the decoder, of Pillow, of numpy), and float32 that scaling and compositing make.
_STORED_COPIES, _FLOAT_BYTES, _COMPOSITE_BYTES, _NO_WHITE_BYTES = 3, 4, 12, 28


def check_memory(path: Path, size: tuple[int, int], n_channels: int, dtype: np.dtype, has_alpha: bool = False) -> None:
    """Refuse an image that would take more than `MAX_IMAGE_BYTES` to read, before it is decoded.

    Parameters
    ----------
    path : Path
    size : tuple of two int
        Height and width.
    n_channels : int
        With alpha.
    dtype : dtype
        Of the values as stored.
    has_alpha : bool, default=False
    """
    floats = _NO_WHITE_BYTES if white_of(dtype) is None else _COMPOSITE_BYTES if has_alpha else _FLOAT_BYTES
    needed = size[0] * size[1] * n_channels * (_STORED_COPIES * np.dtype(dtype).itemsize + floats)
    if needed > MAX_IMAGE_BYTES:
        raise ImageError(
            f"image '{path}' of {size[0]} x {size[1]} pixels would take {needed / 2**30:.1f} GB of memory to read; "
            f"the limit is {MAX_IMAGE_BYTES / 2**30:g} GB. Shrink it or cut it into parts."
        )
