"""MNIST with 1,000 training digits: jungles with small rotations and shifts, and an RBF support vector machine.

The parameters of the SVM are found by cross-validation on the training digits; those of the jungles are the defaults.
"""

import time

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from experiments.outcome import Outcome
from invariance.datasets import load_mnist
from invariance.jungles import JungleClassifier
from invariance.transformations import Rotations, Shifts

N_TRAINING = 1000
PHI = Rotations(3, limit=15) * Shifts(1)


class FlatSVC(SVC):
    """An RBF support vector machine on the pixels of images."""

    def fit(self, X, y):
        """Fit on images (n, h, w)."""
        return super().fit(X.reshape(len(X), -1), y)

    def predict(self, X):
        """Predict images (n, h, w)."""
        return super().predict(X.reshape(len(X), -1))


METHODS = {
    "RBF SVM": lambda seed: GridSearchCV(FlatSVC(), {"C": [1, 10, 100], "gamma": [0.01, 0.02, 0.04]}, cv=5, n_jobs=2),
    "jungles, no transformations, vote": lambda seed: JungleClassifier(random_state=seed),
    "jungles, vote": lambda seed: JungleClassifier(PHI, random_state=seed),
    "jungles, linear head": lambda seed: JungleClassifier(PHI, final_estimator="linear", random_state=seed),
}


def run(n_draws: int = 5, seed: int = 0, n_training: int = N_TRAINING) -> list[Outcome]:
    """Error of every method on the 10,000 test digits, for training digits drawn by `seed` and the following seeds."""
    training, test = load_mnist("train"), load_mnist("test")
    test_images = np.asarray(test.images, np.float32) / 255
    all_images, all_labels = np.asarray(training.images), np.asarray(training.labels)
    errors: dict[str, list[float]] = {name: [] for name in METHODS}
    seconds = dict.fromkeys(METHODS, 0.0)
    for number in range(seed, seed + n_draws):
        drawn = np.random.default_rng(number).permutation(len(all_labels))[:n_training]
        images, labels = all_images[drawn].astype(np.float32) / 255, all_labels[drawn]
        for name, make in METHODS.items():
            started = time.perf_counter()
            model = make(number).fit(images, labels)
            seconds[name] += time.perf_counter() - started
            errors[name].append(100 * np.mean(model.predict(test_images) != test.labels))
    return [Outcome(name, np.array(errors[name]), None, seconds[name] / n_draws) for name in METHODS]
