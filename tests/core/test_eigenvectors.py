"""The eigenvectors are those of scipy, bit for bit, and other threads run meanwhile."""

import threading
import time

import numpy as np
import pytest
from scipy import linalg

from invariance._core import eigenvectors
from invariance._core.eigenvectors import top_eigenvectors


def random_matrix(n):
    values = np.random.default_rng(n).normal(size=(n, n))
    return values @ values.T


@pytest.mark.parametrize(("n", "rank"), [(1, 1), (5, 2), (60, 60), (200, 33)])
def test_they_are_those_of_scipy(n, rank):
    matrix = random_matrix(n)
    before = matrix.copy()
    values, vectors = top_eigenvectors(matrix, rank)
    expected = linalg.eigh(matrix, subset_by_index=(n - rank, n - 1))
    np.testing.assert_array_equal(values, expected[0])
    np.testing.assert_array_equal(vectors, expected[1])
    np.testing.assert_array_equal(matrix, before)


def test_without_the_routine_scipy_does_it(monkeypatch):
    monkeypatch.setattr(eigenvectors, "_find_routine", lambda: None)
    assert top_eigenvectors(random_matrix(9), 4)[1].shape == (9, 4)


def test_what_is_not_finite_is_refused():
    with pytest.raises(ValueError, match="infs or NaNs"):
        top_eigenvectors(np.full((3, 3), np.nan), 2)


def test_other_threads_run_meanwhile():
    matrix, is_over, turns = random_matrix(700), threading.Event(), []

    def count():
        while not is_over.is_set():
            turns.append(None)
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    counter.start()
    n_before = len(turns)
    top_eigenvectors(matrix, 50)
    n_meanwhile = len(turns) - n_before
    is_over.set()
    counter.join()
    assert n_meanwhile > 5  # with the lock held it would be 0 or 1
