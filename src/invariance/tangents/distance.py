"""Tangent distance: how near two images come when either may move along its tangents, and its kernel.

[Simard98]. One-sided: min_a |x - x' - L'ᵀa|² with the tangents L' (J, d) of x'; two-sided: both images move,
min_{a,b} |x + Lᵀa - x' - L'ᵀb|². With orthonormal frames Q, Q' of the tangents, r = x - x', u = Q r, w = Q' r and
C = Q Q'ᵀ these are |r|² - |w|² and |r|² - |u|² - zᵀ(I - CᵀC)⁻¹z, z = w - Cᵀu: the products of all pairs are matrix
products, and what is left is a J x J system a pair. The joint span of the tangents is removed, not one tangent at a
time as in [Pozdnoukhov04] eq. (7). The kernel is that of [Haasdonk02].
"""

from dataclasses import replace

import numpy as np

from invariance._core.checks import check_choice, check_number
from invariance.tangents._jit import remove_joint_span
from invariance.tangents.frames import Points, orthonormal, points_with_tangents
from invariance.tangents.gaussian import DistanceKernel
from invariance.tangents.pairs import coordinates_of_differences, for_all_pairs, squared_distances

# Two images may share a direction; then the system of their joint span is singular, and this decides.
LEAST_STIFFNESS = 1e-6


class TangentDistance(DistanceKernel):
    """k(X, Y) = exp(-TD² / (2 sigma²)) of images, and the distances TD themselves.

    Parameters
    ----------
    transformations : what does not matter; None means all affine maps (shift, rotation, scale, stretch, shear).
    sides : "two" moves both images; "one" moves those of Y only and so is not symmetric (for nearest neighbours);
        "mean" is the root of the mean of both one-sided squared distances.
    sigma : width of the kernel. "auto" is half the median distance of the images that `fit` gets.
    stiffness : how much a movement costs: |a|² times this is added to what is minimised. 0 lets images move freely, but
        for the millionth part that keeps the distance well defined where both move in the same direction.
    blur : of the images, in pixels, before anything else; tangents need smooth images.
    method : of the tangents: "analytic", "difference", or "auto", see `tangent_vectors`.
    image_shape : of flat rows.

    The two-sided distance is no metric in the strict sense, and its kernel not always positive definite:
    `TangentSVC(psd_correction=...)` says what to do about that.
    """

    def __init__(
        self,
        transformations=None,
        sides="two",
        sigma="auto",
        stiffness=0.0,
        blur=0.8,
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

    def squared(self, X, Y=None) -> np.ndarray:
        """Squared tangent distances (n, m)."""
        sides = check_choice("sides", self.sides, ("one", "two", "mean"))
        rows = self._points(X)
        cols = rows if Y is None else self._points(Y)
        J = rows.vectors.shape[1]
        compute = {"one": self._one_sided, "two": self._two_sided, "mean": self._mean}[sides]
        bytes_a_pair = 8 * (2 * J + 2) + (4 * J * J if sides == "two" else 0)
        squared = for_all_pairs(compute, rows, cols, bytes_a_pair, self.n_jobs, "comparing images")
        if Y is None and sides != "one":
            squared = (squared + squared.T) / 2
            np.fill_diagonal(squared, 0)
        return squared

    def _points(self, X) -> Points:
        points = points_with_tangents(X, self.transformations, self.image_shape, self.blur, self.method)
        return replace(points, vectors=orthonormal(points.vectors))

    def _one_sided(self, X: Points, Y: Points) -> np.ndarray:
        along = coordinates_of_differences(X.rows, Y.rows, Y.vectors)
        taken = np.einsum("ijk,ijk->ij", along, along) / (1 + self._stiffness())
        return np.maximum(squared_distances(X.rows, Y.rows) - taken, 0)

    def _mean(self, X: Points, Y: Points) -> np.ndarray:
        return (self._one_sided(X, Y) + self._one_sided(Y, X).T) / 2

    def _two_sided(self, X: Points, Y: Points) -> np.ndarray:
        squared = squared_distances(X.rows, Y.rows)
        (n, J, d), K = X.vectors.shape, Y.vectors.shape[1]
        if J == 0:
            return squared
        frames = X.vectors.reshape(n * J, d).astype(np.float32), Y.vectors.reshape(-1, d).astype(np.float32)
        crossed = (frames[0] @ frames[1].T).reshape(n, J, len(Y), K)
        on_rows = -coordinates_of_differences(Y.rows, X.rows, X.vectors)  # (m, n, J)
        on_cols = coordinates_of_differences(X.rows, Y.rows, Y.vectors)
        remove_joint_span(crossed, on_rows, on_cols, self._stiffness(), squared)
        return squared

    def _stiffness(self) -> float:
        return max(check_number("stiffness", self.stiffness, 0), LEAST_STIFFNESS)
