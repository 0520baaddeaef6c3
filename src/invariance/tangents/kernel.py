"""Tangent vector kernels, [Pozdnoukhov04].

With r = x - x' and the unit tangents ℓ_j at x':
  H(x|x', ℓ_j) = exp(-(|r|² - (r·ℓ_j)²) / (2 γ_w²))                                            eq. (7)
  one-sided   K_s(x, x') = exp(-|r|² / (2σ²)) Π_j (η + H(x|x', ℓ_j))                           eq. (8)
  two-sided   K_d(x, x') = (K_s(x, x') + K_s(x', x)) / 2                                       eq. (9)
  sum         K_s(x, x') = exp(-|r|² / (2σ²)) + Σ_j H(x|x', ℓ_j) exp(-|r - ℓ_j|² / (2γ_r²))     eq. (13)
  distribution K_B(x', x'') = ∫ K_s(x, x')^ρ K_s(x, x'')^ρ dx, see `overlap`                   eq. (10)-(12)
"""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from invariance._core import loaded
from invariance._core.checks import check_choice, check_number
from invariance._core.kernels import LearnedKernel
from invariance.images import validate_images
from invariance.tangents._jit import product_form, sum_form
from invariance.tangents.overlap import overlap, overlap_of_sums
from invariance.tangents.points import (
    Points,
    coordinates_of_differences,
    for_all_pairs,
    points_with_tangents,
    squared_distances,
)
from invariance.tangents.widths import FACTORS, WidthSearch, given_width, median_distance, spread_evenly
from invariance.transformations import TransformationSet

FORMS = ("product", "sum", "distribution")
Widths = tuple[float, float, float]  # sigma, gamma_w, gamma_r


