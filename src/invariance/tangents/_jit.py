"""Compiled loops of tangents: what is small and different for every pair of images."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def remove_joint_span(crossed, on_rows, on_cols, stiffness, squared):
    """Squared distances (n, m) lowered by what moving both images along their tangents takes away, in place.

    crossed (n, J, m, K) holds the products C = Q_i R_jᵀ of the orthonormal tangents of images i and j, on_rows
    (m, n, J) and on_cols (n, m, K) the coordinates u = Q_i r and w = R_j r of their difference r. With
    s = 1 + stiffness, min_{a,b} |r - Q_iᵀa - R_jᵀb|² + stiffness (|a|² + |b|²) lies below |r|² by
    uᵀu / s + zᵀ (s I - CᵀC / s)⁻¹ z, where z = w - Cᵀu / s.
    """
    n, J, m, K = crossed.shape
    s = 1.0 + stiffness
    system = np.empty((K, K))
    z = np.empty(K)
    for i in range(n):
        for j in range(m):
            taken = 0.0
            for a in range(J):
                taken += on_rows[j, i, a] * on_rows[j, i, a]
            taken /= s
            for b in range(K):
                value = 0.0
                for a in range(J):
                    value += crossed[i, a, j, b] * on_rows[j, i, a]
                z[b] = on_cols[i, j, b] - value / s
                for c in range(b + 1):
                    total = 0.0
                    for a in range(J):
                        total += crossed[i, a, j, b] * crossed[i, a, j, c]
                    system[b, c] = -total / s
                system[b, b] += s
            # Cholesky factor row by row, and the forward substitution with it.
            for b in range(K):
                for c in range(b):
                    for e in range(c):
                        system[b, c] -= system[b, e] * system[c, e]
                    system[b, c] /= system[c, c]
                    system[b, b] -= system[b, c] * system[b, c]
                    z[b] -= system[b, c] * z[c]
                system[b, b] = np.sqrt(max(system[b, b], stiffness))
                z[b] /= system[b, b]
                taken += z[b] * z[b]
            squared[i, j] = max(squared[i, j] - taken, 0.0)


@njit(cache=True, nogil=True)
def product_form(squared, along, sigma, gamma_w, eta, out):
    """[Pozdnoukhov04] eq. (7)-(8) for squared distances (n, m) and coordinates along unit tangents (n, m, J)."""
    near, wide = 1 / (2 * sigma**2), 1 / (2 * gamma_w**2)
    J = along.shape[2]
    for i in range(squared.shape[0]):
        for j in range(squared.shape[1]):
            if eta == 0.0:
                total = 0.0
                for k in range(J):
                    total += along[i, j, k] * along[i, j, k]
                out[i, j] = np.exp(-squared[i, j] * near - max(J * squared[i, j] - total, 0.0) * wide)
            else:
                value = np.exp(-squared[i, j] * near)
                for k in range(J):
                    rest = max(squared[i, j] - along[i, j, k] * along[i, j, k], 0.0)
                    value *= eta + np.exp(-rest * wide)
                out[i, j] = value


@njit(cache=True, nogil=True)
def sum_form(squared, along, lengths, sigma, gamma_w, gamma_r, out):
    """[Pozdnoukhov04] eq. (13); `lengths` (m, J) are those of the tangents."""
    near, wide, long = 1 / (2 * sigma**2), 1 / (2 * gamma_w**2), 1 / (2 * gamma_r**2)
    for i in range(squared.shape[0]):
        for j in range(squared.shape[1]):
            value = np.exp(-squared[i, j] * near)
            for k in range(along.shape[2]):
                a, length = along[i, j, k], lengths[j, k]
                rest = max(squared[i, j] - a * a, 0.0)
                to_end = max(squared[i, j] - 2 * a * length + length * length, 0.0)
                value += np.exp(-rest * wide - to_end * long)
            out[i, j] = value


@njit(cache=True, nogil=True)
def overlap_exponents(squared, crossed, on_rows, on_cols, grams_rows, grams_cols, a, quadratic, log_det):
    """What depends on the pair in [Pozdnoukhov04] eq. (12), in terms of 2J x 2J matrices.

    The precisions are P = a I - SᵀS, with the tangents S (J, d) of an image over gamma_w. For B = [S_x; S_y] it gives
    rᵀ P_x (P_x + P_y)⁻¹ P_y r and log |2a I - B Bᵀ|. crossed (n, J, m, J) are S_x S_yᵀ, on_rows (m, n, J) are S_x r,
    on_cols (n, m, J) are S_y r, the grams S Sᵀ (n, J, J) and (m, J, J).
    """
    n, J, m, _ = crossed.shape
    system = np.empty((2 * J, 2 * J))
    left, right = np.empty(2 * J), np.empty(2 * J)
    for i in range(n):
        for j in range(m):
            inner = a * a * squared[i, j]
            for k in range(J):
                p, q = on_rows[j, i, k], on_cols[i, j, k]
                inner -= a * (p * p + q * q)
                left[k], left[J + k] = a * p, a * q
                right[k], right[J + k] = a * p, a * q
                for e in range(J):
                    inner += p * crossed[i, k, j, e] * on_cols[i, j, e]
                    left[k] -= grams_rows[i, k, e] * on_rows[j, i, e]
                    left[J + k] -= crossed[i, e, j, k] * on_rows[j, i, e]
                    right[k] -= crossed[i, k, j, e] * on_cols[i, j, e]
                    right[J + k] -= grams_cols[j, k, e] * on_cols[i, j, e]
                    system[k, e] = -grams_rows[i, k, e]
                    system[J + k, e] = -crossed[i, e, j, k]
                    system[J + k, J + e] = -grams_cols[j, k, e]
                system[k, k] += 2 * a
                system[J + k, J + k] += 2 * a
            solved, log_total = 0.0, 0.0
            for b in range(2 * J):
                for c in range(b):
                    for e in range(c):
                        system[b, c] -= system[b, e] * system[c, e]
                    system[b, c] /= system[c, c]
                    system[b, b] -= system[b, c] * system[b, c]
                    left[b] -= system[b, c] * left[c]
                    right[b] -= system[b, c] * right[c]
                system[b, b] = np.sqrt(system[b, b])
                left[b] /= system[b, b]
                right[b] /= system[b, b]
                solved += left[b] * right[b]
                log_total += 2 * np.log(system[b, b])
            quadratic[i, j] = (inner + solved) / (2 * a)
            log_det[i, j] = log_total
