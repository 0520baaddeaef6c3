"""`skimage.future.TrainableSegmenter` with its own features and classifier, as users of scikit-image run it."""

from collections.abc import Sequence

import numpy as np
from skimage.future import TrainableSegmenter, fit_segmenter
from sklearn.ensemble import RandomForestClassifier

from experiments.peers.labelled_pixels import labelled_rows
from invariance._core.randomness import RandomState, make_rng
from invariance.images import as_float32


class SkimageSegmenter:
    """A `TrainableSegmenter` with its default settings, and a seed; it is fitted to all labelled pixels.

    Its own `fit` takes a single image; here the pixels of several images are put together first. `PixelForest` differs
    in the smallest width of its features, 1 instead of 0.5 pixels.
    """

    def __init__(self, random_state: RandomState = 0, n_jobs: int = 2):
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, images: Sequence, masks: Sequence) -> "SkimageSegmenter":
        """Learn from the labelled pixels of images (h, w); masks are 0 and 1, and -1 where unlabelled."""
        seed = int(make_rng(self.random_state).integers(2**31))
        forest = RandomForestClassifier(n_estimators=100, n_jobs=self.n_jobs, random_state=seed)
        self.segmenter_ = TrainableSegmenter(forest)
        features, labels = labelled_rows(images, masks, self._describe)
        fit_segmenter(labels + 1, features, forest)  # to scikit-image, 0 is unlabelled
        return self

    def predict_proba(self, image: np.ndarray) -> np.ndarray:
        """The probability of class 1 at every pixel of an image (h, w), as float32 (h, w)."""
        features = self._describe(as_float32(image))
        probabilities = self.segmenter_.clf.predict_proba(features.reshape(-1, features.shape[-1]))
        return probabilities[:, 1].reshape(np.shape(image)).astype(np.float32)

    def _describe(self, image: np.ndarray) -> np.ndarray:
        """The features (h, w, d) of an image (h, w)."""
        self.segmenter_.compute_features(image)
        return self.segmenter_.features
