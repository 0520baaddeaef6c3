"""The shares of the classes in whole images, of which only a part is labelled.

Labels are drawn where it is convenient, and a few strokes show the classes in other shares than the images do. So the
shares are estimated as surveys do it, by the difference estimator [Sarndal92]: the mean prediction for all unlabelled
pixels, corrected by the mean error of predictions for labelled pixels, made without their stroke. Where strokes at
random places would show the same shares, the labelled ones are kept, since the estimate is no more certain.
"""

import numpy as np

# The least and largest ratio of the share of a class in images to that among labelled pixels (our choice).
RATIO_BOUNDS = (0.25, 4.0)
# The variance of the difference of both shares, in that of the labelled one, if the estimate varies about as much (our
# choice; no other was compared).
VARIANCES = 2


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

    def estimate(self, n_strokes: int) -> np.ndarray | None:
        """Estimate the shares (K,) from the labels of some number of strokes; None if all pixels are labelled."""
        if self._n_predicted == 0:
            return None
        shares = self._labels / self._labels.sum()
        error = (self._labels - self._held_out) / self._labels.sum()
        low, high = RATIO_BOUNDS
        estimated = np.clip(self._predicted / self._n_predicted + error, low * shares, high * shares)
        estimated = shares + _trust(shares, estimated, n_strokes) * (estimated - shares)
        return estimated / estimated.sum()


def _trust(shares: np.ndarray, estimated: np.ndarray, n_strokes: int) -> float:
    """Compute how far to go from labelled shares (K,) to estimated ones, by the rule of [JamesStein61]: from 0 to 1."""
    by_chance = VARIANCES * float((shares * (1 - shares)).sum()) / n_strokes
    seen = float(np.square(estimated - shares).sum())
    return max(0.0, 1 - by_chance / seen) if seen > 0 else 0.0
