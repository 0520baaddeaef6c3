"""Learned weights: the optimum of the paper's problem, and bounds that hold however early the descent stops."""

import numpy as np
import pytest

from invariance.tradeoff._jit_descent import Problem, learn_weights
from invariance.tradeoff.solver import check_terms, learn_machine
from tests import reference
from tests.tradeoff.toys import draw_kernels, plain

SLACK = 1e-8  # of the twin's optimum

PENALTIES = [(1.0, 0.0), (2.0, 0.0), (1.5, 0.0), (1.0, 0.5)]


def primal(Ks, y, C, machine, norm=1.0, ridge=0.0, sigma=1.0):
    """½ wᵀw + C Σ hinge + R(d) of the machine as it is returned, eq. (1)."""
    K = np.tensordot(machine.weights, Ks, axes=1)
    decisions = K @ machine.coefficients + machine.offset
    hinge = np.maximum(1 - y * decisions, 0).sum()
    d = machine.weights
    cost = np.sum(sigma * d**norm / norm) + ridge * d @ d / 2
    return machine.coefficients @ K @ machine.coefficients / 2 + C * hinge + cost


def assert_bounds_hold(machine, optimum):
    assert machine.lower <= optimum * (1 + SLACK)
    assert machine.upper >= optimum * (1 - SLACK)


@pytest.mark.parametrize(("norm", "ridge"), PENALTIES)
@pytest.mark.parametrize("C", [1e-3, 1.0, 1000.0])
def test_bounds_enclose_the_optimum_and_close_in_on_it(norm, ridge, C):
    Ks, y = draw_kernels(4)
    sigma = np.array([1.0, 0.7, 1.3, 1.0])
    _, optimum = reference.learn_weights(Ks, y, C, sigma, norm, ridge)
    for tolerance in (0.3, 1e-2, 1e-4, 1e-6):
        machine = learn_machine(Ks, y, C, plain(4, sigma, norm, ridge), tolerance)
        assert_bounds_hold(machine, optimum)
        assert machine.gap <= tolerance
        assert machine.upper == pytest.approx(primal(Ks, y, C, machine, norm, ridge, sigma), rel=1e-9)
    assert machine.upper == pytest.approx(optimum, rel=2e-6)


@pytest.mark.parametrize("seed", range(4))
def test_weights_are_the_twins(seed):
    Ks, y = draw_kernels(5, seed=seed)
    weights, optimum = reference.learn_weights(Ks, y, 100.0, np.ones(5))
    machine = learn_machine(Ks, y, 100.0, plain(5), 1e-9)
    assert machine.upper == pytest.approx(optimum, rel=1e-7)
    np.testing.assert_allclose(machine.weights, weights, atol=2e-3)


@pytest.mark.parametrize("max_steps", [1, 2, 3, 5, 8])
def test_bounds_hold_wherever_it_is_stopped(max_steps):
    Ks, y = draw_kernels(4, seed=1)
    _, optimum = reference.learn_weights(Ks, y, 1000.0, np.ones(4))
    d, alpha = np.full(4, 0.25), np.zeros(20)
    problem = Problem(Ks, y, 1000.0, *plain(4))
    _, upper, lower, n_steps = learn_weights(problem, 1e-9, max_steps, d, alpha)
    assert n_steps == max_steps
    assert lower <= optimum * (1 + SLACK)
    assert upper >= optimum * (1 - SLACK)


@pytest.mark.parametrize("C", [1.0, 1000.0])
def test_used_kernels_reach_their_cost_and_the_others_do_not(C):
    Ks, y = draw_kernels(6, n=16, seed=3)
    Ks[0] = np.exp(-3 * (1 - Ks[0]))
    sigma = np.linspace(0.4, 3, 6)
    machine = learn_machine(Ks, y, C, plain(6, sigma), 1e-9)
    forms = np.array([machine.coefficients @ K @ machine.coefficients for K in Ks])
    used = machine.weights > 1e-6
    assert 0 < used.sum() < 6
    np.testing.assert_allclose(forms[used] / 2, sigma[used], rtol=1e-3)
    assert np.all(forms[~used] / 2 <= sigma[~used] * (1 + 1e-3))


def test_a_larger_cost_makes_a_weight_smaller():
    Ks, y = draw_kernels(3, seed=2)
    cheap = learn_machine(Ks, y, 10.0, plain(3), 1e-6).weights
    dear = learn_machine(Ks, y, 10.0, plain(3, np.array([2.0, 1.0, 1.0])), 1e-6).weights
    assert dear[0] < cheap[0]


def test_higher_norms_spread_the_weights():
    Ks, y = draw_kernels(5, seed=4)
    sigma = np.array([0.5, 0.8, 1.0, 1.5, 3.0])
    spread = []
    for norm in (1.0, 1.5, 3.0):
        d = learn_machine(Ks, y, 100.0, plain(5, sigma, norm), 1e-6).weights
        spread.append(d.min() / d.max())
    assert spread == sorted(spread)
    assert spread[0] < 0.5 * spread[-1]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("C", [1.0, 1000.0])
def test_constraints_are_kept_and_their_bounds_close(seed, C):
    rng = np.random.default_rng(seed)
    n_kernels, n_rows = int(rng.integers(2, 6)), int(rng.integers(1, 4))
    Ks, y = draw_kernels(n_kernels, seed=seed)
    A = rng.standard_normal((n_rows, n_kernels))
    p = A @ (3 * rng.random(n_kernels)) - rng.random(n_rows) * rng.integers(0, 2, n_rows)
    sigma = rng.uniform(0.5, 2, n_kernels)
    _, optimum = reference.learn_weights(Ks, y, C, sigma, A=A, p=p)
    for tolerance in (0.3, 1e-2, 1e-6):
        machine = learn_machine(Ks, y, C, plain(n_kernels, sigma, A=A, p=p), tolerance)
        assert machine.weights.min() >= 0
        assert np.all(A @ machine.weights >= p - 1e-9)
        assert_bounds_hold(machine, optimum)
        assert machine.gap <= tolerance
    assert machine.upper == pytest.approx(optimum, rel=2e-6)


