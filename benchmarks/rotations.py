"""Every method over 24 rotations on digits of 28 x 28 pixels turned at random: error, and milliseconds per image.

Usage, from the repository: python -m benchmarks.rotations [METHOD ...]
Learned from 1,000 digits, tested on 2,000 that are predicted together; one by one, 50 of them.
"""

import sys
import time

import numpy as np

from experiments.rotated_mnist import turn_digits
from invariance.datasets import load_mnist
from invariance.methods import ImageClassifier, method_names
from invariance.transformations import Rotations

N_TRAINING, N_TEST, N_SINGLE = 1000, 2000, 50
MOST = 5.0  # milliseconds per prediction that are allowed
PHOTOGRAPHS = ("objects", "photos")  # for images of at least 64 pixels per side


def measure(name: str, images, labels, test_images, truth) -> None:
    """Fit one method, and time its predictions."""
    started = time.perf_counter()
    model = ImageClassifier(name, transformations=Rotations(24), random_state=0, n_jobs=2).fit(images, labels)
    fitting = time.perf_counter() - started
    model.predict(test_images[:2])
    started = time.perf_counter()
    error = 100 * np.mean(model.predict(test_images) != truth)
    together = 1000 * (time.perf_counter() - started) / len(test_images)
    started = time.perf_counter()
    for image in test_images[:N_SINGLE]:
        model.predict([image])
    single = 1000 * (time.perf_counter() - started) / N_SINGLE
    verdict = "met" if together <= MOST else "MISSED"
    print(
        f"{name}: error {error:.1f} %, fitted in {fitting:.1f} s, {together:.1f} ms per image (at most {MOST:g}): "
        f"{verdict}; one by one {single:.1f} ms",
        flush=True,
    )


def main() -> None:
    """Measure the methods that are named, or all for small images."""
    names = sys.argv[1:] or [name for name in method_names() if name not in PHOTOGRAPHS]
    rng = np.random.default_rng(0)
    training, test = load_mnist("train"), load_mnist("test")
    drawn = rng.permutation(len(training.labels))[:N_TRAINING]
    images, labels = turn_digits(np.asarray(training.images)[drawn], rng), np.asarray(training.labels)[drawn]
    test_images, truth = turn_digits(np.asarray(test.images)[:N_TEST], rng), np.asarray(test.labels)[:N_TEST]
    for name in names:
        measure(name, list(images), labels, list(test_images), truth)


if __name__ == "__main__":
    main()
