"""The labelled pixels of images as rows of features, for peers that learn from all of them."""

from collections.abc import Callable, Sequence

import numpy as np

from experiments.peers.pixel_forest import UNLABELLED, check_labelled


def labelled_rows(
    images: Sequence, masks: Sequence, describe: Callable[[np.ndarray], np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Features and labels of all labelled pixels, image by image.

    Parameters
    ----------
    images : sequence of ndarray of shape (h, w)
    masks : sequence of ndarray of shape (h, w)
        0, 1, and -1 where unlabelled. Images without a label are not described.
    describe : callable
        Takes an image (h, w) float32 and returns features (h, w, d).

    Returns
    -------
    features : ndarray of shape (n, d)
    labels : ndarray of shape (n,)
        0 and 1.
    """
    images, masks = check_labelled(images, masks)
    marked = [mask != UNLABELLED for mask in masks]
    chosen = [(image, mask, where) for image, mask, where in zip(images, masks, marked, strict=True) if where.any()]
    features = [describe(image)[where] for image, _, where in chosen]
    return np.concatenate(features), np.concatenate([mask[where] for _, mask, where in chosen])
