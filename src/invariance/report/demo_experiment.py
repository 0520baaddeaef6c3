"""The demonstration: textures at random rotations, classified from few labels, with and without rotation invariance.

A texture has no centre, so a window is not classified as a whole: its small patches are, and the class of the window
is the one with the highest mean probability over its patches. All classifiers but the last learn from the same patches:

- jungles with Φ = Rotations(24), and the same jungles without Φ;
- a support vector machine (RBF), and the same with rotated copies of every patch, the usual way to learn an invariance;
- a support vector machine on histograms of local binary patterns, a texture descriptor designed to ignore rotation.

All settings were chosen on windows of the upper halves of the photographs, from which the labelled windows are drawn as
well; the test windows are of the lower halves.
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
# The time of a support vector machine grows with the square of the number of copies; 24 would take most of a minute.
COPIES = Rotations(8)
LABEL_COUNTS = (2, 5)  # labelled windows per class
SHOWN_COUNT = 5  # the one that figures are about
N_TRIALS = 4  # random draws of labelled windows
N_WINDOWS = 100  # per texture, both to draw labelled windows from and to test on

PATCH_SIZE = 9
SHAPE = (PATCH_SIZE, PATCH_SIZE)
STRIDE = 4
# Added to the norm of a patch (grey values in [0, 1]) before dividing by it: flat patches respond little.
MIN_CONTRAST = 0.1
# Each jungle is trained on its own share of the patches, because jungles of the same two classes would be alike.
JUNGLES = {"n_jungles": 20, "max_samples": 0.6, "max_depth": 4, "rank": 32, "validation_fraction": 0.0}
# Changes for the jungles that show how the loss on held-out patches depends on depth.
DEEP_JUNGLES = {"n_jungles": 6, "max_samples": 1.0, "max_depth": 8, "validation_fraction": 0.2, "patience": 8}
SVM_COST = 10.0
RINGS = ((8, 1), (16, 2), (24, 3))  # (points, radius in pixels) of the local binary patterns


class Windows(NamedTuple):
    """Images (n, h, w) float32 and their labels (n,)."""

    images: np.ndarray
    labels: np.ndarray


class Fitted(NamedTuple):
    """A fitted model and its predictions for the test windows."""

    model: Any
    predictions: np.ndarray


class Trial(NamedTuple):
    """One draw of labelled windows.

    Attributes
    ----------
    labelled : ndarray of shape (n,)
        Indices of the training windows.
    predictions : dict of str to ndarray
        The predictions of each classifier for the test windows.
    jungles : JungleClassifier
        The jungles that ignore rotation.
    """

    labelled: np.ndarray
    predictions: dict[str, np.ndarray]
    jungles: JungleClassifier


class Demo(NamedTuple):
    """The result of the demonstration.

    Attributes
    ----------
    class_names : tuple of str
    train, test : Windows
    trials : dict of int to list of Trial
        The trials for each number of labelled windows per class.
    deep_jungles : JungleClassifier
        Jungles grown deeper than those of the trials.
    """

    class_names: tuple[str, ...]
    train: Windows
    test: Windows
    trials: dict[int, list[Trial]]
    deep_jungles: JungleClassifier

    def accuracies(self, n_labels: int) -> dict[str, np.ndarray]:
        """Return the accuracy of each classifier on the test windows, one value per trial."""
        return {
            name: np.array([np.mean(trial.predictions[name] == self.test.labels) for trial in self.trials[n_labels]])
            for name in CLASSIFIERS
        }


def run_demo(random_state: int = 0) -> Demo:
    """Classify textures from few labels, with `N_TRIALS` random draws for each number of labels."""
    datasets = [load_textures(N_WINDOWS, split=split, random_state=random_state) for split in ("train", "test")]
    train, test = (Windows(np.asarray(dataset.images), np.asarray(dataset.labels)) for dataset in datasets)
    counts = [n_labels for n_labels in LABEL_COUNTS for _ in range(N_TRIALS)]
    draws = list(zip(counts, spawn_rngs(random_state, len(counts)), strict=True))
    results = map_jobs(partial(run_trial, train, test), draws, label="Learning")
    trials = {n: [trial for count, trial in zip(counts, results, strict=True) if count == n] for n in LABEL_COUNTS}
    rows = trials[SHOWN_COUNT][0].labelled
    deep_jungles = fit_deep_jungles(Windows(train.images[rows], train.labels[rows]), random_state)
    return Demo(datasets[0].class_names, train, test, trials, deep_jungles)


def run_trial(train: Windows, test: Windows, draw: tuple[int, np.random.Generator]) -> Trial:
    """Draw labelled windows of every class, fit all classifiers to them, and predict the test windows."""
    n_labels, rng = draw
    classes = np.unique(train.labels)
    rows = np.concatenate([rng.choice(np.flatnonzero(train.labels == c), n_labels, False) for c in classes])
    labelled = Windows(train.images[rows], train.labels[rows])
    seed = int(rng.integers(2**31))
    fitted = {name: fit_predict(labelled, test.images, seed) for name, fit_predict in CLASSIFIERS.items()}
    return Trial(rows, {name: result.predictions for name, result in fitted.items()}, fitted[INVARIANT].model)


def make_jungles(phi: Rotations | None, seed: int, **settings: Any) -> JungleClassifier:
    """Return the unfitted jungles of the demonstration."""
    return JungleClassifier(phi, image_shape=SHAPE, random_state=seed, **JUNGLES | settings)


def compile_loops() -> None:
    """Run every compiled loop once on tiny data; numba caches the result on disk."""
    patches = np.random.default_rng(0).random((8, PATCH_SIZE**2), np.float32)
    make_jungles(PHI, seed=0, n_jungles=1).fit(patches, np.arange(8) % 2).predict(patches)


def fit_deep_jungles(labelled: Windows, seed: int) -> JungleClassifier:
    """Fit jungles that are deeper than those of the trials, with a fifth of the patches held out."""
    return _fit_patches(make_jungles(PHI, seed, **DEEP_JUNGLES), labelled, labelled.images).model


def fit_jungles(phi: Rotations | None, labelled: Windows, images: np.ndarray, seed: int) -> Fitted:
    """Fit jungles to patches and predict the windows `images`."""
    return _fit_patches(make_jungles(phi, seed), labelled, images)


def fit_svm(copies: Rotations | None, labelled: Windows, images: np.ndarray, seed: int) -> Fitted:
    """Fit a support vector machine to patches, and to transformed copies of them if `copies` is a set."""
    return _fit_patches(SVC(C=SVM_COST), labelled, images, copies)


def fit_binary_patterns(labelled: Windows, images: np.ndarray, seed: int) -> Fitted:
    """Fit a support vector machine to local binary patterns, which ignore rotation by design."""
    classifier = make_pipeline(StandardScaler(), SVC(C=SVM_COST))
    classifier.fit(count_binary_patterns(labelled.images), labelled.labels)
    return Fitted(classifier, classifier.predict(count_binary_patterns(images)))


INVARIANT, PLAIN = "jungles, rotation ignored", "jungles, rotation not ignored"
SVM_COPIES = f"SVM, {COPIES.n} rotated copies"
CLASSIFIERS: dict[str, Callable[[Windows, np.ndarray, int], Fitted]] = {
    INVARIANT: partial(fit_jungles, PHI),
    PLAIN: partial(fit_jungles, None),
    "SVM": partial(fit_svm, None),
    SVM_COPIES: partial(fit_svm, COPIES),
    "local binary patterns, SVM": fit_binary_patterns,
}


def _fit_patches(classifier, labelled: Windows, images: np.ndarray, copies: Rotations | None = None) -> Fitted:
    """Fit a classifier to the patches of windows; a window gets the class of the highest mean score of its patches."""
    patches = cut_patches(labelled.images)
    labels = np.repeat(labelled.labels, patches.shape[1])
    rows = patches.reshape(len(labels), -1)
    if copies is not None:
        rotated = copies.operators(SHAPE).apply(rows.reshape(-1, *SHAPE))
        rows, labels = rotated.reshape(-1, rows.shape[1]), np.repeat(labels, rotated.shape[1])
    classifier.fit(rows, labels)
    new = cut_patches(images)
    scores_of = classifier.predict_proba if hasattr(classifier, "predict_proba") else classifier.decision_function
    scores = scores_of(new.reshape(-1, new.shape[2])).reshape(len(images), new.shape[1], -1)
    return Fitted(classifier, classifier.classes_[scores.mean(axis=1).argmax(axis=1)])


def cut_patches(windows: np.ndarray) -> np.ndarray:
    """Cut windows (n, h, w) into patches (n, m, p * p) of zero mean and norm at most one, inside a disc.

    The disc makes a patch and its rotated version have the same pixels.
    """
    views = np.lib.stride_tricks.sliding_window_view(windows, SHAPE, axis=(1, 2))[:, ::STRIDE, ::STRIDE]
    y, x = np.mgrid[:PATCH_SIZE, :PATCH_SIZE] - PATCH_SIZE // 2
    disc = (x**2 + y**2 <= (PATCH_SIZE / 2) ** 2).astype(np.float32).ravel()
    patches = views.reshape(len(windows), -1, PATCH_SIZE**2)
    patches = (patches - (patches @ disc / disc.sum())[..., None]) * disc
    return patches / (np.linalg.norm(patches, axis=2, keepdims=True) + np.float32(MIN_CONTRAST))


def count_binary_patterns(windows: np.ndarray) -> np.ndarray:
    """Return histograms (n, n_bins) of the uniform local binary patterns of windows (n, h, w) on all `RINGS`."""
    histograms = []
    for window in np.round(255 * windows).astype(np.uint8):
        codes = [local_binary_pattern(window, n, radius, "uniform").astype(int) for n, radius in RINGS]
        counts = [np.bincount(c.ravel(), minlength=n + 2) for c, (n, _) in zip(codes, RINGS, strict=True)]
        histograms.append(np.concatenate(counts) / window.size)
    return np.array(histograms)
