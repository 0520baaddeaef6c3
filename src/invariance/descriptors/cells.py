"""Windows as cells of mean hue, saturation and lightness, and the Haar wavelet transform of these cells.

The mean of any rectangle comes from four entries of a table of sums, so that windows of all sizes take the same time.
"""

import numpy as np

from invariance._core.checks import check_count
from invariance.descriptors import _jit
from invariance.descriptors.protocol import WindowDescriptor
from invariance.images import check_boxes, check_image, check_range
from invariance.transformations import Scales, Shifts


class HslPatches(WindowDescriptor):
    """Cells of mean hue, saturation and lightness of every window, the colour descriptor of [Moosmann06] sec. 4.

    Parameters
    ----------
    size : int, default=16
        A window is divided into `size` x `size` cells. Its vector is (size, size, 3) flattened, values in [0, 1]; a
        grey image has lightness only, and vectors of size² values.

    Notes
    -----
    Differs from [Moosmann06], which does not say how: the image is converted before its windows are averaged, so that
    one table of sums serves them all. Hue is averaged as a number, not as an angle: cells where reds from both ends of
    the scale meet have a hue in between.
    """

    def __init__(self, size: int = 16):
        self.size = size

    @property
    def invariances(self):
        """The kinds of transformations that leave a vector unchanged if its window follows."""
        return (Shifts, Scales)

    def _describe(self, image, windows):
        return describe_cells(to_hsl(image), windows, check_count("size", self.size))


class HaarPatches(WindowDescriptor):
    """The orthonormal Haar transform of `HslPatches`, channel by channel: the wavelets of [Moosmann06] sec. 4.

    Parameters
    ----------
    size : int, default=16
        A power of two. A vector is (size, size, 3) flattened, (size, size) for a grey image.

    Notes
    -----
    It is the non-standard (square) decomposition: at each scale rows and columns are halved together, so each value
    but the mean compares the left and right, upper and lower or diagonal halves of one square.

    The values lie in place, not scale by scale: at (i, j), with s the largest power of two that divides both, is the
    square of 2s cells at (i, j) rounded down to multiples of 2s. Its left and right halves differ by this value if
    j is an odd multiple of s, its upper and lower ones if i is. The value at (0, 0) is `size` times the window's mean.
    """

    def __init__(self, size: int = 16):
        self.size = size

    @property
    def invariances(self):
        """The kinds of transformations that leave a vector unchanged if its window follows."""
        return (Shifts, Scales)

    def _describe(self, image, windows):
        size = check_count("size", self.size)
        if size & (size - 1):
            raise ValueError(f"size must be a power of two, to be halved; got {size}. Try {1 << size.bit_length()}.")
        return describe_cells(to_hsl(image), windows, size, wavelets=True)


def to_hsl(image: np.ndarray) -> np.ndarray:
    """Convert an image of any dtype to float32: colour to hue, saturation and lightness in [0, 1], (h, w, 3).

    A grey image (h, w) stays as it is.
    """
    import cv2

    image = check_image(image)
    if image.ndim == 2:
        return image
    hue, lightness, saturation = cv2.split(cv2.cvtColor(check_range(image), cv2.COLOR_RGB2HLS))
    # OpenCV counts hue in degrees, and rounds some saturations to a little over 1.
    return np.dstack([hue / 360, saturation.clip(0, 1), lightness])


def describe_cells(planes: np.ndarray, windows: np.ndarray, size: int, wavelets: bool = False) -> np.ndarray:
    """Means of the cells of windows.

    Parameters
    ----------
    planes : ndarray of shape (h, w) or (h, w, c), float32
        Pixels are squares of one value, so a cell smaller than a pixel has that pixel's value: unlike
        `images.resample_boxes`, which interpolates windows smaller than `size`, and averages larger ones like this.
    windows : ndarray of shape (n, 3), int
        Top, left and side of every window.
    size : int
        Cells per side of a window.
    wavelets : bool, default=False
        Whether a row is the Haar transform of the means.

    Returns
    -------
    ndarray of shape (n, size * size * c), float32
        A row is (size, size, c) flattened.
    """
    import cv2

    windows = check_boxes(windows, planes.shape)
    n_channels = planes.shape[2] if planes.ndim == 3 else 1
    # 64 bits: in an image of a million pixels float32 would keep a cell's mean to two digits only.
    table = cv2.integral(planes, sdepth=cv2.CV_64F).reshape(len(planes) + 1, -1)
    described = np.empty((len(windows), size * size * n_channels), np.float32)
    _jit.average_cells(table, n_channels, windows, size, wavelets, described)
    return described
