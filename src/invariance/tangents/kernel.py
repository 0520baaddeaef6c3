"""Tangent vector kernels, [Pozdnoukhov04].

With r = x - x' and the unit tangents ℓ_j at x':
  H(x|x', ℓ_j) = exp(-(|r|² - (r·ℓ_j)²) / (2 γ_w²))                                            eq. (7)
  one-sided   K_s(x, x') = exp(-|r|² / (2σ²)) Π_j (η + H(x|x', ℓ_j))                           eq. (8)
  two-sided   K_d(x, x') = (K_s(x, x') + K_s(x', x)) / 2                                       eq. (9)
  sum         K_s(x, x') = exp(-|r|² / (2σ²)) + Σ_j H(x|x', ℓ_j) exp(-|r - ℓ_j|² / (2γ_r²))     eq. (13)
  distribution K_B(x', x'') = ∫ K_s(x, x')^ρ K_s(x, x'')^ρ dx with η = 0                       eq. (10)-(12)

Where we differ: eq. (12) takes the exponent of eq. (11) with a factor ½ that eq. (11) does not have; K_s here is
eq. (8) throughout, so the precision is P = (1/σ² + J/γ_w²) I - Σ ℓ_j ℓ_jᵀ / γ_w². K_B is normalised to K_B(x, x) = 1,
without which (2π)^N overflows; it is computed in logarithms from J x J and 2J x 2J matrices (Woodbury's identity and
the determinant lemma), never from N x N ones.
"""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from invariance._core.checks import check_choice, check_number
from invariance._core.kernels import LearnedKernel
from invariance.tangents._jit import overlap_exponents, product_form, sum_form
from invariance.tangents.frames import Points, points_with_tangents
from invariance.tangents.gaussian import median_distance
from invariance.tangents.pairs import coordinates_of_differences, for_all_pairs, squared_distances

FORMS = ("product", "sum", "distribution")


