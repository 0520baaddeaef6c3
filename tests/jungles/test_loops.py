"""Every compiled loop equals its plain twin."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from invariance.jungles import _jit
from tests import reference

COMPILED = settings(max_examples=60, deadline=None, derandomize=True)


@pytest.mark.parametrize("n_members", [1, 2, 7])
def test_largest_rows(n_members):
    # Few different values, so that members often give the same response: the first of them wins.
    responses = np.random.default_rng(0).integers(-2, 3, (n_members, 50)).astype(np.float32)
    best, winners = np.empty(50, np.float32), np.empty(50, np.int64)
    _jit.largest_rows(responses, best, winners)
    expected_best, expected_winners = reference.largest_rows(responses)
    np.testing.assert_array_equal(best, expected_best)
    np.testing.assert_array_equal(winners, expected_winners)


@pytest.mark.parametrize("first_member", [0, 3])
def test_add_rows_by_winner(first_member):
    rng = np.random.default_rng(1)
    coordinates = rng.standard_normal((40, 6)).astype(np.float32)
    winners, residuals = rng.integers(0, 9, 40), rng.standard_normal(40)
    sums = np.zeros((4, 6))
    _jit.add_rows_by_winner(coordinates, winners, first_member, residuals, sums)
    expected = reference.add_rows_by_winner(coordinates, winners, first_member, residuals, 4)
    np.testing.assert_allclose(sums, expected, rtol=1e-12)
    assert np.abs(expected).max() > 0


@st.composite
def labelled_values(draw):
    n, n_classes = draw(st.integers(2, 25)), draw(st.integers(2, 4))
    values = np.sort(draw(st.lists(st.integers(-6, 6), min_size=n, max_size=n))).astype(np.float64)
    codes = np.array(draw(st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n)), np.int64)
    weights = np.array(draw(st.lists(st.sampled_from([0.25, 0.5, 1.0, 3.0]), min_size=n, max_size=n)))
    return values, codes, weights, n_classes, draw(st.integers(1, 4))


@COMPILED
@given(labelled_values())
def test_best_threshold_is_that_of_an_exhaustive_search(drawn):
    threshold, gain = _jit.best_threshold(*drawn)
    gains = reference.information_gains(*drawn)
    if not gains:
        assert gain == -1
        return
    assert gain == pytest.approx(max(gains.values()), abs=1e-9)
    # Cuts may gain equally much; the one chosen is a cut, and one of the best.
    assert gains[threshold] == pytest.approx(max(gains.values()), abs=1e-9)


@COMPILED
@given(labelled_values(), st.integers(0, 24))
def test_a_sample_of_weight_two_cuts_like_two_samples(drawn, which):
    values, codes, weights, n_classes, _ = drawn
    which %= len(values)
    doubled = weights.copy()
    doubled[which] *= 2
    twice = np.sort(np.append(np.arange(len(values)), which))
    weighted = _jit.best_threshold(values, codes, doubled, n_classes, 1)
    repeated = _jit.best_threshold(values[twice], codes[twice], weights[twice], n_classes, 1)
    assert weighted[1] == pytest.approx(repeated[1], abs=1e-9)


def test_a_cut_between_samples_without_weight_gains_nothing():
    values, codes = np.arange(4.0), np.array([0, 1, 0, 1])
    _, gain = _jit.best_threshold(values, codes, np.array([0.0, 0.0, 1.0, 1.0]), 2, 1)
    assert gain == pytest.approx(np.log(2))
    _, gain = _jit.best_threshold(values, codes, np.array([0.0, 1.0, 0.0, 1.0]), 2, 1)
    assert gain == pytest.approx(0, abs=1e-12)
