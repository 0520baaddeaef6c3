import os

import numpy as np
import pytest
from sklearn.metrics import f1_score

from experiments import isbi_patches, mnist_digits, yale_faces
from invariance.jungles import JungleClassifier

needs_data = pytest.mark.skipif("INVARIANCE_DATA" not in os.environ, reason="INVARIANCE_DATA is not set")


def test_f_at_the_best_threshold_is_the_best_of_all_thresholds():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 60)
    probabilities = np.clip(0.3 * labels + 0.7 * rng.random(60), 0, 1)
    best = max(f1_score(labels, probabilities >= threshold) for threshold in probabilities)
    assert isbi_patches.one_minus_f(probabilities, labels) == pytest.approx(100 * (1 - best))


def test_a_split_takes_five_images_of_everyone_and_tests_on_the_others():
    labels = np.repeat(np.arange(15), 11)
    training, test = yale_faces.draw_split(labels, seed=3)
    assert np.array_equal(np.bincount(labels[training]), np.full(15, 5))
    assert sorted([*training, *test]) == list(range(165))
    assert not np.array_equal(training, yale_faces.draw_split(labels, seed=4)[0])


@needs_data
def test_faces_are_learned_from_five_images():
    methods = {"quick": (None, lambda seed: JungleClassifier(n_jungles=4, random_state=seed))}
    [outcome] = yale_faces.run(n_splits=1, methods=methods)
    assert outcome.mean < 60  # chance is 93


@needs_data
def test_membranes_are_learned_from_patches(monkeypatch):
    monkeypatch.setattr(isbi_patches, "N_TRAINING", 1800)
    monkeypatch.setattr(isbi_patches, "N_TEST", 1800)
    name = "ours, one jungle"
    [outcome] = isbi_patches.run(methods={name: isbi_patches.METHODS[name]})
    assert outcome.mean < 11  # calling everything a cell gives 11.5


def test_every_method_of_the_digits_experiment_is_an_unfitted_estimator():
    for make in mnist_digits.METHODS.values():
        assert make(0).get_params()
