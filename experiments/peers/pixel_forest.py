"""A random forest on intensities, edges and textures per pixel, as users of scikit-image and ilastik train it."""

from collections.abc import Sequence

import numpy as np
from skimage.feature import multiscale_basic_features
from sklearn.ensemble import RandomForestClassifier

from invariance._core.checks import check_count
from invariance._core.randomness import RandomState, make_rng
from invariance.images import as_float32

UNLABELLED = -1


class PixelForest:
    """A random forest on scikit-image's `multiscale_basic_features`, fitted to labelled pixels drawn at random."""

    def __init__(self, random_state: RandomState = 0):
        self.random_state = random_state

    def fit(self, images: Sequence, masks: Sequence, n_pixels: int = 50_000) -> "PixelForest":
        """Learn from `n_pixels` of the labelled pixels of all images, or from all of them if there are fewer."""
        images, masks = check_labelled(images, masks)
        rng = make_rng(self.random_state)
        labels = np.concatenate([mask.ravel() for mask in masks])
        labelled = np.flatnonzero(labels != UNLABELLED)
        drawn = np.sort(rng.choice(labelled, min(check_count("n_pixels", n_pixels), len(labelled)), replace=False))
        starts = np.cumsum([0] + [mask.size for mask in masks])
        features = [
            describe_pixels(image)[drawn[(drawn >= start) & (drawn < end)] - start]
            for image, start, end in zip(images, starts[:-1], starts[1:], strict=True)
        ]
        self.forest_ = RandomForestClassifier(100, n_jobs=2, random_state=int(rng.integers(2**31)))
        self.forest_.fit(np.concatenate(features), labels[drawn])
        return self

    def predict_proba(self, image: np.ndarray) -> np.ndarray:
        """The probability of class 1 at every pixel of an image (h, w), as float32 (h, w)."""
        return self.forest_.predict_proba(describe_pixels(image))[:, 1].reshape(np.shape(image)).astype(np.float32)


def describe_pixels(image: np.ndarray) -> np.ndarray:
    """The features (h * w, d) of an image (h, w): intensity, edges and texture at scales from 1 to 16 pixels."""
    features = multiscale_basic_features(as_float32(image), sigma_min=1, sigma_max=16)
    return features.reshape(-1, features.shape[2])


def check_labelled(images: Sequence, masks: Sequence) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Grey images as float32 (h, w), and their masks as int16 (h, w) of 0, 1 and -1, both classes among them."""
    if len(images) != len(masks):
        raise ValueError(f"images and masks must have the same length; got {len(images)} and {len(masks)}.")
    images = [as_float32(image) for image in images]
    masks = [np.asarray(mask) for mask in masks]
    for index, (image, mask) in enumerate(zip(images, masks, strict=True)):
        if image.ndim != 2 or image.shape != mask.shape:
            raise ValueError(f"images[{index}] and masks[{index}] must be (h, w); got {image.shape} and {mask.shape}.")
    found = sorted({value for mask in masks for value in np.unique(mask).tolist()})
    if not {0, 1} <= set(found) <= {0, 1, UNLABELLED}:
        raise ValueError(
            f"masks must hold 0 and 1, and -1 where unlabelled; got {found}. Label pixels of both classes."
        )
    return images, [mask.astype(np.int16) for mask in masks]
