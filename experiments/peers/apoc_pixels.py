"""The pixel classifier of `apoc`, whose filters and forest run in OpenCL; here on the processor, by PoCL.

Each forest becomes an OpenCL program of its own, which is compiled when it first predicts: `fit` waits for that.
"""

import warnings
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from experiments.peers.pixel_forest import UNLABELLED, check_labelled
from invariance.images import as_float32

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of OpenCL platforms that are not there
        from apoc import PredefinedFeatureSet, ProbabilityMapper
except ImportError as error:
    raise ImportError("apoc or its OpenCL is not installed. Try: pip install '.[bench]' on Linux") from error

# The image, and its smoothing, difference of Gaussians and Laplacian at widths of 1 to 5 pixels.
FEATURES = PredefinedFeatureSet.object_size_1_to_5_px.value
SMALL_SIDE = 32


class ApocPixels:
    """apoc's `PixelClassifier` with its default 100 trees of depth 2, on one of its predefined sets of features.

    Its variant `ProbabilityMapper` is used, the same forest that gives probabilities instead of labels. apoc seeds its
    forests itself. Trees of depth 5 hardly differ on ISBI 2012, but take minutes to compile.
    """

    def fit(self, images: Sequence, masks: Sequence) -> "ApocPixels":
        """Learn from the labelled pixels of images (h, w); masks are 0 and 1, and -1 where unlabelled."""
        images, masks = check_labelled(images, masks)
        # OpenCL programs are kept by file, so that every model needs a file of its own.
        self._folder = TemporaryDirectory()
        self.mapper_ = ProbabilityMapper(str(Path(self._folder.name) / "forest.cl"), output_probability_of_class=2)
        marked = [(image, mask) for image, mask in zip(images, masks, strict=True) if (mask != UNLABELLED).any()]
        for number, (image, mask) in enumerate(marked):
            # To apoc, 0 is unlabelled.
            self.mapper_.train(FEATURES, (mask + 1).astype(np.uint8), image, continue_training=number > 0)
        self.predict_proba(images[0][:SMALL_SIDE, :SMALL_SIDE])
        return self

    def predict_proba(self, image: np.ndarray) -> np.ndarray:
        """The probability of class 1 at every pixel of an image (h, w), as float32 (h, w)."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the OpenCL compiler
            return np.array(self.mapper_.predict(image=as_float32(image)), np.float32)
