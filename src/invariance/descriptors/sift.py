"""Windows described by histograms of their gradients' orientations: SIFT without its detector."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.preprocessing import normalize

from invariance.descriptors.hsl import check_image, check_range
from invariance.images import check_boxes, to_grey

N_VALUES = 128
# OpenCV's scale space: its first image is blurred to this width, every third of them is twice as wide.
FIRST_BLUR = 1.6
N_LAYERS = 3
# OpenCV rounds halves to the even pixel: a window of even side would be seen a pixel to the left or to the right,
# depending on where it lies. A little more than a half goes one way.
NUDGE = 0.01


class SiftWindows(BaseEstimator):
    """The grey SIFT of each window, 4 x 4 histograms of 8 orientations, by OpenCV: 128 values, [Moosmann06] sec. 4.

    The histograms just cover the window (gradients up to half a histogram outside have their share in it) and are
    upright. Large windows are seen in a reduced image, blurred as for a detected point of that size; no image is
    enlarged, so windows under 20 pixels are seen with more blur. Vectors have length 1, or are 0 where the window is
    flat. OpenCV rounds images to 8 bits, a window's middle to a pixel of its reduced image, and values to 1/512.
    """

    @property
    def invariances(self) -> tuple[str, ...]:
        """What leaves the vector unchanged, if the window follows; up to rounding and blur."""
        return ("position", "scale", "brightness", "contrast")

    def describe(self, image: np.ndarray, boxes: np.ndarray) -> np.ndarray:
        """The windows `boxes` (n, 3) of top, left, side of an image (h, w) or (h, w, 3 or 4) as float32 (n, 128)."""
        import cv2

        image = check_image(image)
        boxes = check_boxes(boxes, image.shape)
        if len(boxes) == 0:
            return np.empty((0, N_VALUES), np.float32)
        grey = np.rint(255 * check_range(to_grey(image))).astype(np.uint8)
        sift = cv2.SIFT.create(nOctaveLayers=N_LAYERS, sigma=FIRST_BLUR)
        _, histograms = sift.compute(grey, [cv2.KeyPoint(*point) for point in place_keypoints(boxes)])
        return normalize(histograms, copy=False)


def place_keypoints(boxes: np.ndarray) -> list[tuple[float, float, float, float, float, int]]:
    """OpenCV's (x, y, size, angle, response, octave) of points whose 4 x 4 histograms cover the boxes (n, 3).

    OpenCV takes a point's size for twice the blur it was found at, and makes a histogram 3/2 sizes wide: 6 sizes are a
    side. Its octave field holds how often the image is halved, and in the second byte the layer of blur thereafter.
    """
    tops, lefts, sides = boxes.T
    sizes = sides / 6
    levels = np.rint(N_LAYERS * np.log2(sizes / 2 / FIRST_BLUR)).astype(int).clip(0)
    octaves, layers = np.divmod(levels, N_LAYERS)
    middles, nothing = (sides - 1) / 2 + NUDGE, np.zeros(len(boxes))
    columns = (lefts + middles, tops + middles, sizes, nothing, nothing, octaves + (layers << 8))
    return list(zip(*(column.tolist() for column in columns), strict=True))
