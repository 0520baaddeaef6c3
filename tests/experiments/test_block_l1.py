"""Block l1 learning: the optimum of the dual of Bach et al. as a generic solver finds it, and votes of pairs."""

import numpy as np
import pytest
from scipy import optimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from experiments.peers import block_l1
from experiments.peers.block_l1 import BlockL1Classifier, learn_block_l1
from invariance.tradeoff.solver import learn_machine
from tests.tradeoff.toys import draw_kernels, draw_task, plain


def solve_dual(Ks, y, C):
    """max 1ᵀα - ½ t over 0 <= α <= C, yᵀα = 0 and αᵀYK_kYα <= t for every k, by scipy's SLSQP."""
    n = len(y)
    signed = Ks * np.outer(y, y)

    def slack(v):
        return v[n] - np.einsum("i,kij,j->k", v[:n], signed, v[:n])

    def slope(v):
        return np.hstack([-2 * signed @ v[:n], np.ones((len(Ks), 1))])

    best = optimize.minimize(
        lambda v: v[n] / 2 - v[:n].sum(),
        np.append(np.full(n, min(C, 1) / 2), 100.0),
        jac=lambda v: np.append(-np.ones(n), 0.5),
        bounds=[(0, C)] * n + [(0, None)],
        constraints=[
            {"type": "ineq", "fun": slack, "jac": slope},
            {"type": "eq", "fun": lambda v: v[:n] @ y, "jac": lambda v: np.append(y, 0.0)},
        ],
        method="SLSQP",
        options={"ftol": 1e-9, "maxiter": 2000},
    )
    assert best.success
    return -best.fun


@pytest.mark.parametrize("C", [0.1, 1.0, 1000.0])
@pytest.mark.parametrize(("n_kernels", "seed"), [(2, 0), (3, 1), (5, 2)])
def test_the_optimum_is_that_of_a_generic_solver_on_the_dual(n_kernels, seed, C):
    Ks, y = draw_kernels(n_kernels, 20, seed)
    optimum = solve_dual(Ks, y, C)
    machine = learn_block_l1(Ks, y, C, 1e-4)
    assert machine.gap <= 1e-4
    assert machine.lower - 1e-6 * optimum <= optimum <= machine.upper + 1e-6 * optimum
    assert machine.weights.min() >= 0
    assert machine.weights.sum() == pytest.approx(1)


def test_the_primal_value_is_that_of_the_block_norm():
    """½ (Σ |w_k|)² + C Σ hinge, with |w_k|² = η_k² αᵀYK_kYα, is at most the bound that the machine states."""
    Ks, y = draw_kernels(4, 24, 3)
    machine = learn_block_l1(Ks, y, 5.0, 1e-5)
    lengths = machine.weights * np.sqrt([machine.coefficients @ K @ machine.coefficients for K in Ks])
    decisions = np.tensordot(machine.weights, Ks, axes=1) @ machine.coefficients + machine.offset
    primal = lengths.sum() ** 2 / 2 + 5 * np.maximum(1 - y * decisions, 0).sum()
    assert machine.lower <= primal <= machine.upper * (1 + 1e-12)


def test_weights_are_even_for_equal_kernels_and_zero_for_useless_ones():
    [K], y = draw_kernels(1, 20)
    np.testing.assert_allclose(learn_block_l1(np.stack([K, K]), y, 1.0).weights, 0.5)
    ideal = np.outer(y, y)
    machine = learn_block_l1(np.stack([ideal, np.eye(20)]), y, 1000.0, 1e-6)
    np.testing.assert_allclose(machine.weights, [1, 0], atol=1e-3)


def test_weights_are_the_papers_up_to_a_factor_where_samples_are_separable():
    Ks, y = draw_kernels(4, 20, 1)
    peer, ours = learn_block_l1(Ks, y, 1000.0, 1e-6), learn_machine(Ks, y, 1000.0, plain(4), 1e-6)
    assert np.abs(peer.coefficients).max() < 900
    assert np.abs(ours.coefficients).max() < 900
    np.testing.assert_allclose(ours.weights / ours.weights.sum(), peer.weights, atol=5e-3)
    peer, ours = learn_block_l1(Ks, y, 1.0, 1e-6), learn_machine(Ks, y, 1.0, plain(4), 1e-6)
    assert np.abs(ours.weights / ours.weights.sum() - peer.weights).max() > 0.02


def test_one_kernel_is_a_plain_machine():
    Ks, y = draw_kernels(1, 20)
    machine = learn_block_l1(Ks, y, 1.0)
    svc = SVC(C=1.0, kernel="precomputed", tol=1e-8).fit(Ks[0], y)
    np.testing.assert_allclose(Ks[0] @ machine.coefficients + machine.offset, svc.decision_function(Ks[0]), atol=1e-4)
    assert machine.n_steps == 1


def test_pairs_of_classes_vote():
    distances, labels = draw_task(n_per_class=12, n_noise=2, seed=1)
    training, test = np.arange(24), np.arange(24, 36)
    inside, across = distances[:, training[:, None], training], distances[:, test[:, None], training]
    peer = clone(BlockL1Classifier(C=10.0)).fit(inside, labels[training])
    assert peer.weights_.shape == (3, 3)
    assert np.all(peer.weights_.argmax(axis=1) == 0)
    gammas = 24 * 23 / inside.sum(axis=(1, 2))
    votes = np.zeros((12, 3), int)
    pairs = [("ant", "bee"), ("ant", "cat"), ("bee", "cat")]
    for weights, pair in zip(peer.weights_, pairs, strict=True):
        rows = np.flatnonzero(np.isin(labels[training], pair))
        K, K_test = (np.tensordot(weights, np.exp(-gammas[:, None, None] * D), axes=1) for D in (inside, across))
        svc = SVC(C=10.0, kernel="precomputed").fit(K[np.ix_(rows, rows)], labels[training][rows])
        votes += svc.predict(K_test[:, rows])[:, None] == np.array(["ant", "bee", "cat"])
    is_clear = votes.max(axis=1) == 2
    assert is_clear.sum() >= 10
    assert np.array_equal(peer.predict(across)[is_clear], peer.classes_[votes.argmax(axis=1)][is_clear])


def test_indefinite_distances_are_corrected():
    rng = np.random.default_rng(0)
    distances = np.abs(rng.standard_normal((1, 20, 20)))
    distances = distances + distances.transpose(0, 2, 1)
    distances[0, np.arange(20), np.arange(20)] = 0
    labels = np.arange(20) % 2
    with pytest.warns(UserWarning, match="'kernel 1'.*psd_correction"):
        BlockL1Classifier(C=1.0).fit(distances, labels)
    assert BlockL1Classifier(C=1.0, psd_correction="clip").fit(distances, labels).gaps_.max() <= 1e-3


def test_weights_that_are_not_learned_are_said_to_be_so(monkeypatch):
    monkeypatch.setattr(block_l1, "MAX_STEPS", 1)
    distances, labels = draw_task()
    with pytest.warns(ConvergenceWarning, match="3 of 3 pairs are not learned to tolerance=0.001"):
        BlockL1Classifier(C=10.0).fit(distances, labels)
