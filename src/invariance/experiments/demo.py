"""The demonstration: textures at random rotations, few labels, with and without being told that rotation is irrelevant.

A window is described by how strongly its small patches respond to a few filters, which are patches of the labelled
windows: the mean and the spread of the largest response over Φ. Both contestants use the same patches, filters and
classifier; the one is told Φ = Rotations(24), the other Φ = Identity().
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from invariance._core.checks import check_count
from invariance._core.parallel import map_jobs
from invariance._core.randomness import spawn_rngs
from invariance.datasets import load_textures
from invariance.transformations import Identity, Rotations, TransformationSet, largest_responses

CONTESTANTS: dict[str, TransformationSet] = {"rotation ignored": Rotations(24), "rotation not ignored": Identity()}
LABEL_COUNTS = (2, 5, 10)
SHOWN_COUNT = 5

PATCH_SIZE = 9
STRIDE = 4
N_FILTERS = 32
# A patch of less contrast than this (norm of grey values in [0, 1]) counts as flat and responds little.
LEAST_CONTRAST = 0.1


class Trial(NamedTuple):
    """One draw of labels: the training windows that were labelled and what each contestant says of the test windows."""

    labelled: np.ndarray
    predictions: dict[str, np.ndarray]


class Windows(NamedTuple):
    """Images (n, h, w) float32 and their labels (n,)."""

    images: np.ndarray
    labels: np.ndarray


class Demo(NamedTuple):
    """The windows to learn from and to be tested on, and for each number of labels a class the trials."""

    class_names: tuple[str, ...]
    train: Windows
    test: Windows
    trials: dict[int, list[Trial]]

    def accuracies(self, n_labels: int) -> dict[str, np.ndarray]:
        """Share of test windows classified right, one value a trial, for each contestant."""
        return {
            name: np.array([np.mean(trial.predictions[name] == self.test.labels) for trial in self.trials[n_labels]])
            for name in CONTESTANTS
        }


def run_demo(n_trials: int = 5, random_state: int = 0) -> Demo:
    """Classify textures from few labels, `n_trials` random draws of labels for each number of labels."""
    check_count("n_trials", n_trials)
    datasets = [load_textures(split=split, random_state=random_state) for split in ("train", "test")]
    train, test = (Windows(np.asarray(dataset.images), np.asarray(dataset.labels)) for dataset in datasets)
    train_patches, test_patches = cut_patches(train.images), cut_patches(test.images)
    counts = [n_labels for n_labels in LABEL_COUNTS for _ in range(n_trials)]
    draws = list(zip(counts, spawn_rngs(random_state, len(counts)), strict=True))
    results = map_jobs(partial(run_trial, train_patches, train.labels, test_patches), draws, label="Learning")
    trials = {n: [trial for count, trial in zip(counts, results, strict=True) if count == n] for n in LABEL_COUNTS}
    return Demo(datasets[0].class_names, train, test, trials)


def run_trial(
    train_patches: np.ndarray, labels: np.ndarray, test_patches: np.ndarray, draw: tuple[int, np.random.Generator]
) -> Trial:
    """Label so many random training windows a class, learn from those alone, and predict the test windows."""
    n_labels, rng = draw
    labelled = np.concatenate([rng.choice(np.flatnonzero(labels == c), n_labels, False) for c in np.unique(labels)])
    known = train_patches[labelled]
    candidates = known.reshape(-1, PATCH_SIZE, PATCH_SIZE)
    filters = candidates[rng.choice(len(candidates), N_FILTERS, replace=False)]
    predictions = {}
    for name, phi in CONTESTANTS.items():
        classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        classifier.fit(describe_windows(known, filters, phi), labels[labelled])
        predictions[name] = classifier.predict(describe_windows(test_patches, filters, phi))
    return Trial(labelled, predictions)


def cut_patches(windows: np.ndarray) -> np.ndarray:
    """Patches of each window, without mean and of norm at most one, inside a disc: (n, h, w) -> (n, m, p, p).

    The disc makes a patch and its rotated version hold the same pixels.
    """
    shape = (PATCH_SIZE, PATCH_SIZE)
    views = np.lib.stride_tricks.sliding_window_view(windows, shape, axis=(1, 2))[:, ::STRIDE, ::STRIDE]
    y, x = np.mgrid[:PATCH_SIZE, :PATCH_SIZE] - PATCH_SIZE // 2
    disc = (x**2 + y**2 <= (PATCH_SIZE / 2) ** 2).astype(np.float32)
    patches = views.reshape(len(windows), -1, *shape)
    patches = (patches - (patches * disc).sum(axis=(2, 3), keepdims=True) / disc.sum()) * disc
    return patches / (np.linalg.norm(patches, axis=(2, 3), keepdims=True) + np.float32(LEAST_CONTRAST))


def describe_windows(patches: np.ndarray, filters: np.ndarray, phi: TransformationSet) -> np.ndarray:
    """Mean and spread over a window's patches of the largest response over Φ: (n, m, p, p), (k, p, p) -> (n, 2k)."""
    operators = phi.operators((PATCH_SIZE, PATCH_SIZE))
    responses = largest_responses(patches.reshape(-1, PATCH_SIZE, PATCH_SIZE), filters, operators)
    responses = responses.reshape(*patches.shape[:2], len(filters))
    return np.concatenate([responses.mean(axis=1), responses.std(axis=1)], axis=1)