class TangentVectorKernel(LearnedKernel):
    """Kernel k(X, Y) of images by [Pozdnoukhov04].

    Parameters
    ----------
    transformations : TransformationSet or None, default=None
        Small movements that do not matter, by their tangents; None means all affine maps.
    form : {"product", "sum", "distribution"}, default="product"
        "product" is eq. (8); "sum" is eq. (13), for tangents by finite differences; "distribution" is eq. (12).
    sides : {"two", "one"}, default="two"
        "two" is the symmetric kernel, eq. (9); "one" is eq. (8), with the tangents of Y. "distribution" is symmetric
        by itself.
    sigma : float or {"auto", "median"}, default="auto"
        Width of the Gaussian. "median" is the median distance of the training images. "auto" is chosen by
        cross-validation from multiples of it in `TangentSVC`, which knows labels; otherwise it is "median".
    gamma_w : float or {"auto", "sigma"}, default="auto"
        Width of the region around the tangent. "sigma" is sigma, as [Pozdnoukhov04] sec. 3.1 ties it; "auto" is sigma
        times √J for J tangents, with which the J factors of the product weigh as much as one.
    gamma_r : float or "auto", default="auto"
        Length of the region around the tangent, for the sum; "auto" is the root mean square length of the tangents.
    eta : float, default=0.0
        Part of a factor, from 0 to 1, that is left far from the tangent, for "product", and for "distribution" with
        rho=1. There it takes up to 4^J terms for J tangents, but in images of many pixels those with tangents have no
        weight, and the kernel is a Gaussian of width √2 sigma; see `invariance.tangents.overlap`.
    rho : float, default=0.5
        Power of the densities of "distribution"; 0.5 is Bhattacharyya's.
    blur : float or "auto", default="auto"
        Standard deviation in pixels of a Gaussian blur of the images; "auto" is 0.8 if there are tangents, else 0.
    method : {"auto", "analytic", "difference"}, default="auto"
        How tangents are found, see `tangent_vectors`.
    image_shape : tuple of int or None, default=None
        Shape (h, w) or (h, w, c) of the images in flat rows.
    n_jobs : int or None, default=None
        Number of threads.

    Attributes
    ----------
    sigma_, gamma_w_, gamma_r_ : float
        Widths of the kernel.
    image_shape_ : tuple of int
        Shape of the training images.
    n_features_in_ : int
        Number of values of an image.

    Notes
    -----
    "distribution" is positive definite; "product" and "sum" need not be.
    """

    def __init__(
        self,
        transformations=None,
        form="product",
        sides="two",
        sigma="auto",
        gamma_w="auto",
        gamma_r="auto",
        eta=0.0,
        rho=0.5,
        blur="auto",
        method="auto",
        image_shape=None,
        n_jobs=None,
    ):
        self.transformations = transformations
        self.form = form
        self.sides = sides
        self.sigma = sigma
        self.gamma_w = gamma_w
        self.gamma_r = gamma_r
        self.eta = eta
        self.rho = rho
        self.blur = blur
        self.method = method
        self.image_shape = image_shape
        self.n_jobs = n_jobs

    def check_loaded(self) -> None:
        """Raise ValueError if parameters and widths, read from a file, are not those of a kernel."""
        width = loaded.number(1e-12, 1e12)
        loaded.check_values(
            self,
            transformations=loaded.optional(loaded.instance(TransformationSet)),
            form=loaded.one_of(*FORMS),
            sides=loaded.one_of("one", "two"),
            sigma=loaded.either(loaded.one_of("auto", "median"), width),
            gamma_w=loaded.either(loaded.one_of("auto", "sigma"), width),
            gamma_r=loaded.either(loaded.one_of("auto"), width),
            eta=loaded.number(0, 1e6),
            rho=loaded.number(1e-6, 1e6),
            blur=loaded.either(loaded.one_of("auto"), loaded.number(0, 1000)),
            method=loaded.one_of("auto", "analytic", "difference"),
            image_shape=loaded.SHAPE,
            n_jobs=loaded.JOBS,
        )
        if loaded.is_fitted(self, "sigma_", "gamma_w_", "gamma_r_"):
            loaded.check_values(self, sigma_=width, gamma_w_=width, gamma_r_=width)
        if hasattr(self, "n_features_in_"):
            loaded.check_values(self, n_features_in_=loaded.N_VALUES)
            loaded.check_values(self, image_shape_=loaded.image_shape(self.n_features_in_))

    def fit(self, X, y=None) -> "TangentVectorKernel":
        """Find the widths that are not numbers.

        Parameters
        ----------
        X : array-like of shape (n, h, w), (n, h, w, c) or (n, d)
            Training images.
        y : None
            Ignored. Support vector machines of the library choose the widths by cross-validation instead.

        Returns
        -------
        self : TangentVectorKernel
        """
        validate_images(self, X, self.image_shape, reset=True)
        self._find_widths(self._points(X))
        return self

    def fit_matrix(self, X: np.ndarray, search: WidthSearch | None = None) -> np.ndarray:
        """Fit the kernel and return the Gram matrix (n, n) of images X; the tangents are computed once.

        With a `search`, sigma="auto" is chosen by it, and gamma_w with it where that is "auto".
        """
        points = self._points(X)
        self._find_widths(points)
        if search is not None and self.sigma == "auto":
            searched = points.take(search.images)
            candidates = [self._scaled_widths(factor) for factor in FACTORS]
            best = search.best(self._gram(searched, None, widths) for widths in candidates)
            self.sigma_, self.gamma_w_, _ = candidates[best]
        return self._gram(points, None, self._widths())

    def __call__(self, X, Y=None) -> np.ndarray:
        """Return the Gram matrix (n, m) float64 of images X and Y, or of X and X."""
        widths = self._widths()
        if Y is None:
            return self._gram(self._points(X), None, widths)
        return self._gram(self._points(X, with_tangents=not self._is_one_sided()), self._points(Y), widths)

    def diag(self, X) -> np.ndarray:
        """Return the diagonal (n,) of the Gram matrix of X without computing it."""
        self._check_form()
        return self._diagonal(self._points(X), self._widths())

    def _gram(self, rows: Points, cols: Points | None, widths: Widths) -> np.ndarray:
        """Gram matrix of points, or of the points and themselves."""
        others = rows if cols is None else cols
        form = self._check_form()
        J = others.vectors.shape[1]
        if form == "distribution":
            K = self._all_pairs(self._overlap, rows, others, widths, 8 * (2 * J + 4) + 8 * J * J)
        else:
            K = self._all_pairs(self._one_sided, rows, others, widths, 8 * (J + 4))
            if not self._is_one_sided():
                turned = K if cols is None else self._all_pairs(self._one_sided, others, rows, widths, 8 * (J + 4))
                K = (K + turned.T) / 2
        if cols is None:
            if not self._is_one_sided():
                K = (K + K.T) / 2
            np.fill_diagonal(K, self._diagonal(rows, widths))
        return K

    def _all_pairs(self, compute, rows: Points, cols: Points, widths: Widths, bytes_per_pair: int) -> np.ndarray:
        def compute_block(X: Points, Y: Points) -> np.ndarray:
            return compute(X, Y, widths)

        return for_all_pairs(compute_block, rows, cols, bytes_per_pair, self.n_jobs, "comparing images")

    def _is_one_sided(self) -> bool:
        """Whether only the images of Y have tangents."""
        return check_choice("sides", self.sides, ("one", "two")) == "one" and self.form != "distribution"

    def _diagonal(self, points: Points, widths: Widths) -> np.ndarray:
        """Kernel of every point with itself."""
        n, J, _ = points.vectors.shape
        if self.form == "distribution":
            return np.ones(n)
        if self.form == "product":
            return np.full(n, (1 + self.eta) ** J)
        return 1 + np.exp(-(points.lengths**2) / (2 * widths[2] ** 2)).sum(axis=1)

    def _points(self, X, with_tangents: bool = True) -> Points:
        return points_with_tangents(X, self.transformations, self.image_shape, self.blur, self.method, with_tangents)

    def _one_sided(self, X: Points, Y: Points, widths: Widths) -> np.ndarray:
        """K_s(x_i, y_j), with the tangents of y_j."""
        sigma, gamma_w, gamma_r = widths
        squared = squared_distances(X, Y)
        along = coordinates_of_differences(X, Y)
        out = np.empty_like(squared)
        if self.form == "product":
            product_form(squared, along, sigma, gamma_w, float(self.eta), out)
        else:
            sum_form(squared, along, Y.lengths, sigma, gamma_w, gamma_r, out)
        return out

    def _overlap(self, X: Points, Y: Points, widths: Widths) -> np.ndarray:
        """K_B(x_i, y_j), normalized."""
        sigma, gamma_w, _ = widths
        if self.eta == 0:
            return overlap(X, Y, sigma, gamma_w, float(self.rho))
        return overlap_of_sums(X, Y, sigma, gamma_w, float(self.eta))

    def _check_form(self) -> str:
        """Return the form; refuse an eta that it cannot take account of."""
        form = check_choice("form", self.form, FORMS)
        eta = check_number("eta", self.eta, 0, 1)
        if eta > 0 and form == "sum":
            raise ValueError(f"form='sum', eq. (13), has no eta; got eta={self.eta}. Set eta=0, or form='product'.")
        if form == "distribution" and check_number("rho", self.rho, 1e-6, 1e6) != 1 and eta > 0:
            raise ValueError(
                f"form='distribution' with eta={self.eta} has a closed form for rho=1 only; got rho={self.rho}. "
                "Set rho=1, or eta=0."
            )
        return form

    def _find_widths(self, points: Points) -> None:
        """Set `sigma_`, `gamma_w_` and `gamma_r_`, given or found on points."""
        J = points.vectors.shape[1]
        given = given_width("sigma", self.sigma, ("auto", "median"))
        some = points.take(spread_evenly(len(points)))
        self.sigma_ = median_distance(squared_distances(some, some)) if given is None else given
        times = 1.0 if self.gamma_w == "sigma" else np.sqrt(max(J, 1))
        self.gamma_w_ = given_width("gamma_w", self.gamma_w, ("auto", "sigma")) or self.sigma_ * times
        root_mean_square = float(np.sqrt(np.mean(points.lengths**2))) if J else 0.0
        self.gamma_r_ = given_width("gamma_r", self.gamma_r) or root_mean_square or self.sigma_

    def _scaled_widths(self, factor: float) -> Widths:
        """Fitted widths with sigma, and gamma_w if it follows from sigma, multiplied by a factor."""
        follows = given_width("gamma_w", self.gamma_w, ("auto", "sigma")) is None
        return factor * self.sigma_, self.gamma_w_ * (factor if follows else 1.0), self.gamma_r_

    def _widths(self) -> Widths:
        """Widths that are given or were found by `fit`."""
        words = {"sigma": ("auto", "median"), "gamma_w": ("auto", "sigma"), "gamma_r": ("auto",)}
        given = {name: given_width(name, getattr(self, name), words[name]) for name in words}
        needed = ("sigma", "gamma_w", "gamma_r") if self.form == "sum" else ("sigma", "gamma_w")
        if any(given[name] is None for name in needed):
            check_is_fitted(self, "sigma_", msg="widths that are not numbers are found by fit(X); call it first.")
        sigma, gamma_w, gamma_r = (
            getattr(self, f"{name}_", 1.0) if value is None else value for name, value in given.items()
        )
        return sigma, gamma_w, gamma_r
