"""Jittering: the distance between two images is the least over jittered versions of one of them, [DeCoste02]."""

import numpy as np

from invariance.tangents.distance import TangentDistance
from invariance.tangents.frames import as_images
from invariance.tangents.gaussian import DistanceKernel
from invariance.transformations import Identity, Operators, Shifts


class JitteredDistance(DistanceKernel):
    """k(X, Y) = exp(-d² / (2 sigma²)) with d² the mean of min_φ d²(φx, y) and min_φ d²(x, φy), and the distances d.

    Parameters
    ----------
    transformations : the jitters φ; None means shifts of one pixel.
    distance : what has `squared(X, Y)`: a `TangentDistance`; None means the Euclidean distance.
    sigma : width of the kernel; "auto" is half the median distance of the images that `fit` gets.

    It is symmetric but need not be positive definite.
    """

    def __init__(self, transformations=None, distance=None, sigma="auto", image_shape=None):
        self.transformations = transformations
        self.distance = distance
        self.sigma = sigma
        self.image_shape = image_shape

    def squared(self, X, Y=None) -> np.ndarray:
        """Squared jittered distances (n, m)."""
        rows = as_images(X, self.image_shape)
        cols = rows if Y is None else as_images(Y, self.image_shape)
        least = self._least_over_jitters(rows, cols)
        other = least.T if Y is None else self._least_over_jitters(cols, rows).T
        return (least + other) / 2

    def _least_over_jitters(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """The least d²(φx, y) over φ: one member at a time, so that memory holds one jittered copy of the images."""
        distance = TangentDistance(Identity(), blur=0.0) if self.distance is None else self.distance
        phi = Shifts(1) if self.transformations is None else self.transformations
        least = np.full((len(rows), len(cols)), np.inf)
        for member in phi.operators(rows.shape[1:]).members:
            jittered = Operators([member], rows.shape[1:]).apply(rows)[:, 0]
            np.minimum(least, distance.squared(jittered, cols), out=least)
        return least
