"""The shares of the classes in whole images, of which only a part is labelled.

A hand labels one class at a time, so that strokes show the classes in other shares than the images do, while pixels of
one class look the same in both. The shares in the images are then those with which the mean predictions for labelled
pixels of each class, made without their stroke, explain the mean prediction for all other pixels (adjusted counts, soft
predictions, [Bella10]). Where strokes at random places would show the labelled shares by chance, these are kept: the
estimate is no more certain.
"""

import numpy as np
from scipy.optimize import nnls

# The least and largest ratio of the share of a class in images to that among labelled pixels (our choice).
RATIO_BOUNDS = (0.25, 4.0)
# The variance of the difference of both shares, in that of the labelled one, if the estimate varies about as much. On
# ISBI sections 0-17, 1, 2 and 4 were within a point of calibration error for 40 and 160 strokes and for discs (3 to 5
# draws each).
VARIANCES = 2
# How much more the sum of the shares counts than one mean prediction, when they are solved for.
WEIGHT_OF_SUM = 100.0


class ClassShares:
    """Sums over the maps of images, from which the shares of the classes are estimated."""

    def __init__(self, n_classes: int):
        self._predicted, self._n_predicted = np.zeros(n_classes), 0
        # Row k: sums of predictions for labelled pixels of class k.
        self._held_out, self._labels = np.zeros((n_classes, n_classes)), np.zeros(n_classes)

    def add(self, maps: np.ndarray, is_unlabelled: np.ndarray, rows: np.ndarray, cols: np.ndarray, codes: np.ndarray):
        """Add an image: its maps (h, w, K), 0 where nothing is predicted, and pixels that they were not fitted on."""
        unlabelled = maps[is_unlabelled]
        self._predicted += unlabelled.sum(axis=0, dtype=np.float64)
        self._n_predicted += int(unlabelled.any(axis=1).sum())
        np.add.at(self._held_out, codes, maps[rows, cols])
        self._labels += np.bincount(codes, minlength=len(self._labels))

    def estimate(self, n_strokes: int) -> np.ndarray | None:
        """Estimate the shares (K,) from the labels of some number of strokes; None if all pixels are labelled."""
        if self._n_predicted == 0:
            return None
        shares = self._labels / self._labels.sum()
        low, high = RATIO_BOUNDS
        estimated = np.clip(self._adjusted(), low * shares, high * shares)
        estimated = shares + _trust(shares, estimated, n_strokes) * (estimated - shares)
        return estimated / estimated.sum()

    def _adjusted(self) -> np.ndarray:
        """Compute the shares (K,) with which the predictions for each class add up to that for unlabelled pixels."""
        by_class = (self._held_out / np.maximum(self._labels, 1)[:, None]).T
        equations = np.vstack([by_class, np.full(len(by_class), WEIGHT_OF_SUM)])
        return nnls(equations, np.append(self._predicted / self._n_predicted, WEIGHT_OF_SUM))[0]


def _trust(shares: np.ndarray, estimated: np.ndarray, n_strokes: int) -> float:
    """Compute how far to go from labelled shares (K,) to estimated ones, by the rule of [JamesStein61]: from 0 to 1."""
    by_chance = VARIANCES * float((shares * (1 - shares)).sum()) / n_strokes
    seen = float(np.square(estimated - shares).sum())
    return max(0.0, 1 - by_chance / seen) if seen > 0 else 0.0