class TangentVectorKernel(LearnedKernel):
    """k(X, Y) of images by [Pozdnoukhov04].

    Parameters
    ----------
    transformations : what does not matter; None means all affine maps.
    form : "product", eq. (8); "sum", eq. (13), for tangents by finite differences; "distribution", eq. (12).
    sides : "two" for the symmetric kernel, eq. (9); "one" for eq. (8) as it stands, with the tangents of Y.
        "distribution" is symmetric by itself.
    sigma : width of the Gaussian; "auto" is the median distance of the images that `fit` gets.
    gamma_w : width of the region around the tangent; "auto" is sigma times √J.
    gamma_r : its length, for the sum; "auto" is the root mean square length of the tangents.
    eta : from 0 to 1; how much is left of a factor far from the tangent.
    rho : power of the densities; 0.5 is Bhattacharyya's.
    blur, method, image_shape : see `TangentDistance`.

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
        blur=0.8,
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

    def fit(self, X, y=None) -> "TangentVectorKernel":
        """Find the widths that are "auto" from images."""
        points = self._points(X)
        J = points.vectors.shape[1]
        self.sigma_ = self._given("sigma")
        if self.sigma_ is None:
            self.sigma_ = median_distance(lambda A, B: np.sqrt(squared_distances(A, B)), points.rows)
        self.gamma_w_ = self._given("gamma_w") or self.sigma_ * np.sqrt(max(J, 1))
        root_mean_square = float(np.sqrt(np.mean(points.lengths**2))) if J else 0.0
        self.gamma_r_ = self._given("gamma_r") or root_mean_square or self.sigma_
        return self

    def __call__(self, X, Y=None) -> np.ndarray:
        """The Gram matrix (n, m) float64."""
        form = check_choice("form", self.form, FORMS)
        sides = check_choice("sides", self.sides, ("one", "two"))
        widths = self._widths()
        is_one_sided = form != "distribution" and sides == "one"
        rows = self._points(X, with_tangents=Y is None or not is_one_sided)
        cols = rows if Y is None else self._points(Y)
        J = cols.vectors.shape[1]
        if form == "distribution":
            bytes_a_pair = 8 * (2 * J + 4) + 8 * J * J
            K = for_all_pairs(
                lambda A, B: self._overlap(A, B, widths), rows, cols, bytes_a_pair, self.n_jobs, "comparing images"
            )
        else:
            bytes_a_pair = 8 * (J + 4)
            K = for_all_pairs(
                lambda A, B: self._one_sided(A, B, widths), rows, cols, bytes_a_pair, self.n_jobs, "comparing images"
            )
            if sides == "two":
                other = K.T if Y is None else for_all_pairs(
                    lambda B, A: self._one_sided(B, A, widths), cols, rows, bytes_a_pair, self.n_jobs
                ).T  # fmt: skip
                K = (K + other) / 2
        if Y is None:
            if not is_one_sided:
                K = (K + K.T) / 2
            np.fill_diagonal(K, self._diagonal(rows, widths))
        return K

    def diag(self, X) -> np.ndarray:
        """The diagonal (n,) of the Gram matrix of X, without the matrix."""
        check_choice("form", self.form, FORMS)
        return self._diagonal(self._points(X), self._widths())

    def _diagonal(self, points: Points, widths: tuple[float, float, float]) -> np.ndarray:
        n, J, _ = points.vectors.shape
        if self.form == "distribution":
            return np.ones(n)
        if self.form == "product":
            return np.full(n, (1 + check_number("eta", self.eta, 0, 1)) ** J)
        return 1 + np.exp(-(points.lengths**2) / (2 * widths[2] ** 2)).sum(axis=1)

    def _points(self, X, with_tangents: bool = True) -> Points:
        return points_with_tangents(X, self.transformations, self.image_shape, self.blur, self.method, with_tangents)

    def _one_sided(self, X: Points, Y: Points, widths: tuple[float, float, float]) -> np.ndarray:
        """K_s(x_i, y_j), with the tangents of y_j."""
        sigma, gamma_w, gamma_r = widths
        squared = squared_distances(X.rows, Y.rows)
        along = coordinates_of_differences(X.rows, Y.rows, Y.vectors)
        out = np.empty_like(squared)
        if self.form == "product":
            product_form(squared, along, sigma, gamma_w, check_number("eta", self.eta, 0, 1), out)
        else:
            sum_form(squared, along, Y.lengths, sigma, gamma_w, gamma_r, out)
        return out

    def _overlap(self, X: Points, Y: Points, widths: tuple[float, float, float]) -> np.ndarray:
        """K_B(x_i, y_j), normalised."""
        sigma, gamma_w, _ = widths
        rho = check_number("rho", self.rho, 1e-6, 1e6)
        n, J, d = X.vectors.shape
        a = 1 / sigma**2 + J / gamma_w**2
        S, T = (points.vectors / gamma_w for points in (X, Y))
        grams_rows, grams_cols = S @ S.transpose(0, 2, 1), T @ T.transpose(0, 2, 1)
        crossed = (S.reshape(n * J, d) @ T.reshape(-1, d).T).reshape(n, J, len(Y), J)
        squared = squared_distances(X.rows, Y.rows)
        on_rows = -coordinates_of_differences(Y.rows, X.rows, S)
        on_cols = coordinates_of_differences(X.rows, Y.rows, T)
        quadratic, log_det = np.empty_like(squared), np.empty_like(squared)
        overlap_exponents(squared, crossed, on_rows, on_cols, grams_rows, grams_cols, a, quadratic, log_det)
        # log K_B = -ρ/2 rᵀP_x(P_x + P_y)⁻¹P_y r - ½ log|P_x + P_y| + terms of x and of y alone, which normalising by
        # K_B(x, x) and K_B(y, y) turns into ¼ (log|2P_x| + log|2P_y|). All determinants share the factor (2a)^N.
        own = [_log_det(2 * a, 2 * grams) for grams in (grams_rows, grams_cols)]
        base = 2 * J * np.log(2 * a)
        exponent = -0.5 * rho * quadratic - 0.5 * (log_det - base) + 0.25 * (own[0][:, None] + own[1])
        return np.exp(exponent)

    def _given(self, name: str) -> float | None:
        value = getattr(self, name)
        return None if isinstance(value, str) and value == "auto" else check_number(name, value, 1e-300)

    def _widths(self) -> tuple[float, float, float]:
        """sigma, gamma_w and gamma_r, given or found."""
        given = [self._given(name) for name in ("sigma", "gamma_w", "gamma_r")]
        if None in (given if self.form == "sum" else given[:2]):
            check_is_fitted(self, "sigma_", msg="widths that are 'auto' are found by fit(X); call it first.")
        found = [getattr(self, f"{name}_", 1.0) for name in ("sigma", "gamma_w", "gamma_r")]
        sigma, gamma_w, gamma_r = (own if own is not None else fitted for own, fitted in zip(given, found, strict=True))
        return sigma, gamma_w, gamma_r


def _log_det(scale: float, grams: np.ndarray) -> np.ndarray:
    """The logarithm of |I - G / scale| for every Gram matrix G (n, J, J): (n,)."""
    J = grams.shape[1]
    return np.linalg.slogdet(np.eye(J) - grams / scale)[1] if J else np.zeros(len(grams))
