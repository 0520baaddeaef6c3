"""Yale faces with kernels that know small transformations: [Pozdnoukhov04]'s methods on the splits of [Laptev15].

5 of 11 images per person for training, 32 x 32, mean error over random splits. Images are taken as they are, divided by
their blur of width 8, or normalized by `normalize_illumination`: divided by a blur of width 4, then brought to mean 0
and standard deviation 1. That width and the tangents' blur of 0.8 pixels were found by cross-validation within
the training images of 20 splits (which include test images of other splits, as there are only 165 images); the kernels'
widths and C are found within the training images of each split. Jitters are shifts of up to two pixels.
"""

import time
from collections.abc import Callable, Mapping

import numpy as np

from experiments.outcome import Outcome
from experiments.tangent_digits import EUCLIDEAN, DistanceSVM, Trial
from experiments.yale_faces import SHIFTS, draw_split
from invariance._core.progress import track
from invariance.datasets import load_yale
from invariance.tangents import JitteredDistance, TangentDistance
from invariance.transformations import IlluminationCorrections, normalize_illumination

WIDTHS = (2.0, 1.4, 2.8, 4.0)


def divide_illumination(images: np.ndarray) -> np.ndarray:
    """Images divided by their blur of width 8."""
    return IlluminationCorrections((8.0,)).operators(images.shape[1:]).apply(images)[:, 1]


PREPARATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "normalized": normalize_illumination,
    "divided": divide_illumination,
    "as they are": lambda images: images,
}
TWO_SIDED = TangentDistance(n_jobs=2)
JITTERED = JitteredDistance(SHIFTS, TWO_SIDED)
METHODS: dict[str, Callable] = {
    "RBF": lambda: _machine(EUCLIDEAN),
    "jittered, shifts": lambda: _machine(JitteredDistance(SHIFTS, EUCLIDEAN)),
    "tangent distance two-sided, SVM": lambda: _machine(TWO_SIDED),
    "jittered tangent distance, SVM": lambda: _machine(JITTERED),
    "jittered tangent distance, SVM, clipped": lambda: _machine(JITTERED, "clip"),
}


def _machine(distance, psd_correction: str | None = None) -> DistanceSVM:
    return DistanceSVM(distance, psd_correction, WIDTHS)


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
            print(outcomes[preparation][-1], flush=True)
    return outcomes