def test_a_constraint_that_binds_costs_something():
    Ks, y = draw_kernels(3)
    free = learn_machine(Ks, y, 10.0, plain(3), 1e-6)
    asked = free.weights[0] + 1.0
    machine = learn_machine(Ks, y, 10.0, plain(3, A=[[1, 0, 0]], p=[asked]), 1e-6)
    assert machine.weights[0] == pytest.approx(asked, rel=1e-9)
    assert machine.lower > free.upper


def test_a_kernel_given_three_times_is_as_good_as_once():
    Ks, y = draw_kernels(2)
    once = learn_machine(Ks, y, 10.0, plain(2), 1e-7)
    thrice = learn_machine(Ks[[0, 0, 0, 1]], y, 10.0, plain(4), 1e-7)
    assert thrice.upper == pytest.approx(once.upper, rel=1e-6)
    assert thrice.weights[:3].sum() == pytest.approx(once.weights[0], rel=1e-2)


def test_a_kernel_of_zeros_gets_no_weight():
    Ks, y = draw_kernels(1)
    both = np.concatenate([Ks, np.zeros_like(Ks)])
    machine = learn_machine(both, y, 10.0, plain(2), 1e-6)
    assert machine.gap <= 1e-6
    assert machine.weights[1] < 1e-3
    assert machine.upper == pytest.approx(learn_machine(Ks, y, 10.0, plain(1), 1e-6).upper, rel=2e-6)


def test_nothing_to_learn_from_gives_no_weights():
    y = np.array([1.0, 1.0, 1.0, -1.0, -1.0])
    machine = learn_machine(np.zeros((2, 5, 5)), y, 3.0, plain(2), 1e-6)
    assert machine.weights.tolist() == [0, 0]
    assert machine.upper == pytest.approx(2 * 3.0 * 2)  # every sample of the rarer class, and one for each, on the edge
    assert machine.lower == pytest.approx(machine.upper)
    assert np.isfinite(machine.offset)


def test_a_tiny_C_pays_for_no_kernel():
    Ks, y = draw_kernels(3)
    machine = learn_machine(Ks, y, 1e-4, plain(3), 1e-6)
    assert machine.weights.max() == 0
    assert machine.upper == pytest.approx(20e-4)


@pytest.mark.parametrize("C", [1000.0, 1e6])
def test_a_large_C_is_a_hard_margin(C):
    Ks, y = draw_kernels(3)
    machine = learn_machine(Ks, y, C, plain(3), 1e-6)
    assert machine.gap <= 1e-6
    decisions = np.tensordot(machine.weights, Ks, axes=1) @ machine.coefficients + machine.offset
    assert (y * decisions).min() > 1 - 1e-3
    assert machine.upper == pytest.approx(learn_machine(Ks, y, 100 * C, plain(3), 1e-6).upper, rel=1e-3)


def test_the_ideal_kernel_wins():
    Ks, y = draw_kernels(2)
    machine = learn_machine(np.array([np.outer(y, y), *Ks]), y, 1000.0, plain(3), 1e-8)
    assert machine.weights[1:].max() == 0
    assert machine.weights[0] == pytest.approx(2**-0.5, rel=1e-3)  # min d + ½ / d
    assert machine.upper == pytest.approx(2**0.5, rel=1e-7)


def test_a_kernel_times_a_number_is_a_kernel_that_costs_less():
    Ks, y = draw_kernels(2)
    scales = np.array([1e4, 1.0])
    machine = learn_machine(Ks * scales[:, None, None], y, 10.0, plain(2), 1e-6)
    same = learn_machine(Ks, y, 10.0, plain(2, 1 / scales), 1e-6)
    assert max(machine.gap, same.gap) <= 1e-6
    assert machine.upper == pytest.approx(same.upper, rel=2e-6)


def test_the_size_of_a_kernel_does_not_matter_if_its_cost_goes_with_it():
    Ks, y = draw_kernels(2)
    scales = np.array([1e5, 1.0])
    same = learn_machine(Ks, y, 10.0, plain(2), 1e-6)
    machine = learn_machine(Ks * scales[:, None, None], y, 10.0, plain(2, scales), 1e-3)
    assert machine.upper == pytest.approx(same.upper, rel=2e-3)
    assert machine.gap <= 1e-3


def test_norm_and_ridge_do_not_go_together():
    with pytest.raises(ValueError, match="ridge needs norm=1; got norm=2 and ridge=0.5"):
        check_terms(1.0, 2.0, 0.5, None, 3)


def test_the_gap_closes_where_a_line_cannot_part_the_classes():
    y = np.where(np.arange(20) % 2, 1.0, -1.0)
    Xs = [np.random.default_rng(1).normal(size=(20, 2)), np.random.default_rng(2).normal(size=(20, 1))]
    Ks = np.array([X @ X.T for X in Xs])
    assert learn_machine(Ks, y, 1000.0, plain(2), 1e-6).gap <= 1e-6
    assert learn_machine(Ks, y, 1e6, plain(2), 1e-3).gap <= 1e-3


def test_terms_of_other_kernels_are_refused():
    """Compiled loops would write beyond the weights."""
    Ks, y = draw_kernels(3)
    with pytest.raises(ValueError, match="terms are for 5 kernels, but Ks has 3"):
        learn_machine(Ks, y, 1.0, plain(5), 1e-3)
