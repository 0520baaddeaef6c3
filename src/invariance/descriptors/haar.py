"""Windows described by their Haar wavelet transform: means and differences of means, from coarse to fine."""

import numpy as np
from sklearn.base import BaseEstimator

from invariance._core.checks import check_count
from invariance.descriptors.hsl import to_hsl
from invariance.descriptors.summed_areas import describe_cells


class HaarPatches(BaseEstimator):
    """The orthonormal 2-D Haar transform of `HslPatches`, channel by channel, the wavelets of [Moosmann06] sec. 4.

    It is the non-standard (square) decomposition: at each scale rows and columns are halved together, so each value
    but the mean compares the left and right, upper and lower or diagonal halves of one square. `size` is a power of
    two. A vector is (size, size, 3) made flat, 768 values by default; 256 for a grey image, which has lightness alone.

    The values lie in place, not scale by scale: at (i, j), with s the largest power of two that divides both, is the
    square of 2s cells at (i, j) rounded down to multiples of 2s. Its left and right halves differ by this value if
    j is an odd multiple of s, its upper and lower ones if i is. The value at (0, 0) is `size` times the window's mean.
    """

    def __init__(self, size: int = 16):
        self.size = size

    @property
    def invariances(self) -> tuple[str, ...]:
        """What leaves the vector unchanged, if the window follows."""
        return ("position", "scale")

    def describe(self, image: np.ndarray, boxes: np.ndarray) -> np.ndarray:
        """The windows `boxes` (n, 3) of top, left, side of an image (h, w) or (h, w, 3 or 4) as float32 (n, D)."""
        size = check_count("size", self.size)
        if size & (size - 1):
            raise ValueError(f"size must be a power of two, to be halved; got {size}. Try {1 << size.bit_length()}.")
        return describe_cells(to_hsl(image), boxes, size, wavelets=True)
