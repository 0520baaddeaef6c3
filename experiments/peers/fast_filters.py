"""ilastik's filters and classifier: `fastfilters2` at six widths, and a random forest of 100 trees.

ilastik itself is not on PyPI; `fastfilters2` is its library of filters. Its features are the smoothed image, gradient
magnitude, Laplacian of Gaussian, and the eigenvalues of Hessian and structure tensor. Differences of Gaussians, which
ilastik has too, are left out, since `fastfilters2` has none; the image itself stands for the smoothing at width 0.3.
"""

from collections.abc import Sequence

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from experiments.peers.labelled_pixels import labelled_rows
from invariance._core.randomness import RandomState, make_rng
from invariance.images import as_float32

try:
    from fastfilters2 import compute_filters
except ImportError as error:
    raise ImportError(
        "ilastik's filters need fastfilters2, which is not installed. Try: pip install '.[bench]' on Python 3.11"
    ) from error

# Those that ilastik offers, without 0.3, which it has for smoothing only.
WIDTHS = (0.7, 1.0, 1.6, 3.5, 5.0, 10.0)
N_FILTERS = 7  # at each width
N_FEATURES = 1 + N_FILTERS * len(WIDTHS)
# fastfilters2 2.0.0.dev0 writes beyond its memory if an image is narrower, and is wrong if it is lower than a kernel.
MIN_SIDE = 128


class FastFiltersForest:
    """A random forest on the 43 features of `describe_pixels`, fitted to all labelled pixels."""

    def __init__(self, random_state: RandomState = 0, n_jobs: int = 2):
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, images: Sequence, masks: Sequence) -> "FastFiltersForest":
        """Learn from the labelled pixels of images (h, w); masks are 0 and 1, and -1 where unlabelled."""
        features, labels = labelled_rows(images, masks, describe_pixels)
        seed = int(make_rng(self.random_state).integers(2**31))
        self.forest_ = RandomForestClassifier(100, n_jobs=self.n_jobs, random_state=seed).fit(features, labels)
        return self

    def predict_proba(self, image: np.ndarray) -> np.ndarray:
        """The probability of class 1 at every pixel of an image (h, w), as float32 (h, w)."""
        features = describe_pixels(as_float32(image)).reshape(-1, N_FEATURES)
        return self.forest_.predict_proba(features)[:, 1].reshape(np.shape(image)).astype(np.float32)


def describe_pixels(image: np.ndarray) -> np.ndarray:
    """The features (h, w, 43) of an image (h, w) float32: the image, and seven filters at each width."""
    height, width = image.shape
    # The filters mirror the image at its borders, and so does padding.
    missing = [(0, max(MIN_SIDE - side, 0)) for side in image.shape]
    padded = np.ascontiguousarray(np.pad(image, missing, mode="reflect"))
    features = np.empty((height, width, N_FEATURES), np.float32)
    features[..., 0] = image
    for number, scale in enumerate(WIDTHS):
        first = 1 + N_FILTERS * number
        responses = compute_filters(padded, scale)[:, :height, :width]
        features[..., first : first + N_FILTERS] = np.moveaxis(responses, 0, -1)
    return features
