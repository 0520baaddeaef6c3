import os

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.dummy import DummyClassifier
from sklearn.metrics import f1_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from experiments import isbi_patches, mnist_digits, rotated_mnist, yale_faces
from invariance.datasets import Dataset
from invariance.jungles import JungleClassifier

needs_data = pytest.mark.skipif("INVARIANCE_DATA" not in os.environ, reason="INVARIANCE_DATA is not set")
FLATTEN = FunctionTransformer(lambda images: images.reshape(len(images), -1))


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
def test_jungles_learn_faces_better_than_the_nearest_neighbour():
    methods = {
        "jungles": (None, lambda seed: JungleClassifier(n_jungles=4, random_state=seed)),
        "nearest neighbour": (None, lambda seed: make_pipeline(FLATTEN, KNeighborsClassifier(1))),
    }
    jungles, neighbour = yale_faces.run(n_splits=2, methods=methods)
    assert jungles.mean < neighbour.mean - 4  # 32 and 44; chance is 93


@needs_data
def test_membranes_are_learned_from_patches(monkeypatch):
    monkeypatch.setattr(isbi_patches, "N_TRAINING", 1800)
    monkeypatch.setattr(isbi_patches, "N_TEST", 3600)
    methods = {
        "jungle": (
            None,
            isbi_patches.plain_patches,
            lambda seed: JungleClassifier(isbi_patches.PHI, n_jungles=1, random_state=seed),
        ),
        "trivial": (None, isbi_patches.basic_features, lambda seed: DummyClassifier()),
    }
    jungle, trivial = isbi_patches.run(2, methods)
    assert jungle.mean < 0.8 * trivial.mean  # 7.6; calling everything a cell gives 11.5


def test_landmarks_learn_turned_digits_from_few(monkeypatch):
    """Digits of scikit-learn, 8 x 8 pixels; chance is 90."""
    images, labels = load_digits(return_X_y=True)
    enlarged = np.kron(images.reshape(-1, 8, 8), np.ones((2, 2))).astype(np.float32)
    images = np.pad(np.uint8(255 * enlarged / 16), ((0, 0), (4, 4), (4, 4)))
    data = {"train": Dataset("train", images[:900], labels[:900]), "test": Dataset("test", images[900:], labels[900:])}
    monkeypatch.setattr(rotated_mnist, "load_mnist", lambda part: data[part])
    chosen = {name: make for name, make in rotated_mnist.METHODS.items() if name.startswith("landmarks")}
    monkeypatch.setattr(rotated_mnist, "METHODS", chosen)
    [table] = rotated_mnist.run(1, 0, (300,), 300)
    errors = {row.method: row.mean for row in table.outcomes}
    assert errors["landmarks"] < 20
    assert errors["landmarks"] < 0.6 * errors["landmarks, no transformations"]


def test_every_method_of_the_digits_experiment_learns(monkeypatch):
    """Bars of noisy images, upright or lying; chance is 50."""
    rng = np.random.default_rng(0)
    images, labels = rng.integers(0, 120, (80, 12, 12)).astype(np.uint8), np.arange(80) % 2
    for image, label, place in zip(images, labels, rng.integers(4, 8, 80), strict=True):
        (image if label else image.T)[place, 2:10] += 130
    halves = {"train": slice(40), "test": slice(40, 80)}
    data = {part: Dataset(part, images[half], labels[half]) for part, half in halves.items()}
    monkeypatch.setattr(mnist_digits, "load_mnist", lambda part: data[part])
    outcomes = mnist_digits.run(1, n_training=40)
    assert len(outcomes) == len(mnist_digits.METHODS)
    assert {row.method: row.mean for row in outcomes if row.mean > 15} == {}
