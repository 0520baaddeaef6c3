"""The shares of the classes in whole images, of which only a part is labelled.

Labels are drawn where it is convenient, and a few strokes show the classes in other shares than the images do. So the
shares are estimated as surveys do it, by the difference estimator [Sarndal92]: the mean prediction for all unlabelled
pixels, corrected by the mean error of predictions for labelled pixels, made without their stroke.
"""

import numpy as np

# The least and largest ratio of the share of a class in images to that among labelled pixels (our choice).
RATIO_BOUNDS = (0.25, 4.0)


class ClassShares:
    """Sums over the maps of images, from which the shares of the classes are estimated."""

    def __init__(self, n_classes: int):
        self._predicted, self._n_predicted = np.zeros(n_classes), 0
        self._held_out, self._labels = np.zeros(n_classes), np.zeros(n_classes)

    def add(self, maps: np.ndarray, is_unlabelled: np.ndarray, rows: np.ndarray, cols: np.ndarray, codes: np.ndarray):
        """Add an image: its maps (h, w, K), 0 where nothing is predicted, and pixels that they were not fitted on."""
        unlabelled = maps[is_unlabelled]
        self._predicted += unlabelled.sum(axis=0, dtype=np.float64)
        self._n_predicted += int(unlabelled.any(axis=1).sum())
        self._held_out += maps[rows, cols].sum(axis=0, dtype=np.float64)
        self._labels += np.bincount(codes, minlength=len(self._labels))

    def estimate(self) -> np.ndarray | None:
        """Estimate the shares (K,); None if all pixels are labelled."""
        if self._n_predicted == 0:
            return None
        shares = self._labels / self._labels.sum()
        error = (self._labels - self._held_out) / self._labels.sum()
        low, high = RATIO_BOUNDS
        estimated = np.clip(self._predicted / self._n_predicted + error, low * shares, high * shares)
        return estimated / estimated.sum()
