"""Compiled loops of tangents: what is small and different for every pair of images."""

import numpy as np

from invariance._core.compilation import compiled


@compiled
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


@compiled
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


@compiled
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


@compiled
def overlap_exponents(squared, crossed, on_rows, on_cols, grams_rows, grams_cols, a, b, quadratic, log_det):
    """What depends on the pair in [Pozdnoukhov04] eq. (12), in terms of (J + K) x (J + K) matrices.

    The precisions are P = a I - SᵀS and Q = b I - TᵀT, with the tangents S (J, d) and T (K, d) of two images over
    gamma_w. For B = [S; T] it gives rᵀ P (P + Q)⁻¹ Q r and log |(a + b) I - B Bᵀ|. crossed (n, J, m, K) are S Tᵀ,
    on_rows (m, n, J) are S r, on_cols (n, m, K) are T r, the grams S Sᵀ (n, J, J) and T Tᵀ (m, K, K).
    """
    n, J, m, K = crossed.shape
    system = np.empty((J + K, J + K))
    left, right = np.empty(J + K), np.empty(J + K)
    for i in range(n):
        for j in range(m):
            inner = a * b * squared[i, j]
            for k in range(J):
                p = on_rows[j, i, k]
                inner -= b * p * p
                left[k], right[k] = a * p, b * p
                for e in range(J):
                    left[k] -= grams_rows[i, k, e] * on_rows[j, i, e]
                    system[k, e] = -grams_rows[i, k, e]
                for e in range(K):
                    inner += p * crossed[i, k, j, e] * on_cols[i, j, e]
                    right[k] -= crossed[i, k, j, e] * on_cols[i, j, e]
                    system[J + e, k] = -crossed[i, k, j, e]
                system[k, k] += a + b
            for k in range(K):
                q = on_cols[i, j, k]
                inner -= a * q * q
                left[J + k], right[J + k] = a * q, b * q
                for e in range(J):
                    left[J + k] -= crossed[i, e, j, k] * on_rows[j, i, e]
                for e in range(K):
                    right[J + k] -= grams_cols[j, k, e] * on_cols[i, j, e]
                    system[J + k, J + e] = -grams_cols[j, k, e]
                system[J + k, J + k] += a + b
            # Cholesky factor row by row, and the forward substitutions with it.
            solved, log_total = 0.0, 0.0
            for f in range(J + K):
                for c in range(f):
                    for e in range(c):
                        system[f, c] -= system[f, e] * system[c, e]
                    system[f, c] /= system[c, c]
                    system[f, f] -= system[f, c] * system[f, c]
                    left[f] -= system[f, c] * left[c]
                    right[f] -= system[f, c] * right[c]
                system[f, f] = np.sqrt(system[f, f])
                left[f] /= system[f, f]
                right[f] /= system[f, f]
                solved += left[f] * right[f]
                log_total += 2 * np.log(system[f, f])
            quadratic[i, j] = (inner + solved) / (a + b)
            log_det[i, j] = log_total
