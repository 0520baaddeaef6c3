"""MNIST digits turned by any angle: landmarks over 24 rotations, with and without Φ, jungles, and an RBF SVM.

Learned from 1,000, 2,000 or 12,000 digits, the sizes that others use, and tested on 10,000. The published task
[Larochelle07] has its own images, which are not available here: these are turned anew, so figures of others are of the
same kind of task, not of the same images. 6 and 9 differ by a rotation and by how they are written.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

import cv2
import numpy as np

from experiments.mnist_digits import FlatSVC
from experiments.outcome import Outcome, Table
from invariance.datasets import load_mnist
from invariance.jungles import JungleClassifier
from invariance.tangents import LandmarkClassifier
from invariance.transformations import Rotations

SIZES = (1000, 2000, 12_000)
MAX_SLOW = 2000  # digits that jungles are trained on
PHI = Rotations(24)

METHODS: dict[str, Callable[[int], Any]] = {
    "landmarks": lambda seed: LandmarkClassifier(PHI, random_state=seed, n_jobs=2),
    "landmarks, no transformations": lambda seed: LandmarkClassifier(random_state=seed, n_jobs=2),
    "RBF SVM": lambda seed: FlatSVC(C=10, gamma=0.02),
    "jungles, linear head": lambda seed: JungleClassifier(
        PHI, n_jungles=20, final_estimator="linear", random_state=seed, n_jobs=2
    ),
}
SLOW = ("jungles, linear head",)


def turn_digits(images: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Digits (n, 28, 28) uint8, each turned around its centre by an angle of its own: float32 in [0, 1]."""
    centre = ((images.shape[2] - 1) / 2, (images.shape[1] - 1) / 2)
    turned = np.empty(images.shape, np.float32)
    for image, angle, out in zip(images, rng.uniform(0, 360, len(images)), turned, strict=True):
        matrix = cv2.getRotationMatrix2D(centre, angle, 1)
        out[:] = cv2.warpAffine(image.astype(np.float32) / 255, matrix, image.shape[::-1], flags=cv2.INTER_LINEAR)
    return turned


def run(n_draws: int = 3, seed: int = 0, sizes: Sequence[int] = SIZES, n_test: int = 10_000) -> list[Table]:
    """Errors of every method for every size; digits and angles are drawn by `seed` and the following seeds."""
    training, test = load_mnist("train"), load_mnist("test")
    all_images, all_labels = np.asarray(training.images), np.asarray(training.labels)
    tables = []
    for size in sizes:
        methods = {name: make for name, make in METHODS.items() if size <= MAX_SLOW or name not in SLOW}
        errors: dict[str, list[float]] = {name: [] for name in methods}
        seconds = dict.fromkeys(methods, 0.0)
        for number in range(seed, seed + n_draws):
            rng = np.random.default_rng((number, size))
            drawn = rng.permutation(len(all_labels))[:size]
            images, labels = turn_digits(all_images[drawn], rng), all_labels[drawn]
            test_images, truth = turn_digits(np.asarray(test.images)[:n_test], rng), np.asarray(test.labels)[:n_test]
            for name, make in methods.items():
                started = time.perf_counter()
                model = make(number).fit(images, labels)
                seconds[name] += time.perf_counter() - started
                errors[name].append(100 * np.mean(model.predict(test_images) != truth))
                print(f"{size} digits, draw {number}: {name}: {errors[name][-1]:.2f} %", flush=True)
        outcomes = [Outcome(name, np.array(errors[name]), None, seconds[name] / n_draws) for name in methods]
        tables.append(Table(f"{size:,} digits, error in %", "lower", outcomes))
    return tables
