"""Overlap of two images taken as densities, [Pozdnoukhov04] sec. 2.4: K_B(x', x'') = ∫ K_s(x, x')^ρ K_s(x, x'')^ρ dx.

K_s is eq. (8). With η = 0 it is one Gaussian, and K_B is eq. (12) for every ρ. With η > 0 the product is a sum,

  K_s(x, x') = Σ_A η^(J-|A|) exp(-½ rᵀ P_A r),  P_A = (1/σ² + |A|/γ_w²) I - Σ_{j in A} ℓ_j ℓ_jᵀ / γ_w²,

for all subsets A of the J tangents. With ρ = 1 the integral of a product of two such sums is a sum over pairs of
Gaussians, the closed form that sec. 2.4 mentions but does not print:

  K_B(x', x'') ∝ Σ_A Σ_B η^(2J-|A|-|B|) |P_A + P_B|^(-½) exp(-½ rᵀ P_A (P_A + P_B)⁻¹ P_B r),  r = x' - x''.

Every tangent in A or B divides the term by about (1 + σ²/(2γ_w²))^(N/2), for N pixels: unless γ_w is larger than σ by
about √N, only the term without tangents is left, which is a Gaussian kernel of width √2 σ. Such terms are not computed.

Differs from [Pozdnoukhov04]: eq. (12) takes the exponent of eq. (11) with a factor ½ that eq. (11) does not have; here
it is that of eq. (8). K_B is normalized to K_B(x, x) = 1, without which (2π)^N overflows. It is computed in logarithms
from matrices of the size of J (Woodbury's identity and the determinant lemma), never from N x N ones.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np

from invariance.tangents._jit import overlap_exponents
from invariance.tangents.points import Points, coordinates_of_differences, squared_distances

# A term below this part of the sum (in logarithms) is less than its rounding errors.
NEGLIGIBLE = -40.0


class Pairs:
    """All that the precisions of two sets of points have in common with each other and with their differences."""

    def __init__(self, X: Points, Y: Points, gamma_w: float):
        n, self.J, self.N = X.vectors.shape
        S, T = (points.vectors / gamma_w for points in (X, Y))
        self.grams = S @ S.transpose(0, 2, 1), T @ T.transpose(0, 2, 1)
        self.crossed = (S.reshape(n * self.J, self.N) @ T.reshape(-1, self.N).T).reshape(n, self.J, len(Y), self.J)
        self.squared = squared_distances(X, Y)
        self.on_rows = -coordinates_of_differences(Y, replace(X, vectors=S))
        self.on_cols = coordinates_of_differences(X, replace(Y, vectors=T))

    def exponents(self, A: list[int], B: list[int], a: float, b: float) -> tuple[np.ndarray, np.ndarray]:
        """Return rᵀ P (P + Q)⁻¹ Q r and log |(P + Q) / (a + b)| for all pairs (n, m).

        P = a I - Σ_A ssᵀ has the tangents A of the rows, Q = b I - Σ_B ttᵀ the tangents B of the columns.
        """
        crossed = np.ascontiguousarray(self.crossed[:, A][..., B])
        on_rows, on_cols = np.ascontiguousarray(self.on_rows[..., A]), np.ascontiguousarray(self.on_cols[..., B])
        grams_rows = np.ascontiguousarray(self.grams[0][:, A][..., A])
        grams_cols = np.ascontiguousarray(self.grams[1][:, B][..., B])
        quadratic, log_det = np.empty_like(self.squared), np.empty_like(self.squared)
        overlap_exponents(self.squared, crossed, on_rows, on_cols, grams_rows, grams_cols, a, b, quadratic, log_det)
        return quadratic, log_det - (len(A) + len(B)) * np.log(a + b)


def overlap(X: Points, Y: Points, sigma: float, gamma_w: float, rho: float) -> np.ndarray:
    """K_B(x_i, y_j) (n, m) with η = 0, normalized."""
    pairs = Pairs(X, Y, gamma_w)
    everything, a = list(range(pairs.J)), 1 / sigma**2 + pairs.J / gamma_w**2
    quadratic, log_det = pairs.exponents(everything, everything, a, a)
    # Normalizing by K_B(x, x) and K_B(y, y) leaves ¼ (log|2P_x| + log|2P_y|) of the terms of x and of y alone. All
    # determinants are divided by (2a)^N.
    own = [_log_det(a, grams) for grams in pairs.grams]
    return np.exp(-0.5 * rho * quadratic - 0.5 * log_det + 0.25 * (own[0][:, None] + own[1]))


def overlap_of_sums(X: Points, Y: Points, sigma: float, gamma_w: float, eta: float) -> np.ndarray:
    """K_B(x_i, y_j) (n, m) with η > 0 and ρ = 1, normalized; it takes up to 4^J terms."""
    pairs = Pairs(X, Y, gamma_w)
    total = np.full(pairs.squared.shape, -np.inf)
    for A, B, a, b, log_weight in _terms(pairs, sigma, gamma_w, eta, float(pairs.squared.max(initial=0))):
        quadratic, log_det = pairs.exponents(A, B, a, b)
        np.logaddexp(total, log_weight - 0.5 * quadratic - 0.5 * log_det, out=total)
    own = [np.full(len(grams), -np.inf) for grams in pairs.grams]
    for A, B, a, b, log_weight in _terms(pairs, sigma, gamma_w, eta, 0.0):
        both = A + B
        for sums, grams in zip(own, pairs.grams, strict=True):
            np.logaddexp(sums, log_weight - 0.5 * _log_det(a + b, grams[:, both][..., both]), out=sums)
    return np.exp(total - 0.5 * (own[0][:, None] + own[1]))


def _terms(
    pairs: Pairs, sigma: float, gamma_w: float, eta: float, max_squared: float
) -> Iterator[tuple[list[int], list[int], float, float, float]]:
    """Yield A, B, the multiples a and b of I in P_A and P_B, and the logarithmic weight of all terms that matter.

    The weight is η^(-|A|-|B|) ((a + b) σ²/2)^(-N/2), relative to that of the term without tangents, whose value is at
    least exp(-max_squared / (4σ²)). Other terms have exponents of at most 0. The eigenvalues of P_A + P_B are a + b,
    but for at most k = |A| + |B| of them, which are at least 2/σ²; so |(P_A + P_B) / (a + b)| is at least
    (2 / (σ² (a + b)))^k.
    """
    subsets = [list(A) for size in range(pairs.J + 1) for A in combinations(range(pairs.J), size)]
    for A in subsets:
        for B in subsets:
            k = len(A) + len(B)
            a, b = (1 / sigma**2 + len(some) / gamma_w**2 for some in (A, B))
            ratio = np.log((a + b) * sigma**2 / 2)
            log_weight = -k * np.log(eta) - 0.5 * pairs.N * ratio
            if log_weight + 0.5 * min(k, pairs.N) * ratio >= NEGLIGIBLE - max_squared / (4 * sigma**2):
                yield A, B, a, b, log_weight


def _log_det(scale: float, grams: np.ndarray) -> np.ndarray:
    """Logarithm of |I - SᵀS / scale| for every Gram matrix S Sᵀ (n, J, J): (n,)."""
    J = grams.shape[1]
    return np.linalg.slogdet(np.eye(J) - grams / scale)[1] if J else np.zeros(len(grams))
