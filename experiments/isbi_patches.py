"""Neuronal membranes, [Laptev15] sec. 4.2: classify a pixel by the 31 x 31 patch around it, 24 rotations.

Trained on 50,000 pixels of sections 0-17, tested on pixels of sections 18-23 of the ISBI 2012 training stack (the
challenge's test labels are not public). The peer learns from the same pixels: a random forest on scikit-image's
`multiscale_basic_features`. Figures are 1 - F in per cent, F of the cell class at its best threshold.

Rows called TICT and TICJ run the algorithm of the paper: one tree or one jungle, splits at zero, λ times 2/3 after a
trivial split, at most M = 3K leaves in a jungle, which grow where the validation loss stops falling. Ours split where
the information gain is largest. Trees and jungles of one size have the same stopping rule (a fifth of the pixels is
held out, growth ends after two layers without improvement), so that they differ in merging alone; the tree grown to the
end shows what stopping does.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from skimage.feature import multiscale_basic_features
from sklearn.ensemble import RandomForestClassifier

from experiments.outcome import Outcome
from invariance.datasets import load_isbi2012
from invariance.images import patches_at, pyramid_patches
from invariance.jungles import JungleClassifier
from invariance.transformations import Rotations

TRAINING, TEST = range(18), range(18, 24)
N_TRAINING, N_TEST = 50_000, 120_000
SIZE = 31
PHI = Rotations(24)
# Chosen on sections 15-17 with 0-14 for training.
FEATURES: dict[str, Any] = {
    "max_samples": 0.5,
    "max_depth": 6,
    "validation_fraction": 0.0,
    "min_samples_leaf": 200,
    "final_estimator": "boosting",
}

PAPERS_ALGORITHM: dict[str, Any] = {"targets": "pairs", "threshold": "zero", "relaxation": "layer"}


def draw_pixels(sections: range, n_pixels: int, shape: tuple[int, int], seed: int):
    """(section, rows, columns) of pixels drawn at random, equally many per section."""
    rng, n_each = np.random.default_rng(seed), n_pixels // len(sections)
    for section in sections:
        yield section, rng.integers(shape[0], size=n_each), rng.integers(shape[1], size=n_each)


def collect(data, sections: range, n_pixels: int, seed: int, describe: Callable) -> tuple[np.ndarray, np.ndarray]:
    """`describe(image, rows, cols)` of the drawn pixels of every section, and whether each is cell (1) or membrane."""
    described, labels = [], []
    for section, rows, cols in draw_pixels(sections, n_pixels, data.images.shape[1:], seed):
        described.append(describe(np.asarray(data.images[section], np.float32) / 255, rows, cols))
        labels.append(~data.masks[section][rows, cols])
    return np.concatenate(described), np.concatenate(labels).astype(int)


def one_minus_f(probabilities: np.ndarray, labels: np.ndarray) -> float:
    """1 - F of class 1 at the best threshold, in per cent."""
    order = np.argsort(-probabilities, kind="stable")
    found = np.cumsum(labels[order])
    return float(100 * (1 - np.max(2 * found / (np.arange(1, len(labels) + 1) + labels.sum()))))


def basic_features(image, rows, cols):
    """Features of scikit-image's trainable segmentation."""
    return multiscale_basic_features(image, sigma_min=1, sigma_max=16)[rows, cols]


def plain_patches(image, rows, cols):
    """The patch around each pixel."""
    return patches_at(image, rows, cols, SIZE)


def wide_patches(image, rows, cols):
    """The patch at two scales, which covers nearly as large a region as the features of the forest."""
    return pyramid_patches(image, rows, cols, SIZE, n_scales=2)


def _one(seed, **settings) -> JungleClassifier:
    return JungleClassifier(PHI, n_jungles=1, random_state=seed, **settings)


def _ten(seed, **settings) -> JungleClassifier:
    return JungleClassifier(PHI, n_jungles=10, max_samples=0.5, n_jobs=2, random_state=seed, **settings)


METHODS: dict[str, tuple[float | None, Callable, Callable]] = {
    "random forest, basic features": (
        7.9,
        basic_features,
        lambda seed: RandomForestClassifier(100, n_jobs=2, random_state=seed),
    ),
    "TICT": (6.7, plain_patches, lambda seed: _one(seed, max_width=None, **PAPERS_ALGORITHM)),
    "TICJ": (6.0, plain_patches, lambda seed: _one(seed, **PAPERS_ALGORITHM)),
    "ours, one tree, grown to the end": (
        None,
        plain_patches,
        lambda seed: _one(seed, max_width=None, validation_fraction=0.0),
    ),
    "ours, one tree": (None, plain_patches, lambda seed: _one(seed, max_width=None)),
    "ours, one jungle": (None, plain_patches, lambda seed: _one(seed)),
    "ours, ten trees": (None, plain_patches, lambda seed: _ten(seed, max_width=None)),
    "ours, ten jungles": (None, plain_patches, lambda seed: _ten(seed)),
    "boosting on responses": (
        None,
        plain_patches,
        lambda seed: JungleClassifier(PHI, n_jungles=8, n_jobs=2, random_state=seed, **FEATURES),
    ),
    "boosting on responses, two scales": (
        None,
        wide_patches,
        lambda seed: JungleClassifier(PHI, n_jungles=8, n_jobs=2, random_state=seed, **FEATURES),
    ),
    "the same, small": (
        None,
        wide_patches,
        lambda seed: JungleClassifier(PHI, n_jungles=2, n_jobs=2, random_state=seed, **{**FEATURES, "max_depth": 5}),
    ),
}


def run(n_draws: int = 1, methods: dict = METHODS, seed: int = 0, shrink: int = 1) -> list[Outcome]:
    """Every method on the same pixels, one draw per seed from `seed` on; `shrink` divides their number.

    Seconds are those of `fit`, without cutting patches or computing features.
    """
    data = load_isbi2012()
    outcomes = []
    for name, (paper, describe, make) in methods.items():
        figures, seconds = [], 0.0
        for draw in range(seed, seed + n_draws):
            features, labels = collect(data, TRAINING, N_TRAINING // shrink, draw, describe)
            started = time.perf_counter()
            model = make(draw).fit(features, labels)
            seconds += time.perf_counter() - started
            del features
            test_features, test_labels = collect(data, TEST, N_TEST // shrink, 1000 + draw, describe)
            figures.append(one_minus_f(model.predict_proba(test_features)[:, 1], test_labels))
        outcomes.append(Outcome(name, np.array(figures), paper, seconds / n_draws))
        print(outcomes[-1], flush=True)
    return outcomes
