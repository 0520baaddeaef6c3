"""Each compiled loop equals a few lines of plain numpy, one pair at a time."""

import numpy as np
import pytest

from invariance.tangents._jit import overlap_exponents, product_form, remove_joint_span, sum_form
from tests import reference

N, M, D = 4, 3, 9


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def draw_frames(rng, n, J):
    """Orthonormal frames (n, J, d)."""
    return np.stack([np.linalg.qr(rng.standard_normal((D, J)))[0].T for _ in range(n)])


def differences(rng):
    """Points, and r (n, m, d) between them."""
    rows, cols = rng.standard_normal((N, D)), rng.standard_normal((M, D))
    return rows, cols, rows[:, None] - cols


@pytest.mark.parametrize("stiffness", [1e-9, 0.2, 3.0])
@pytest.mark.parametrize(("J", "K"), [(1, 1), (3, 3), (2, 4), (4, 1)])
def test_the_joint_span_is_removed_as_by_least_squares(rng, J, K, stiffness):
    rows, cols, r = differences(rng)
    Q, R = draw_frames(rng, N, J), draw_frames(rng, M, K)
    squared = (r**2).sum(axis=2)
    remove_joint_span(
        np.einsum("iad,jbd->iajb", Q, R).copy(),
        np.einsum("iad,ijd->jia", Q, r).copy(),
        np.einsum("jbd,ijd->ijb", R, r).copy(),
        stiffness,
        squared,
    )
    expected = [
        [reference.tangent_distance(x, y, q, t, stiffness) for y, t in zip(cols, R, strict=True)]
        for x, q in zip(rows, Q, strict=True)
    ]
    np.testing.assert_allclose(squared, expected, rtol=1e-6)


def test_a_shared_direction_is_removed_once(rng):
    _, _, r = differences(rng)
    Q = draw_frames(rng, 1, 2).repeat(N, axis=0)
    squared, along = (r**2).sum(axis=2), np.einsum("iad,ijd->jia", Q, r)
    before = squared.copy()
    crossed = np.einsum("iad,jbd->iajb", Q, Q[:M]).astype(np.float32)
    remove_joint_span(crossed, along.copy(), along.transpose(1, 0, 2).copy(), 1e-6, squared)
    np.testing.assert_allclose(squared, before - (along**2).sum(axis=2).T, rtol=1e-4)


@pytest.mark.parametrize("eta", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("J", [0, 1, 4])
def test_the_product_form_is_equation_8(rng, eta, J):
    rows, cols, r = differences(rng)
    tangents = rng.standard_normal((M, J, D))
    units = tangents / np.linalg.norm(tangents, axis=2, keepdims=True)
    out = np.empty((N, M))
    product_form((r**2).sum(axis=2), np.einsum("jkd,ijd->ijk", units, r).copy(), 2.1, 3.2, eta, out)
    expected = [
        [reference.tangent_product_kernel(x, y, t, 2.1, 3.2, eta) for y, t in zip(cols, tangents, strict=True)]
        for x in rows
    ]
    np.testing.assert_allclose(out, expected, rtol=1e-12)


@pytest.mark.parametrize("J", [0, 1, 4])
def test_the_sum_form_is_equation_13(rng, J):
    rows, cols, r = differences(rng)
    tangents = 2 * rng.standard_normal((M, J, D))
    lengths = np.linalg.norm(tangents, axis=2)
    along = np.einsum("jkd,ijd->ijk", tangents / lengths[..., None], r).copy()
    out = np.empty((N, M))
    sum_form((r**2).sum(axis=2), along, lengths, 2.1, 3.2, 2.7, out)
    expected = [
        [reference.tangent_sum_kernel(x, y, t, 2.1, 3.2, 2.7) for y, t in zip(cols, tangents, strict=True)]
        for x in rows
    ]
    np.testing.assert_allclose(out, expected, rtol=1e-12)


@pytest.mark.parametrize(("J", "K"), [(0, 0), (1, 1), (3, 3), (0, 2), (3, 1), (1, 4)])
def test_the_overlap_is_that_of_n_by_n_matrices(rng, J, K):
    _, _, r = differences(rng)
    gamma_w, sigma = 1.3, 1.7
    tangents = [rng.standard_normal((N, J, D)), rng.standard_normal((M, K, D))]
    S, T = (vectors / np.linalg.norm(vectors, axis=2, keepdims=True) / gamma_w for vectors in tangents)
    a, b = (1 / sigma**2 + count / gamma_w**2 for count in (J, K))
    quadratic, log_det = np.empty((N, M)), np.empty((N, M))
    overlap_exponents(
        (r**2).sum(axis=2),
        np.einsum("iad,jbd->iajb", S, T).copy(),
        np.einsum("iad,ijd->jia", S, r).copy(),
        np.einsum("jbd,ijd->ijb", T, r).copy(),
        S @ S.transpose(0, 2, 1),
        T @ T.transpose(0, 2, 1),
        a,
        b,
        quadratic,
        log_det,
    )
    for i, j in np.ndindex(N, M):
        P, Q = (reference.tangent_precision(vectors, D, sigma, gamma_w) for vectors in (tangents[0][i], tangents[1][j]))
        assert quadratic[i, j] == pytest.approx(r[i, j] @ P @ np.linalg.solve(P + Q, Q @ r[i, j]), rel=1e-9)
        # |P + Q| of N x N holds a + b for every direction without tangents.
        expected = np.linalg.slogdet(P + Q)[1] - (D - J - K) * np.log(a + b)
        assert log_det[i, j] == pytest.approx(expected, rel=1e-9, abs=1e-9)
