"""Yale faces with kernels that know small transformations: [Pozdnoukhov04]'s methods on the splits of [Laptev15].

5 of 11 images per person for training, 32 x 32, mean error over random splits. Images are taken as they are, with
their illumination divided as in `yale_faces`, or evened: divided by a blur of half that width and brought to mean 0 and
deviation 1. That width and the tangents' blur of 0.8 pixels were found by cross-validation within the training images
of 20 splits (which are test images of other splits: 165 images are all there are); the kernels' widths and C are
found within those of each split. Jitters are shifts of up to two pixels.
Run it with: python -m experiments.tangent_faces [number of splits]
"""

import sys
import time
from collections.abc import Callable, Mapping

import numpy as np

from experiments.outcome import Outcome, as_text
from experiments.tangent_digits import (
    BLURRED,
    EUCLIDEAN,
    PAPERS_TRANSFORMATIONS,
    DistanceSVM,
    KernelSVM,
    Nearest,
    Trial,
    Virtual,
)
from experiments.yale_faces import N_TRAINING, SHIFTS, divide_illumination, draw_split
from invariance._core.progress import track
from invariance.datasets import load_yale
from invariance.tangents import JitteredDistance, TangentDistance, TangentVectorKernel
from invariance.transformations import Illumination

GOAL = 13.5
EVENING_WIDTH = 4.0
WIDTHS = (2.0, 1.4, 2.8, 4.0)


def even(images: np.ndarray) -> np.ndarray:
    """Images divided by their blur, each then brought to mean 0 and deviation 1."""
    divided = Illumination((EVENING_WIDTH,)).operators(images.shape[1:]).apply(images)[:, 1]
    centred = divided - divided.mean(axis=(1, 2), keepdims=True)
    return centred / np.maximum(centred.std(axis=(1, 2), keepdims=True), 1e-6)


PREPARATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "evened": even,
    "divided": divide_illumination,
    "as they are": lambda images: images,
}
TWO_SIDED = TangentDistance(n_jobs=2)
JITTERED = JitteredDistance(SHIFTS, TWO_SIDED)


def _machine(distance, psd_correction: str | None = None) -> DistanceSVM:
    return DistanceSVM(distance, psd_correction, WIDTHS)


def _summed() -> KernelSVM:
    kernel = TangentVectorKernel(PAPERS_TRANSFORMATIONS, "sum", method="difference", blur=0.0)
    return KernelSVM(kernel, sigma=(1.0, 0.7), gamma_w=(0.5, 1.0), gamma_r=(1.0, 2.0))


def _multiplied() -> KernelSVM:
    return KernelSVM(TangentVectorKernel(), sigma=(1.0, 2.0), gamma_w=(0.7, 0.5, 1.0))


METHODS: dict[str, Callable] = {
    "1-NN": lambda: Nearest(EUCLIDEAN),
    "RBF": lambda: _machine(EUCLIDEAN),
    "RBF, blurred": lambda: _machine(BLURRED),
    "virtual, rotations and scales": lambda: Virtual(PAPERS_TRANSFORMATIONS, WIDTHS),
    "virtual, shifts": lambda: Virtual(SHIFTS, WIDTHS),
    "jittered, shifts": lambda: _machine(JitteredDistance(SHIFTS, EUCLIDEAN)),
    "tangent vectors, sum, rotations and scales": _summed,
    "tangent vectors, product": _multiplied,
    "tangent distance two-sided, 1-NN": lambda: Nearest(TWO_SIDED),
    "tangent distance mean, SVM": lambda: _machine(TangentDistance(sides="mean", n_jobs=2)),
    "tangent distance two-sided, SVM": lambda: _machine(TWO_SIDED),
    "jittered tangent distance, 1-NN": lambda: Nearest(JITTERED),
    "jittered tangent distance, SVM": lambda: _machine(JITTERED),
    "jittered tangent distance, SVM, clipped": lambda: _machine(JITTERED, "clip"),
}
# Enough to see what evening the illumination does.
FEW_METHODS = (
    "RBF",
    "jittered, shifts",
    "tangent distance two-sided, SVM",
    "jittered tangent distance, SVM",
    "jittered tangent distance, SVM, clipped",
)


class Album:
    """All images; the distances between them are computed once for all splits, as they depend on pairs only."""

    def __init__(self, images: np.ndarray, labels: np.ndarray):
        self.images, self.labels = images, labels
        self._squared: dict[str, np.ndarray] = {}

    def squared(self, distance) -> np.ndarray:
        """Squared distances (n, n) between all images."""
        name = repr(distance)
        if name not in self._squared:
            self._squared[name] = distance.squared(self.images)
        return self._squared[name]


class Split(Trial):
    """Some images of an album for training, others to test."""

    def __init__(self, album: Album, training: np.ndarray, test: np.ndarray):
        super().__init__(album.images[training], album.labels[training], album.images[test])
        self.album, self.places = album, (training, test)

    def squared(self, distance) -> tuple[np.ndarray, np.ndarray]:
        """Squared distances between training images (n, n), and from test to training images (m, n)."""
        training, test = self.places
        squared = self.album.squared(distance)
        return squared[np.ix_(training, training)], squared[np.ix_(test, training)]


def run(
    n_splits: int = 50,
    preparations: Mapping[str, Callable[[np.ndarray], np.ndarray]] = PREPARATIONS,
    methods: Mapping[str, Callable] = METHODS,
    seed: int = 0,
) -> dict[str, list[Outcome]]:
    """Errors of the methods, for every preparation of the images, on the splits of `seed` and the seeds after it."""
    faces = load_yale(size=32)
    images, labels = np.asarray(faces.images, np.float32) / 255, np.asarray(faces.labels)
    outcomes: dict[str, list[Outcome]] = {}
    for preparation, prepare in preparations.items():
        album = Album(prepare(images), labels)
        outcomes[preparation] = []
        for name, make in methods.items():
            started, errors = time.perf_counter(), []
            for number in track(range(seed, seed + n_splits), f"{preparation}: {name}"):
                training, test = draw_split(labels, number)
                errors.append(100 * np.mean(make().predict(Split(album, training, test)) != labels[test]))
            seconds = (time.perf_counter() - started) / n_splits
            outcomes[preparation].append(Outcome(name, np.array(errors), None, seconds))
            print(as_text(name, outcomes[preparation][-1:]).splitlines()[-1], flush=True)
    return outcomes


if __name__ == "__main__":
    n_splits = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    for preparation in PREPARATIONS:
        methods = {name: METHODS[name] for name in (METHODS if preparation == "evened" else FEW_METHODS)}
        outcomes = run(n_splits, {preparation: PREPARATIONS[preparation]}, methods)[preparation]
        print(as_text(f"Yale faces 32x32 {preparation}, {N_TRAINING} of 11 for training, error in %", outcomes))
        print(f"best {min(outcome.mean for outcome in outcomes):.2f}; the goal is {GOAL}", flush=True)
