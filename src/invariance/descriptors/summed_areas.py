"""The mean of any rectangle from four sums: windows of any size cost the same."""

import numpy as np

from invariance.descriptors import _jit
from invariance.images import check_boxes


def describe_cells(planes: np.ndarray, boxes: np.ndarray, size: int, wavelets: bool = False) -> np.ndarray:
    """The windows `boxes` (n, 3) of float32 planes (h, w) or (h, w, c) as size x size means: (n, size * size * c).

    A row is (size, size, c) made flat, float32; with `wavelets` it is the Haar transform of the means. Pixels are
    squares of one value, so a cell smaller than a pixel has that pixel's value: unlike `images.resample_boxes`, which
    interpolates windows smaller than `size`, and averages larger ones like this.
    """
    import cv2

    boxes = check_boxes(boxes, planes.shape)
    n_channels = planes.shape[2] if planes.ndim == 3 else 1
    # 64 bits: in an image of a million pixels float32 would keep a cell's mean to two digits only.
    table = cv2.integral(planes, sdepth=cv2.CV_64F).reshape(len(planes) + 1, -1)
    described = np.empty((len(boxes), size * size * n_channels), np.float32)
    _jit.average_cells(table, n_channels, boxes, size, wavelets, described)
    return described
