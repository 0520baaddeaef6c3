"""Stacks of matrices that are not positive semi-definite are named, and corrected alike for training and test rows."""

import warnings

import numpy as np
import pytest

from invariance.models import load, save
from invariance.tangents import TangentDistance
from invariance.tradeoff import TradeoffClassifier
from invariance.tradeoff.definiteness import most_negative_eigenvalue
from tests.tangents.toys import draw_strokes
from tests.tradeoff.toys import draw_task

DISTANCES, LABELS = draw_task()
GRAMS = np.exp(-DISTANCES / DISTANCES.mean(axis=(1, 2), keepdims=True))


def with_spectrum(values, seed=0):
    """A symmetric matrix (n, n) with these eigenvalues, and its eigenvectors."""
    turn = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values), len(values))))[0]
    K = (turn * values) @ turn.T
    return (K + K.T) / 2, turn


def spoil(K, share):
    """K with its smallest eigenvalue replaced by -share times the largest."""
    values, vectors = np.linalg.eigh(K)
    values[0] = -share * values[-1]
    K = (vectors * values) @ vectors.T
    return (K + K.T) / 2


BROKEN = np.stack([GRAMS[0], spoil(GRAMS[1], 0.02), GRAMS[2], spoil(GRAMS[3], 0.3)])


@pytest.mark.parametrize("share", [0.5, 0.01, 1e-5])
def test_the_most_negative_eigenvalue_is_a_share_of_the_largest(share):
    K, _ = with_spectrum(np.array([-3 * share, -share, 0.1, 1.0, 3.0]))
    assert most_negative_eigenvalue(K) == pytest.approx(-share, rel=1e-6)
    assert most_negative_eigenvalue(1e6 * K) == pytest.approx(-share, rel=1e-6)


def test_definite_singular_and_rounded_matrices_have_none():
    points = np.random.default_rng(0).standard_normal((40, 3))
    singular = points @ points.T
    for K in (np.eye(4), np.ones((5, 5)), np.zeros((3, 3)), singular, *GRAMS, with_spectrum(np.arange(6.0))[0]):
        assert most_negative_eigenvalue(K) == 0
    assert most_negative_eigenvalue(singular.astype(np.float32).astype(float)) == 0
    assert most_negative_eigenvalue(-np.eye(3)) == -1
    assert most_negative_eigenvalue(np.array([[0.0, 1.0], [1.0, 0.0]])) == pytest.approx(-1)


@pytest.mark.parametrize("kernels", ["precomputed", "distances"])
def test_the_warning_names_the_matrices_and_how_negative_they_are(kernels):
    stack = BROKEN if kernels == "precomputed" else -np.log(np.maximum(BROKEN, 1e-6))
    names = ["good", "bad", "fine", "worse"]
    classifier = TradeoffClassifier(kernels, C=1.0, weights="equal", kernel_names=names)
    with pytest.warns(UserWarning, match=r"2 of 4 Gram matrices are not .*: 'bad' \(-0.\d+\), 'worse' \(-0.\d+\)"):
        classifier.fit(stack, LABELS)
    if kernels == "precomputed":
        np.testing.assert_allclose(classifier.most_negative_eigenvalues_, [0, -0.02, 0, -0.3], rtol=1e-6)
    assert np.array_equal(classifier.most_negative_eigenvalues_ < 0, [False, True, False, True])


@pytest.mark.parametrize(("how", "repair"), [("clip", lambda v: np.maximum(v, 0)), ("flip", np.abs)])
def test_a_correction_is_the_same_for_training_and_test_rows(how, repair):
    n = 20
    own, rows = BROKEN[:, :n, :n], BROKEN[:, n:, :n]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        corrected = TradeoffClassifier("precomputed", C=1.0, psd_correction=how).fit(own, LABELS[:n])
    repaired, repaired_rows = [], []
    for K, test in zip(own, rows, strict=True):
        values, vectors = np.linalg.eigh(K)
        repaired.append((vectors * repair(values)) @ vectors.T)
        # The test sample's coordinates Λ⁻¹Uᵀk along the eigenvectors are kept, the spectrum is repaired.
        repaired_rows.append(test @ (vectors * (repair(values) / values)) @ vectors.T)
    by_hand = TradeoffClassifier("precomputed", C=1.0).fit(np.array(repaired), LABELS[:n])
    # Rounding may end the descent at another point within its tolerance.
    np.testing.assert_allclose(corrected.weights_, by_hand.weights_, atol=1e-3)
    decisions = corrected.decision_function(rows)
    np.testing.assert_allclose(decisions, by_hand.decision_function(np.array(repaired_rows)), atol=1e-3)
    assert np.abs(decisions - by_hand.decision_function(rows)).max() > 0.01
    np.testing.assert_allclose(
        corrected.decision_function(own), by_hand.decision_function(np.array(repaired)), atol=1e-3
    )
    assert corrected.gaps_.max() <= 1e-3


def test_distances_are_corrected_after_they_became_kernels():
    distances = -np.log(np.maximum(BROKEN, 1e-6))
    classifier = TradeoffClassifier("distances", C=1.0, psd_correction="clip").fit(distances, LABELS)
    grams = np.exp(-classifier.gammas_[:, None, None] * distances)
    of_grams = TradeoffClassifier("precomputed", C=1.0, psd_correction="clip").fit(grams, LABELS)
    assert classifier.most_negative_eigenvalues_.min() < -0.01
    np.testing.assert_array_equal(classifier.weights_, of_grams.weights_)
    np.testing.assert_array_equal(classifier.decision_function(distances), of_grams.decision_function(grams))


def test_definite_stacks_are_left_as_they_are():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain = TradeoffClassifier("precomputed", C=1.0).fit(GRAMS, LABELS)
    assert np.array_equal(plain.most_negative_eigenvalues_, np.zeros(4))
    clipped = TradeoffClassifier("precomputed", C=1.0, psd_correction="clip").fit(GRAMS, LABELS)
    np.testing.assert_allclose(clipped.decision_function(GRAMS), plain.decision_function(GRAMS), atol=1e-8)


def test_a_corrected_classifier_is_saved_with_its_correction(tmp_path):
    classifier = TradeoffClassifier("precomputed", C=1.0, psd_correction="clip").fit(BROKEN, LABELS)
    save(classifier, tmp_path / "model.zip")
    loaded = load(tmp_path / "model.zip")
    np.testing.assert_array_equal(loaded.decision_function(BROKEN), classifier.decision_function(BROKEN))


def test_matrices_that_are_not_symmetric_are_named():
    stack = GRAMS.copy()
    stack[2, 3, 4] += 0.1
    with pytest.raises(ValueError, match="must be symmetric; 'kernel 3' differs from its transpose by up to 0.1"):
        TradeoffClassifier("precomputed").fit(stack, LABELS)


def test_a_correction_that_is_unknown_or_has_nothing_to_correct_is_refused():
    with pytest.raises(ValueError, match="psd_correction must be one of 'clip', 'flip'; got 'shift'"):
        TradeoffClassifier("precomputed", psd_correction="shift").fit(GRAMS, LABELS)
    images, labels = draw_strokes(4)
    with pytest.raises(ValueError, match="psd_correction is for stacks of matrices.* got 'clip' with base kernels"):
        TradeoffClassifier([TangentDistance()], psd_correction="clip").fit(images, labels)
