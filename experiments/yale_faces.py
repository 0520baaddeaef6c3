"""Yale faces, [Laptev15] sec. 4.1: 5 of 11 images per person for training, mean error over random splits.

Φ is shifts of up to two pixels times illumination (the image divided by its blurs of width 8 and 16). The paper does
not give the size of the images; here it is 32 x 32.
"""

import time
from collections.abc import Callable

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from experiments.outcome import Outcome
from invariance._core.progress import track
from invariance.datasets import load_yale
from invariance.jungles import JungleClassifier, TreeClassifier
from invariance.transformations import Illumination, Shifts

N_TRAINING = 5
SHIFTS = Shifts(2, border="edge")
PHI = SHIFTS * Illumination()


def divide_illumination(images: np.ndarray) -> np.ndarray:
    """Images divided by their blur of width 8: illumination is removed once, instead of being one member of Φ."""
    return Illumination((8.0,)).operators(images.shape[1:]).apply(images)[:, 1]


METHODS: dict[str, tuple[float | None, Callable]] = {
    "TICT": (18.4, lambda seed: TreeClassifier(PHI, random_state=seed)),
    "TICJ, no transformations": (16.0, lambda seed: _jungles(None, seed)),
    "TICJ": (12.9, lambda seed: _jungles(PHI, seed)),
    "TICJ, linear head": (None, lambda seed: _jungles(PHI, seed, final_estimator="linear")),
    "illumination divided first, vote": (None, lambda seed: _divided(seed)),
    "illumination divided first, linear head": (None, lambda seed: _divided(seed, final_estimator="linear")),
    "the same, one person against the rest": (
        None,
        lambda seed: _divided(seed, final_estimator="linear", targets="rest", max_depth=1, n_jungles=60),
    ),
}


def _jungles(phi, seed, n_jungles=10, **settings):
    # 75 images are too few for a validation set: jungles grow on all of them until their leaves are pure.
    settings = {"max_samples": 1.0, "validation_fraction": 0.0, **settings}
    return JungleClassifier(phi, n_jungles=n_jungles, random_state=seed, **settings)


def _divided(seed, **settings):
    return make_pipeline(FunctionTransformer(divide_illumination), _jungles(SHIFTS, seed, **settings))


def draw_split(labels: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices of training and test images: `N_TRAINING` per person drawn at random, and the remaining ones."""
    rng = np.random.default_rng(seed)
    training = [rng.permutation(np.flatnonzero(labels == person))[:N_TRAINING] for person in np.unique(labels)]
    return np.concatenate(training), np.setdiff1d(np.arange(len(labels)), np.concatenate(training))


def run(n_splits: int = 50, methods: dict = METHODS, seed: int = 0) -> list[Outcome]:
    """The paper's table; one split per seed, from `seed` on."""
    faces = load_yale(size=32)
    images, labels = np.asarray(faces.images, np.float32) / 255, np.asarray(faces.labels)
    outcomes = []
    for name, (paper, make) in methods.items():
        started, errors = time.perf_counter(), []
        for number in track(range(seed, seed + n_splits), name):
            training, test = draw_split(labels, number)
            model = make(number).fit(images[training], labels[training])
            errors.append(100 * np.mean(model.predict(images[test]) != labels[test]))
        outcomes.append(Outcome(name, np.array(errors), paper, (time.perf_counter() - started) / n_splits))
        print(outcomes[-1], flush=True)
    return outcomes
