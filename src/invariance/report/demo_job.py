"""The demonstration: textures at random rotations, few labels, with and without being told that rotation is irrelevant.

A texture has no centre, so a window is not classified as one image: its small patches are, and the window is given
to the class that they find most probable on average. All contestants but one learn from the same patches:

- jungles told Φ = Rotations(24), and the same jungles told nothing;
- a support vector machine (RBF), and the same given turned copies of every patch, the usual way to say that rotation
  does not matter;
- a support vector machine on histograms of local binary patterns, a texture descriptor made by hand to ignore rotation.

All settings were chosen on windows of the upper halves of the photographs, from which the labels are drawn too; the
test windows come from the lower halves.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from skimage.feature import local_binary_pattern
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from invariance._core.parallel import map_jobs
from invariance._core.randomness import spawn_rngs
from invariance.datasets import load_textures
from invariance.jungles import JungleClassifier
from invariance.transformations import Rotations

PHI = Rotations(24)
# The time a support vector machine takes grows with the square of the copies; 24 would take most of a minute.
COPIES = Rotations(8)
LABEL_COUNTS = (2, 5)
SHOWN_COUNT = 5
N_TRIALS = 4
# Of each texture, to draw labels from and again to test on.
N_WINDOWS = 100

PATCH_SIZE = 9
SHAPE = (PATCH_SIZE, PATCH_SIZE)
STRIDE = 4
# A patch of less contrast than this (norm of grey values in [0, 1]) counts as flat and responds little.
LEAST_CONTRAST = 0.1
# Each jungle sees its own share of the patches, or jungles that drew the same pair of classes would be alike.
JUNGLES = {"n_jungles": 20, "max_samples": 0.6, "max_depth": 4, "rank": 32, "validation_fraction": 0.0}
WATCHED = {"n_jungles": 6, "max_samples": 1.0, "max_depth": 8, "validation_fraction": 0.2, "patience": 8}
SVM_COST = 10.0
# (points, radius in pixels) of the local binary patterns.
RINGS = ((8, 1), (16, 2), (24, 3))


class Windows(NamedTuple):
    """Images (n, h, w) float32 and their labels (n,)."""

    images: np.ndarray
    labels: np.ndarray


class Trial(NamedTuple):
    """One draw of labels: which training windows, what each contestant says of the test windows, and the jungles."""

    labelled: np.ndarray
    predictions: dict[str, np.ndarray]
    jungles: JungleClassifier


class Demo(NamedTuple):
    """Windows for training and testing, trials for each number of labels per class, and jungles grown deeper."""

    class_names: tuple[str, ...]
    train: Windows
    test: Windows
    trials: dict[int, list[Trial]]
    watched: JungleClassifier

    def accuracies(self, n_labels: int) -> dict[str, np.ndarray]:
        """Share of test windows classified right, one value a trial, for each contestant."""
        return {
            name: np.array([np.mean(trial.predictions[name] == self.test.labels) for trial in self.trials[n_labels]])
            for name in CONTESTANTS
        }


class Answer(NamedTuple):
    """What a contestant learned and what it says of the test windows."""

    model: Any
    predictions: np.ndarray


def run_demo(random_state: int = 0) -> Demo:
    """Classify textures from few labels, `N_TRIALS` random draws of labels for each number of labels."""
    datasets = [load_textures(N_WINDOWS, split=split, random_state=random_state) for split in ("train", "test")]
    train, test = (Windows(np.asarray(dataset.images), np.asarray(dataset.labels)) for dataset in datasets)
    counts = [n_labels for n_labels in LABEL_COUNTS for _ in range(N_TRIALS)]
    draws = list(zip(counts, spawn_rngs(random_state, len(counts)), strict=True))
    results = map_jobs(partial(run_trial, train, test), draws, label="Learning")
    trials = {n: [trial for count, trial in zip(counts, results, strict=True) if count == n] for n in LABEL_COUNTS}
    labelled = trials[SHOWN_COUNT][0].labelled
    watched = watch_growth(Windows(train.images[labelled], train.labels[labelled]), random_state)
    return Demo(datasets[0].class_names, train, test, trials, watched)


def run_trial(train: Windows, test: Windows, draw: tuple[int, np.random.Generator]) -> Trial:
    """Label so many random training windows per class, learn from those alone, and predict the test windows."""
    n_labels, rng = draw
    classes = np.unique(train.labels)
    labelled = np.concatenate([rng.choice(np.flatnonzero(train.labels == c), n_labels, False) for c in classes])
    known = Windows(train.images[labelled], train.labels[labelled])
    seed = int(rng.integers(2**31))
    answers = {name: contestant(known, test.images, seed) for name, contestant in CONTESTANTS.items()}
    return Trial(labelled, {name: answer.predictions for name, answer in answers.items()}, answers[TOLD].model)


def make_jungles(phi: Rotations | None, seed: int, **settings: Any) -> JungleClassifier:
    """The jungles of the demonstration, unfitted."""
    return JungleClassifier(phi, image_shape=SHAPE, random_state=seed, **JUNGLES | settings)


def compile_loops() -> None:
    """Run every compiled loop once, on next to nothing; numba keeps the result on disk."""
    patches = np.random.default_rng(0).random((8, PATCH_SIZE**2), np.float32)
    make_jungles(PHI, seed=0, n_jungles=1).fit(patches, np.arange(8) % 2).predict(patches)


def watch_growth(known: Windows, seed: int) -> JungleClassifier:
    """Jungles grown deeper than those of the contest, watched by a fifth of the patches."""
    return _ask_patches(make_jungles(PHI, seed, **WATCHED), known, known.images).model


def ask_jungles(phi: Rotations | None, known: Windows, images: np.ndarray, seed: int) -> Answer:
    """Jungles on patches, told that Φ does not matter."""
    return _ask_patches(make_jungles(phi, seed), known, images)


def ask_svm(copies: Rotations | None, known: Windows, images: np.ndarray, seed: int) -> Answer:
    """A support vector machine on patches, and on their copies turned by every member of a set."""
    return _ask_patches(SVC(C=SVM_COST), known, images, copies)


def ask_binary_patterns(known: Windows, images: np.ndarray, seed: int) -> Answer:
    """A support vector machine on local binary patterns, which ignore rotation by the way they are made."""
    classifier = make_pipeline(StandardScaler(), SVC(C=SVM_COST))
    classifier.fit(count_binary_patterns(known.images), known.labels)
    return Answer(classifier, classifier.predict(count_binary_patterns(images)))


TOLD, PLAIN = "jungles, rotation ignored", "jungles, rotation not ignored"
SVM_COPIES = f"SVM, {COPIES.n} turned copies"
CONTESTANTS: dict[str, Callable[[Windows, np.ndarray, int], Answer]] = {
    TOLD: partial(ask_jungles, PHI),
    PLAIN: partial(ask_jungles, None),
    "SVM": partial(ask_svm, None),
    SVM_COPIES: partial(ask_svm, COPIES),
    "local binary patterns, SVM": ask_binary_patterns,
}


def _ask_patches(classifier, known: Windows, images: np.ndarray, copies: Rotations | None = None) -> Answer:
    """Learn from the patches of the known windows; a new window has the class that its patches favour on average."""
    patches = cut_patches(known.images)
    labels = np.repeat(known.labels, patches.shape[1])
    rows = patches.reshape(len(labels), -1)
    if copies is not None:
        turned = copies.operators(SHAPE).apply(rows.reshape(-1, *SHAPE))
        rows, labels = turned.reshape(-1, rows.shape[1]), np.repeat(labels, turned.shape[1])
    classifier.fit(rows, labels)
    new = cut_patches(images)
    scores_of = classifier.predict_proba if hasattr(classifier, "predict_proba") else classifier.decision_function
    scores = scores_of(new.reshape(-1, new.shape[2])).reshape(len(images), new.shape[1], -1)
    return Answer(classifier, classifier.classes_[scores.mean(axis=1).argmax(axis=1)])


def cut_patches(windows: np.ndarray) -> np.ndarray:
    """Patches of each window, without mean and of norm at most one, inside a disc: (n, h, w) -> (n, m, p*p).

    The disc makes a patch and its rotated version hold the same pixels.
    """
    views = np.lib.stride_tricks.sliding_window_view(windows, SHAPE, axis=(1, 2))[:, ::STRIDE, ::STRIDE]
    y, x = np.mgrid[:PATCH_SIZE, :PATCH_SIZE] - PATCH_SIZE // 2
    disc = (x**2 + y**2 <= (PATCH_SIZE / 2) ** 2).astype(np.float32).ravel()
    patches = views.reshape(len(windows), -1, PATCH_SIZE**2)
    patches = (patches - (patches @ disc / disc.sum())[..., None]) * disc
    return patches / (np.linalg.norm(patches, axis=2, keepdims=True) + np.float32(LEAST_CONTRAST))


def count_binary_patterns(windows: np.ndarray) -> np.ndarray:
    """Histograms of the uniform local binary patterns of each window on all `RINGS`: (n, h, w) -> (n, bins)."""
    histograms = []
    for window in np.round(255 * windows).astype(np.uint8):
        codes = [local_binary_pattern(window, n, radius, "uniform").astype(int) for n, radius in RINGS]
        counts = [np.bincount(c.ravel(), minlength=n + 2) for c, (n, _) in zip(codes, RINGS, strict=True)]
        histograms.append(np.concatenate(counts) / window.size)
    return np.array(histograms)
