"""Windows described by histograms of their gradients' orientations: SIFT without its detector."""

import numpy as np
from sklearn.preprocessing import normalize

from invariance.descriptors.protocol import WindowDescriptor
from invariance.images import check_range, to_grey
from invariance.transformations import Brightness, Contrast, Scales, Shifts

N_VALUES = 128
# OpenCV's scale space: its first image is blurred to this width, every third of them is twice as wide.
FIRST_BLUR = 1.6
N_LAYERS = 3
# OpenCV rounds halves to the even pixel: a window of even side would be seen a pixel to the left or to the right,
# depending on where it lies. A little more than a half goes one way.
NUDGE = 0.01


class SiftWindows(WindowDescriptor):
    """The grey SIFT of every window by OpenCV, 4 x 4 histograms of 8 orientations: 128 values, [Moosmann06] sec. 4.

    Notes
    -----
    The histograms just cover the window (gradients up to half a histogram outside have their share in it) and are
    upright. Large windows are described in a reduced image, blurred as for a detected point of that size; no image is
    enlarged, so windows under 20 pixels are described with more blur. Vectors have length 1, or are 0 where the window
    is flat. OpenCV rounds images to 8 bits, a window's middle to a pixel of its reduced image, and values to 1/512.
    """

    @property
    def invariances(self):
        """The kinds of transformations that leave a vector unchanged if its window follows, up to rounding and blur."""
        return (Shifts, Scales, Brightness, Contrast)

    def _describe(self, image, windows):
        import cv2

        grey = np.rint(255 * check_range(to_grey(image))).astype(np.uint8)
        if len(windows) == 0:
            return np.empty((0, N_VALUES), np.float32)
        sift = cv2.SIFT.create(nOctaveLayers=N_LAYERS, sigma=FIRST_BLUR)
        _, histograms = sift.compute(grey, [cv2.KeyPoint(*point) for point in place_keypoints(windows)])
        return normalize(histograms, copy=False)


def place_keypoints(windows: np.ndarray) -> list[tuple[float, float, float, float, float, int]]:
    """OpenCV's (x, y, size, angle, response, octave) of points whose 4 x 4 histograms cover the windows (n, 3).

    OpenCV takes a point's size for twice the blur it was found at, and makes a histogram 3/2 sizes wide: 6 sizes are a
    side. Its octave field holds how often the image is halved, and in the second byte the layer of blur thereafter.
    """
    tops, lefts, sides = windows.T
    sizes = sides / 6
    levels = np.rint(N_LAYERS * np.log2(sizes / 2 / FIRST_BLUR)).astype(int).clip(0)
    octaves, layers = np.divmod(levels, N_LAYERS)
    middles, nothing = (sides - 1) / 2 + NUDGE, np.zeros(len(windows))
    columns = (lefts + middles, tops + middles, sizes, nothing, nothing, octaves + (layers << 8))
    return list(zip(*(column.tolist() for column in columns), strict=True))
