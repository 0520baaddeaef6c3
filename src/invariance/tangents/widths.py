"""Widths of kernels: the usual width from distances, and a better one by cross-validation where labels are known.

Half the median distance is a good width for most images, and the cross-validated error of a few hundred images is a
noisy guide: its minimum is often lower by chance. So another width is preferred to the usual one only if its error is
lower by more than the noise of the difference. The Gram matrices of all widths come from one matrix of distances.
"""

from collections.abc import Iterable, Iterator
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.svm import SVC

from invariance._core.parallel import one_blas_thread
from invariance.tangents.psd import PsdCorrection

# Multiples of the usual width that are tried, the usual one first: steps of √2 over a factor of 8. Widths beyond are
# never better on MNIST.
FACTORS = (1.0, 0.7, 1.4, 0.5, 2.0, 0.35, 2.8)
N_FOLDS = 5
# Standard deviations of the difference of two errors by which a width must be better than the usual one. Of 0, 1, 1.5
# and 2, chosen on MNIST with 20 to 300 digits (draws 100 to 104, see benchmarks/tangent_widths.py).
MIN_GAIN = 1.5
# Images that distances and errors are measured on at most: more hardly change the width, but cost the cube of it.
MAX_IMAGES = 500


def given_width(name: str, value: Any, words: tuple[str, ...] = ("auto",)) -> float | None:
    """Return a width that is a positive number, and None for the words that say how to find one."""
    if isinstance(value, str) and value in words:
        return None
    if isinstance(value, Real) and not isinstance(value, bool) and 0 < float(value) < np.inf:
        return float(value)
    raise ValueError(f"{name} must be a number above 0 or one of {', '.join(map(repr, words))}; got {value!r}.")


def spread_evenly(n: int) -> slice:
    """Slice of at most `MAX_IMAGES` of n images at equal steps."""
    return slice(None, None, -(-n // MAX_IMAGES))


def median_distance(squared: np.ndarray) -> float:
    """Median distance between different images from squared distances (n, n); 1 if all images are equal."""
    between = squared[np.triu_indices(len(squared), k=1)]
    median = float(np.median(np.sqrt(between))) if len(between) else 0.0
    return median if median > 0 else 1.0


class WidthSearch:
    """Choice between Gram matrices by the cross-validated error of a support vector machine.

    Folds are stratified and fixed, so that the choice is deterministic. An image that is the only one of its class is
    always trained on and never tested.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Classes of the training images as integers.
    svc : SVC
        Unfitted machine with kernel="precomputed".
    psd_correction : {"clip", "flip"} or None
        Correction of the matrix of each training fold.

    Attributes
    ----------
    images : ndarray of shape (m,)
        Indices of the training images whose Gram matrices `best` takes: at most 500, or one per class if there are
        more classes.
    """

    def __init__(self, codes: np.ndarray, svc: SVC, psd_correction: str | None):
        share = spread_evenly(len(codes))
        self.images = np.sort(np.concatenate([np.flatnonzero(codes == code)[share] for code in np.unique(codes)]))
        self._codes = codes[self.images]
        self._svc = svc
        self._psd_correction = psd_correction

    def best(self, grams: Iterable[np.ndarray]) -> int:
        """Index of the Gram matrix (m, m) to take: the first, unless another one has a clearly lower error."""
        with one_blas_thread():  # many small matrices: threads would cost more than they save
            wrong = np.array([self._is_wrong(K) for K in grams])
        best = int(wrong.sum(axis=1).argmin())
        gain = wrong[0] - wrong[best]
        # Under equal errors the sum of n differences of ±1 has mean 0 and standard deviation √n.
        return best if gain.sum() > MIN_GAIN * np.sqrt((gain**2).sum()) else 0

    def _is_wrong(self, K: np.ndarray) -> np.ndarray:
        """Whether each image is classified wrongly without having been trained on: (m,) of 0 and 1."""
        wrong = np.zeros(len(K))
        for kept, left_out in self._folds():
            correction = PsdCorrection(self._psd_correction)
            machine = clone(self._svc).fit(correction.fit_transform(K[np.ix_(kept, kept)]), self._codes[kept])
            found = machine.predict(correction.transform(K[np.ix_(left_out, kept)]))
            wrong[left_out] = found != self._codes[left_out]
        return wrong

    def _folds(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield indices of images to train and to test on. All classes are in every training set."""
        fold, start = np.full(len(self._codes), -1), 0
        for code in np.unique(self._codes):
            members = np.flatnonzero(self._codes == code)
            if len(members) > 1:
                fold[members] = (start + np.arange(len(members))) % N_FOLDS
                start += len(members)
        for number in range(N_FOLDS):
            if (fold == number).any():
                yield np.flatnonzero(fold != number), np.flatnonzero(fold == number)
