"""The compiled machine and the projection equal libsvm and scipy."""

import numpy as np
import pytest

from invariance.tradeoff import _jit
from invariance.tradeoff.solver import fit_machine
from tests import reference
from tests.tradeoff.toys import draw_kernels


def matrices():
    Ks, y = draw_kernels(2, n=24)
    line = np.linspace(-1, 1, 24)[:, None] + 0.7 * y[:, None]
    return y, {
        "gaussian": Ks[0],
        "sum": Ks.sum(axis=0),
        "of rank one": line @ line.T,
        "the same sample twice": np.kron(Ks[0, :12, :12], np.ones((2, 2)))[np.ix_(*[np.arange(24)] * 2)],
        "constant": np.ones((24, 24)),
        "zero": np.zeros((24, 24)),
    }


def solve(K, y, C, tolerance=1e-9, alpha=None, max_steps=1_000_000):
    alpha, gradient = np.zeros(len(y)) if alpha is None else alpha.copy(), np.empty(len(y))
    offset = _jit.solve_dual(K, y, C, tolerance, max_steps, alpha, gradient)
    return alpha, gradient, offset


def dual_objective(K, y, alpha):
    return alpha.sum() - (alpha * y) @ K @ (alpha * y) / 2


@pytest.mark.parametrize("C", [0.01, 1.0, 50.0])
@pytest.mark.parametrize("name", list(matrices()[1]))
def test_the_machine_is_libsvm(name, C):
    y, Ks = matrices()
    K = Ks[name]
    expected, offset, optimum = reference.solve_dual(K, y, C)
    alpha, gradient, b = solve(K, y, C)
    assert alpha.min() >= 0
    assert alpha.max() <= C
    assert alpha @ y == pytest.approx(0, abs=1e-9 * C)
    assert dual_objective(K, y, alpha) == pytest.approx(optimum, rel=1e-7)
    np.testing.assert_allclose(gradient, y * (K @ (alpha * y)) - 1, atol=1e-8 * max(C, 1))
    np.testing.assert_allclose(K @ (alpha * y), K @ (expected * y), atol=1e-5)
    if np.any((alpha > 1e-6 * C) & (alpha < (1 - 1e-6) * C)) and name not in ("zero", "constant"):
        assert b == pytest.approx(offset, abs=1e-5)


@pytest.mark.parametrize("flip", [1, -1])
def test_the_offset_without_free_vectors_is_in_the_middle_of_what_is_allowed(flip):
    y = flip * np.array([1.0, 1.0, -1.0, -1.0])
    x = np.array([3.0, 5.0, 1.0, -2.0])
    alpha, _, b = solve(np.outer(x, x), y, 1e-3)
    scores = np.outer(x, x) @ (alpha * y)
    low, high = np.sort((y - scores)[alpha == 1e-3])[[0, -1]]
    assert np.all((alpha == 0) | (alpha == 1e-3))
    assert low <= b <= high
    _, offset, _ = reference.solve_dual(np.outer(x, x), y, 1e-3)
    assert b == pytest.approx(offset, abs=1e-8)


def test_a_warm_start_ends_at_the_same_optimum_in_fewer_steps():
    y, Ks = matrices()
    K, C = Ks["gaussian"], 10.0
    cold, _, offset = solve(K, y, C)
    warm, gradient, again = solve(K, y, C, alpha=cold)
    assert np.array_equal(warm, cold)
    assert again == pytest.approx(offset, abs=1e-9)
    np.testing.assert_allclose(gradient, y * (K @ (cold * y)) - 1, atol=1e-10)
    nearby = solve(1.02 * K, y, C)[0]
    few = solve(K, y, C, alpha=nearby, max_steps=5)[0]
    assert dual_objective(K, y, few) > dual_objective(K, y, solve(K, y, C, max_steps=5)[0])
    other = solve(Ks["of rank one"], y, C, 1e-6)[0]
    finished = solve(K, y, C, alpha=other)[0]
    assert dual_objective(K, y, finished) == pytest.approx(dual_objective(K, y, cold), rel=1e-9)


def test_every_step_of_the_machine_gains():
    y, Ks = matrices()
    values = [dual_objective(Ks["gaussian"], y, solve(Ks["gaussian"], y, 5.0, max_steps=n)[0]) for n in range(25)]
    assert np.all(np.diff(values) >= 0)
    assert values[0] == 0 < values[-1]


def test_a_machine_on_fixed_weights_decides_as_libsvm_on_their_sum():
    Ks, y = draw_kernels(3)
    weights = np.array([0.5, 0.0, 2.0])
    machine = fit_machine(Ks, y, 3.0, weights, 1e-9)
    K = np.tensordot(weights, Ks, axes=1)
    alpha, offset, _ = reference.solve_dual(K, y, 3.0)
    np.testing.assert_allclose(K @ machine.coefficients + machine.offset, K @ (alpha * y) + offset, atol=1e-6)
    assert np.isnan(machine.gap)
    assert np.array_equal(machine.weights, weights)


def test_sums_and_forms_are_the_plain_ones():
    Ks, y = draw_kernels(3)
    rng = np.random.default_rng(1)
    alpha = np.maximum(rng.standard_normal(20), 0)
    total, forms = np.full((20, 20), np.nan), np.full(3, np.nan)
    d = np.array([0.0, 1.5, 0.2])
    _jit.combine(Ks, d, total)
    _jit.quadratic_forms(Ks, y, alpha, forms)
    np.testing.assert_allclose(total, np.tensordot(d, Ks, axes=1))
    np.testing.assert_allclose(forms, [(alpha * y) @ K @ (alpha * y) for K in Ks])


@pytest.mark.parametrize("seed", range(12))
def test_the_projection_is_scipys(seed):
    rng = np.random.default_rng(seed)
    n_kernels, n_rows = int(rng.integers(1, 7)), int(rng.integers(1, 5))
    A = rng.standard_normal((n_rows, n_kernels))
    p = A @ rng.random(n_kernels) - rng.random(n_rows) * rng.integers(0, 2, n_rows)
    d = 2 * rng.standard_normal(n_kernels)
    nearest, multipliers = d.copy(), np.full(n_rows, 7.0)
    _jit.project(nearest, A, p, multipliers)
    np.testing.assert_allclose(nearest, reference.project(d, A, p), atol=1e-6)
    assert nearest.min() >= 0
    assert np.all(A @ nearest >= p - 1e-9)
    # nearest = d + Aᵀμ + λ with μ, λ >= 0 that vanish where there is room
    assert multipliers.min() >= 0
    np.testing.assert_allclose(multipliers * (A @ nearest - p), 0, atol=1e-8)
    lifted = nearest - d - A.T @ multipliers
    assert lifted.min() >= -1e-8
    np.testing.assert_allclose(lifted * nearest, 0, atol=1e-8)


def test_without_constraints_the_projection_cuts_off():
    d = np.array([0.3, -1.0, 0.0, 2.0])
    _jit.project(d, np.zeros((0, 4)), np.zeros(0), np.zeros(0))
    assert d.tolist() == [0.3, 0.0, 0.0, 2.0]


def test_a_row_of_zeros_constrains_nothing():
    d = np.array([-1.0, 2.0])
    _jit.project(d, np.zeros((1, 2)), np.zeros(1), np.zeros(1))
    assert d.tolist() == [0.0, 2.0]
