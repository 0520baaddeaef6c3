"""Tangent distance: the least distance of two images when either may move along its tangents, and its kernel.

[Simard98]. One-sided: min_a |x - x' - L'ᵀa|² with the tangents L' (J, d) of x'; two-sided: both images move,
min_{a,b} |x + Lᵀa - x' - L'ᵀb|². With orthonormal frames Q, Q' of the tangents, r = x - x', u = Q r, w = Q' r and
C = Q Q'ᵀ these are |r|² - |w|² and |r|² - |u|² - zᵀ(I - CᵀC)⁻¹z, z = w - Cᵀu: the products of all pairs are matrix
products, and what is left is a J x J system per pair. The joint span of the tangents is removed, not one tangent at a
time as in [Pozdnoukhov04] eq. (7). The kernel is that of [Haasdonk02].
"""

from dataclasses import replace

import numpy as np

from invariance._core import loaded
from invariance._core.checks import check_choice, check_number
from invariance.tangents._jit import remove_joint_span
from invariance.tangents.gaussian import DistanceKernel
from invariance.tangents.points import (
    Points,
    coordinates_of_differences,
    for_all_pairs,
    orthonormal,
    points_with_tangents,
    squared_distances,
)

# Where two images share a direction, the system of their joint span is singular without some stiffness. This much
# changes a squared distance by about a millionth of what the tangents take from it.
MIN_STIFFNESS = 1e-6


class TangentDistance(DistanceKernel):
    """Kernel k(X, Y) = exp(-TD² / (2 sigma²)) of images, and the tangent distances TD themselves.

    Parameters
    ----------
    transformations : TransformationSet or None, default=None
        Small movements that do not matter, by their tangents; None means all affine maps (shift, rotation, scale,
        stretch, shear). A set without Lie generators gives one tangent per member but the identity, the difference to
        the image; `tangent_parts` leaves such parts out. ``Identity()`` has none: the distance is Euclidean.
    sides : {"two", "one", "mean"}, default="two"
        "two" moves both images. "one" moves those of Y only, so that it is not symmetric (for nearest neighbours).
        "mean" is the root of the mean of both one-sided squared distances.
    sigma : float or {"auto", "median"}, default="auto"
        Width of the kernel. "median" is half the median distance of the training images. "auto" is chosen by
        cross-validation from multiples of it in `TangentSVC`, which knows labels; otherwise it is "median".
    stiffness : float, default=0.0
        Cost of a movement: this times its squared length is added to what is minimised. 0 lets images move freely, up
        to the 1e-6 that keeps the distance well defined where both move in the same direction.
    blur : float or "auto", default="auto"
        Standard deviation in pixels of a Gaussian blur of the images; tangents need smooth images. "auto" is 0.8 if
        there are tangents and 0 otherwise.
    method : {"auto", "analytic", "difference"}, default="auto"
        How tangents are found, see `tangent_vectors`.
    image_shape : tuple of int or None, default=None
        Shape (h, w) or (h, w, c) of the images in flat rows.
    n_jobs : int or None, default=None
        Number of threads.

    Attributes
    ----------
    sigma_ : float
        Width of the kernel.
    image_shape_ : tuple of int
        Shape of the training images.
    n_features_in_ : int
        Number of values of an image.

    Notes
    -----
    The two-sided distance is not a metric, and its kernel is not always positive definite; see the parameter
    `psd_correction` of `TangentSVC`.
    """

    def __init__(
        self,
        transformations=None,
        sides="two",
        sigma="auto",
        stiffness=0.0,
        blur="auto",
        method="auto",
        image_shape=None,
        n_jobs=None,
    ):
        self.transformations = transformations
        self.sides = sides
        self.sigma = sigma
        self.stiffness = stiffness
        self.blur = blur
        self.method = method
        self.image_shape = image_shape
        self.n_jobs = n_jobs

    def check_loaded(self) -> None:
        """Raise ValueError if the parameters, read from a file, are not those of a distance."""
        super().check_loaded()
        loaded.check_values(
            self,
            sides=loaded.one_of("one", "two", "mean"),
            stiffness=loaded.number(0, 1e12),
            blur=loaded.either(loaded.one_of("auto"), loaded.number(0, 1000)),
            method=loaded.one_of("auto", "analytic", "difference"),
            n_jobs=loaded.JOBS,
        )

    def squared(self, X, Y=None) -> np.ndarray:
        """Return the squared tangent distances (n, m) of images X and Y, or of X and X."""
        rows = self.points(X)
        if Y is not None:
            return self.compare(rows, self.points(Y))
        squared = self.compare(rows, rows)
        if self.sides != "one":
            squared = (squared + squared.T) / 2
            np.fill_diagonal(squared, 0)
        return squared

    def squared_to(self, X, others: Points) -> np.ndarray:
        """Return the squared distances (n, m) of images X and others, whose `points` are known."""
        return self.compare(self.points(X), others)

    def points(self, X) -> Points:
        """Return images with orthonormal frames of their tangents: what is computed once for many comparisons."""
        points = points_with_tangents(X, self.transformations, self.image_shape, self.blur, self.method)
        return replace(points, vectors=orthonormal(points.vectors))

    def compare(self, rows: Points, cols: Points) -> np.ndarray:
        """Return the squared tangent distances (n, m) of images that are given as points."""
        sides = check_choice("sides", self.sides, ("one", "two", "mean"))
        J = rows.vectors.shape[1]
        compute = {"one": self._one_sided, "two": self._two_sided, "mean": self._mean}[sides]
        bytes_per_pair = 8 * (2 * J + 2) + (4 * J * J if sides == "two" else 0)
        return for_all_pairs(compute, rows, cols, bytes_per_pair, self.n_jobs, "comparing images")

    def _one_sided(self, X: Points, Y: Points) -> np.ndarray:
        along = coordinates_of_differences(X, Y)
        taken = np.einsum("ijk,ijk->ij", along, along) / (1 + self._stiffness())
        return np.maximum(squared_distances(X, Y) - taken, 0)

    def _mean(self, X: Points, Y: Points) -> np.ndarray:
        return (self._one_sided(X, Y) + self._one_sided(Y, X).T) / 2

    def _two_sided(self, X: Points, Y: Points) -> np.ndarray:
        squared = squared_distances(X, Y)
        (n, J, d), K = X.vectors.shape, Y.vectors.shape[1]
        if J == 0:
            return squared
        # Those of X are always converted anew: BLAS rounds the product of an array with itself differently.
        crossed = (X.vectors.reshape(n * J, d).astype(np.float32) @ Y.single_vectors.T).reshape(n, J, len(Y), K)
        on_rows = -coordinates_of_differences(Y, X)  # (m, n, J)
        on_cols = coordinates_of_differences(X, Y)
        remove_joint_span(crossed, on_rows, on_cols, self._stiffness(), squared)
        return squared

    def _stiffness(self) -> float:
        return max(check_number("stiffness", self.stiffness, 0), MIN_STIFFNESS)
