"""Bikes among other images: the draws, and the experiment on a few images."""

import os

import numpy as np
import pytest

from experiments import graz02
from invariance.codebooks import ClusteringForest

needs_data = pytest.mark.skipif("INVARIANCE_DATA" not in os.environ, reason="INVARIANCE_DATA is not set")


def test_training_and_test_images_are_different_ones(monkeypatch):
    monkeypatch.setattr(graz02, "N_EACH", 5)
    classes = [[f"bike {i}" for i in range(12)], [f"car {i}" for i in range(11)]]
    training, test, labels = graz02.draw(classes, seed=0)
    assert len(training) == len(test) == len(labels) == 10
    assert not set(training) & set(test)
    assert [name.startswith("car") for name in training] == (labels == 1).tolist()
    assert graz02.draw(classes, seed=1)[0] != training


@needs_data
def test_digits_that_look_alike_are_told_apart_by_their_words(monkeypatch):
    monkeypatch.setattr(graz02, "N_EACH", 40)
    codebooks = {"quick": (ClusteringForest(2, n_leaves=200), True)}
    tables = graz02.run(1, 200, codebooks, {"fours or nines": graz02.TASKS["fours or nines"]})
    [outcome] = tables["fours or nines"]
    assert np.all(outcome.figures > 70)  # chance is 50
