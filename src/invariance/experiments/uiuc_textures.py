"""UIUC textures, [Varma07] sec. 4.1: eight descriptors of different invariance, alone and in a learned combination.

20 of 40 pictures a class to learn from, the others to be tested on, drawn anew for every seed. The words of every
descriptor are found in the training pictures of the split, class by class; pictures are compared by χ².
The pictures here are half as wide as those of the paper. Figures are accuracies in per cent.

Run it with: python -m invariance.experiments.uiuc_textures [number of splits] [cache folder]
The folder holds the vectors of all pictures (some GB) and the distances of every split, so that a run that was broken
off goes on where it was; without one, everything is computed anew for every split.
"""

import hashlib
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.svm import SVC

from invariance._core.files import atomic_path
from invariance._core.progress import track
from invariance.codebooks.words import WordHistograms, histogram_distances
from invariance.datasets import load_uiuc_textures
from invariance.descriptors.fractal import FractalFeatures
from invariance.descriptors.maximum_responses import MaximumResponses
from invariance.descriptors.patch_grid import PatchGrid
from invariance.experiments.outcome import Outcome, as_text
from invariance.images import read_image
from invariance.tradeoff import TradeoffClassifier

N_TRAINING = 20
N_WORDS = 1000
N_VECTORS = 200_000
STEP = 5
C = 1000.0


class Entry(NamedTuple):
    """A descriptor, and what Table 1 says of it: accuracy of the nearest neighbour and of the machine."""

    descriptor: Any
    paper_nearest: float
    paper_svm: float


TABLE = {
    "none (patch)": Entry(PatchGrid(9, step=STEP), 82.39, 91.46),
    "none (MR)": Entry(MaximumResponses("none", STEP), 82.18, 91.16),
    "rotation (patch)": Entry(PatchGrid(9, aligned=True, step=STEP), 97.83, 98.18),
    "rotation (MR)": Entry(MaximumResponses("rotation", STEP), 93.00, 96.69),
    "rotation (fractal)": Entry(FractalFeatures("rotation", STEP), 94.96, 97.24),
    "scale (MR)": Entry(MaximumResponses("scale", STEP), 76.77, 87.04),
    "similarity (MR)": Entry(MaximumResponses("similarity", STEP), 90.35, 95.12),
    "bi-Lipschitz (fractal)": Entry(FractalFeatures("bilipschitz", STEP), 95.40, 97.19),
}
# Of all eight: settings of the classifier, and the paper's figure.
COMBINATIONS: dict[str, tuple[dict[str, str], float | None]] = {
    "learned, one against one": ({"scheme": "ovo", "weights": "learned"}, 98.76),
    "learned, one against all": ({"scheme": "ova", "weights": "learned"}, 98.9),
    "equal weights, one against one": ({"scheme": "ovo", "weights": "equal"}, 96.79),
}


class StoredVectors(BaseEstimator):
    """A descriptor for pictures that are described already: their vectors are what it is given."""

    def describe_all(self, vectors: np.ndarray) -> np.ndarray:
        """The vectors (n, D) themselves."""
        return vectors


