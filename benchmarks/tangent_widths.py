"""The width that tangent machines find by themselves: errors on MNIST with default parameters.

Run it from the repository with: python -m benchmarks.tangent_widths [digits] [first draw] [draws] [test digits]
Each draw has as many training digits of every class (300 by default), and all are tested on the same test digits.
The settings of the search (invariance/tangents/widths.py) were chosen on draws 100 to 104; report others.
"""

import sys
import time

import numpy as np

from experiments.tangent_digits import as_floats, draw_digits
from invariance.datasets import load_mnist
from invariance.tangents import JitteredSVC, TangentDistance, TangentSVC, TangentVectorKernel, tangent_parts
from invariance.transformations import Shifts

JITTERS = Shifts(1)
MACHINES = {
    "TangentSVC()": TangentSVC,
    "TangentSVC, half the median distance": lambda: TangentSVC(TangentDistance(sigma="median")),
    "JitteredSVC()": JitteredSVC,
    "JitteredSVC, half the median distance": lambda: JitteredSVC(sigma="median"),
    "JitteredSVC over tangents": lambda: JitteredSVC(JITTERS, TangentDistance(tangent_parts(JITTERS))),
    "sum of tangent vectors": lambda: TangentSVC(TangentVectorKernel(form="sum")),
    "sum of tangent vectors, the median distance": lambda: TangentSVC(TangentVectorKernel(form="sum", sigma="median")),
}


def measure(n_digits: int, draws: range, n_test: int) -> None:
    """Print the error of every machine on every draw, in per cent, and its time."""
    data, test_data = load_mnist(), load_mnist("test")
    labels, test_labels = np.asarray(data.labels), np.asarray(test_data.labels)
    tested = np.random.default_rng(0).permutation(len(test_labels))[:n_test]
    test, test_labels = as_floats(test_data.images[tested]), test_labels[tested]
    print(f"{n_digits} training digits, draws {draws.start} to {draws.stop - 1}, {len(test)} test digits: error in %")
    for name, make in MACHINES.items():
        errors, seconds, factors = [], 0.0, []
        for draw in draws:
            drawn = draw_digits(labels, n_digits, draw)
            images = as_floats(data.images[drawn])
            started = time.perf_counter()
            machine = make().fit(images, labels[drawn])
            seconds += (time.perf_counter() - started) / len(draws)
            errors.append(100 * float(np.mean(machine.predict(test) != test_labels)))
            usual = type(machine.kernel_)(**{**machine.kernel_.get_params(deep=False), "sigma": "median"}).fit(images)
            factors.append(machine.kernel_.sigma_ / usual.sigma_)
        figures = " ".join(f"{error:.2f}" for error in errors)
        chosen = " ".join(f"{factor:.2g}" for factor in factors)
        print(
            f"{name}: mean {np.mean(errors):.2f} ({figures}), fit {seconds:.1f} s, widths {chosen} x usual", flush=True
        )


if __name__ == "__main__":
    n_digits, first, n_draws, n_test = (int(sys.argv[k]) if len(sys.argv) > k else default
                                        for k, default in ((1, 300), (2, 0), (3, 5), (4, 3000)))  # fmt: skip
    measure(n_digits, range(first, first + n_draws), n_test)
