"""Matrices that are not positive semi-definite are measured, and repaired alike for training and test images."""

import numpy as np
import pytest

from invariance.tangents import JitteredSVC, TangentDistance, TangentSVC, TangentVectorKernel
from invariance.tangents.psd import PsdCorrection, negative_share
from invariance.transformations import Rotations, Shifts
from tests.tangents.toys import draw_strokes


def draw_indefinite(n=8, seed=0):
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.standard_normal((n, n)))[0]
    values = np.linspace(-2, 5, n)
    return (turn * values) @ turn.T, turn, values


@pytest.mark.parametrize(("how", "repair"), [("clip", lambda v: np.maximum(v, 0)), ("flip", np.abs)])
def test_negative_eigenvalues_are_clipped_or_flipped(how, repair):
    K, turn, values = draw_indefinite()
    gram = PsdCorrection(how)
    repaired = gram.fit_transform(K)
    np.testing.assert_allclose(repaired, (turn * repair(values)) @ turn.T, atol=1e-12)
    np.testing.assert_array_equal(repaired, repaired.T)
    assert np.linalg.eigvalsh(repaired).min() > -1e-12
    np.testing.assert_allclose(gram.transform(K), repaired, atol=1e-12)
    np.testing.assert_allclose(gram.transform(K[:3]), repaired[:3], atol=1e-12)


def test_a_definite_matrix_stays_as_it_is_and_so_does_any_on_demand():
    K, turn, _ = draw_indefinite()
    definite = (turn * np.arange(1, 9)) @ turn.T
    definite = (definite + definite.T) / 2
    for how in (None, "clip", "flip"):
        gram = PsdCorrection(how)
        np.testing.assert_array_equal(gram.fit_transform(definite), definite)
        np.testing.assert_array_equal(gram.transform(K), K)
    np.testing.assert_array_equal(PsdCorrection().fit_transform(K), K)


def test_the_negative_share():
    K, _, values = draw_indefinite()
    assert negative_share(K) == pytest.approx(-values[values < 0].sum() / np.abs(values).sum())
    assert negative_share(np.eye(5)) == 0
    assert negative_share(np.ones((6, 6))) == 0  # zero eigenvalues, but for rounding
    assert negative_share(np.zeros((3, 3))) == 0
    assert negative_share(np.diag([1.0, -3.0])) == pytest.approx(0.75)


MACHINES = {
    "tangent distance": TangentSVC(TangentDistance(sigma=3.0), C=5.0),
    "sum": TangentSVC(TangentVectorKernel(form="sum", sigma=2.0, gamma_w=1.0, gamma_r=0.5), C=5.0),
    "jittered": JitteredSVC(Rotations(3, limit=20), TangentDistance(Shifts(1)), sigma=3.0, C=5.0),
}


@pytest.mark.parametrize("how", ["clip", "flip"])
@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES.keys())
def test_a_training_image_gets_the_decision_it_got_in_training(machine, how):
    images, labels = draw_strokes(15)
    machine = type(machine)(**{**machine.get_params(deep=False), "psd_correction": how}).fit(images, labels)
    K = machine.kernel_(images)
    assert machine.negative_share_ == pytest.approx(negative_share(K), rel=1e-6)
    assert machine.negative_share_ > 0
    repaired = PsdCorrection(how).fit_transform(K)
    assert np.linalg.eigvalsh(repaired).min() > -1e-9
    in_training = machine.svc_.decision_function(repaired)
    np.testing.assert_allclose(machine.decision_function(images), in_training, atol=1e-4)
    unrepaired = machine.svc_.decision_function(K)
    assert np.abs(unrepaired - in_training).max() > 1e-3


def test_a_wrong_way_is_named():
    images, labels = draw_strokes(4)
    with pytest.raises(ValueError, match=r"psd_correction must be one of 'clip', 'flip'.*got 'shift'"):
        TangentSVC(psd_correction="shift").fit(images, labels)