def draw_split(labels: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices of training and test pictures: `N_TRAINING` of every class drawn at random, and the others."""
    rng = np.random.default_rng(seed)
    drawn = [rng.permutation(np.flatnonzero(labels == label))[:N_TRAINING] for label in np.unique(labels)]
    training = np.sort(np.concatenate(drawn))
    return training, np.setdiff1d(np.arange(len(labels)), training)


def distance_stack(
    paths: Sequence[Path], labels: np.ndarray, seed: int, cache: Path | None = None, table: dict[str, Entry] = TABLE
) -> np.ndarray:
    """χ² distances (k, n, n) float32 of all pictures by each descriptor, with words of the training pictures only."""
    return np.stack([_distances(entry.descriptor, paths, labels, seed, cache) for entry in table.values()])


def _distances(descriptor, paths, labels, seed: int, cache: Path | None) -> np.ndarray:
    file = None if cache is None else cache / f"distances-{_key(descriptor, paths, N_WORDS, N_VECTORS)}-{seed}.npy"
    if file is not None and file.exists():
        return np.load(file)
    training, _ = draw_split(labels, seed)
    pictures: Any = paths
    if cache is not None:
        pictures = stored_vectors(descriptor, paths, cache)
        descriptor = StoredVectors()
    bag = WordHistograms(descriptor, N_WORDS, N_VECTORS, by_class=True, random_state=seed)
    bag.fit([pictures[i] for i in training], labels[training])
    distances = histogram_distances(bag.transform(pictures)).astype(np.float32)
    if file is not None:
        with atomic_path(file) as neighbour:
            np.save(neighbour, distances)
    return distances


def stored_vectors(descriptor, paths: Sequence[Path], cache: Path) -> np.ndarray:
    """The vectors (pictures, n, D) float16 of pictures of one size, read from the folder or written to it."""
    file = cache / f"vectors-{_key(descriptor, paths)}.npy"
    if not file.exists():
        first = descriptor.describe_all(read_image(paths[0]))
        with atomic_path(file) as neighbour:
            stored = np.lib.format.open_memmap(neighbour, "w+", np.float16, (len(paths), *first.shape))
            for row, path in zip(stored, track(paths, f"describing by {descriptor}"), strict=True):
                row[:] = descriptor.describe_all(read_image(path))
            stored.flush()
    return np.load(file, mmap_mode="r")


def _key(descriptor, paths, *settings) -> str:
    """A name for what a descriptor makes of these pictures."""
    of_pictures = [f"{path.parent.name}/{path.name}" for path in paths]
    described = repr((type(descriptor).__name__, sorted(descriptor.get_params().items()), of_pictures, settings))
    return f"{type(descriptor).__name__}-{hashlib.sha256(described.encode()).hexdigest()[:16]}"


def judge_nearest(distances: np.ndarray, labels: np.ndarray, training: np.ndarray, test: np.ndarray) -> float:
    """Accuracy in per cent of the label of the nearest training picture."""
    nearest = training[distances[np.ix_(test, training)].argmin(axis=1)]
    return 100 * float(np.mean(labels[nearest] == labels[test]))


def judge_svm(distances: np.ndarray, labels: np.ndarray, training: np.ndarray, test: np.ndarray) -> float:
    """Accuracy in per cent of machines of every pair of classes, with the kernel exp(-f / mean training f)."""
    of_training = distances[np.ix_(training, training)]
    gamma = 1 / of_training.mean()
    machine = SVC(C=C, kernel="precomputed").fit(np.exp(-gamma * of_training), labels[training])
    predicted = machine.predict(np.exp(-gamma * distances[np.ix_(test, training)]))
    return 100 * float(np.mean(predicted == labels[test]))


def judge_combination(stack: np.ndarray, labels, training, test, **settings) -> float:
    """Accuracy in per cent of machines whose kernel weighs all the distances of a stack (k, n, n)."""
    model = TradeoffClassifier(kernels="distances", C=C, **settings)
    model.fit(stack[:, training[:, None], training], labels[training])
    predicted = model.predict(stack[:, test[:, None], training])
    return 100 * float(np.mean(predicted == labels[test]))


def run(
    n_splits: int = 3,
    cache: str | Path | None = None,
    table: dict[str, Entry] = TABLE,
    combinations: dict[str, tuple[dict[str, str], float | None]] = COMBINATIONS,
    classes: Sequence[str] | None = None,
) -> dict[str, list[Outcome]]:
    """Tables "1NN", "SVM" and "combined": every descriptor alone, and all together. `classes` picks some folders."""
    folder = None if cache is None else Path(cache)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    data = load_uiuc_textures(classes)
    labels = np.asarray(data.labels)
    figures: dict[tuple[str, str], list[float]] = {}
    seconds: dict[tuple[str, str], float] = {}

    def note(which: str, name: str, judge, *arguments, **settings) -> None:
        started = time.perf_counter()
        figures.setdefault((which, name), []).append(judge(*arguments, **settings))
        seconds[which, name] = seconds.get((which, name), 0) + time.perf_counter() - started

    for seed in range(n_splits):
        split = (labels, *draw_split(labels, seed))
        stack = distance_stack(data.paths, labels, seed, folder, table)
        for name, distances in zip(table, stack, strict=True):
            note("1NN", name, judge_nearest, distances, *split)
            note("SVM", name, judge_svm, distances, *split)
        for name, (settings, _) in combinations.items():
            note("combined", name, judge_combination, stack, *split, **settings)
    paper = {("1NN", name): entry.paper_nearest for name, entry in table.items()}
    paper |= {("SVM", name): entry.paper_svm for name, entry in table.items()}
    paper |= {("combined", name): figure for name, (_, figure) in combinations.items() if figure is not None}
    tables: dict[str, list[Outcome]] = {}
    for (which, name), found in figures.items():
        outcome = Outcome(name, np.array(found), paper.get((which, name)), seconds[which, name] / n_splits)
        tables.setdefault(which, []).append(outcome)
    return tables


if __name__ == "__main__":
    n_splits = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    for which, outcomes in run(n_splits, sys.argv[2] if len(sys.argv) > 2 else None).items():
        print(as_text(f"UIUC textures, {N_TRAINING} training pictures a class, {which}, accuracy in %", outcomes))
