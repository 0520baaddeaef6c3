"""Weights that are not learned to the tolerance are announced."""

import re

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from invariance.tradeoff import TradeoffClassifier, solver


@pytest.fixture
def grams():
    """Three kernels (3, 40, 40) on noisy points of two classes, and the labels."""
    rng = np.random.default_rng(0)
    labels = np.repeat(["a", "b"], 20)
    views = [rng.standard_normal((40, 3)) + distance * (labels == "a")[:, None] for distance in (0.3, 0.6, 0.9)]
    return np.stack([np.exp(-((x[:, None] - x) ** 2).sum(axis=2)) for x in views]), labels


def test_a_descent_that_ends_too_early_is_a_convergence_warning(grams, monkeypatch):
    Ks, labels = grams
    monkeypatch.setattr(solver, "MAX_STEPS", 1)
    with pytest.warns(ConvergenceWarning, match=r"1 of 1 tasks.*tolerance=1e-08.*smaller C") as caught:
        model = TradeoffClassifier("precomputed", C=10.0, tolerance=1e-8).fit(Ks, labels)
    assert model.gaps_[0] > 1e-8
    [stated] = re.findall(r"largest gap is (\S+)\. ", str(caught[0].message))
    assert float(stated) == pytest.approx(model.gaps_[0], rel=0.1)


@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
def test_a_descent_that_converges_is_not(grams):
    Ks, labels = grams
    model = TradeoffClassifier("precomputed", C=10.0, tolerance=1e-3).fit(Ks, labels)
    assert model.gaps_[0] <= 1e-3
