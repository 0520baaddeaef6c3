"""UIUC textures, [Varma07] sec. 4.1: eight descriptors of different invariance, alone and in a learned combination.

20 of 40 images per class for training, the others for testing, drawn again for every seed. The words of every
descriptor are learned from the training images of the split; images are compared by χ².
Figures are accuracies in per cent.

Differs from the paper: the images are half as wide, so patches are small; the means of aligned patches are subtracted,
because slow changes of light over an image would otherwise dominate their distances; sorted rings and columns of shapes
are added. Settings were chosen by cross-validation on the training images of the split with seed 1000
(`SETTINGS_SEED`). Half the test images of any other seed are among these. The tables `UNSEEN` leave them out: they are
the ones to quote, and have the paper's figures. The tables `ALL_TEST` are on all test images, as in the paper.

A cache folder holds the vectors of all images (some 6 GB) and the distances of every split, so that an interrupted run
can be resumed; without one, a temporary folder is used.
"""

import hashlib
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import ndimage
from sklearn.base import BaseEstimator, clone
from sklearn.svm import SVC

from experiments.outcome import Outcome
from experiments.peers.block_l1 import BlockL1Classifier
from invariance._core.files import atomic_path
from invariance._core.progress import track
from invariance.codebooks import BagOfFeatures, Grid, KMeansCodebook, histogram_distances
from invariance.datasets import load_uiuc_textures
from invariance.descriptors import FractalFeatures, MaximumResponses, PatchGrid
from invariance.descriptors.patch_grid import SortedRings, standardize
from invariance.descriptors.protocol import GridDescriptor
from invariance.images import read_image
from invariance.tradeoff import TradeoffClassifier
from invariance.transformations import Brightness, Contrast, Rotations

N_TRAINING = 20
N_WORDS = 500
N_VECTORS = 150_000
STEP = 3
C = 1000.0
SETTINGS_SEED = 1000
UNSEEN = "without images that settings were chosen on"
ALL_TEST = "with images that settings were chosen on"


class Entry(NamedTuple):
    """A descriptor, and its accuracies in Table 1 with the nearest neighbour and the SVM, if it is there."""

    descriptor: Any
    paper_nearest: float | None = None
    paper_svm: float | None = None


class ShapeColumns(GridDescriptor):
    """Histogram of which of six shapes an image has at every pixel, at four scales jointly; no words are learned.

    A shape is the largest of: slope, dark spot, bright spot, dark line, bright line, saddle, after the basic image
    features of Crosier and Griffin (IJCV 2010). Scales double from `scale` pixels on. With a `normalize_width` above
    0, the image is first brought to mean 0 and standard deviation 1 under a Gaussian of that width.
    """

    def __init__(self, scale: float = 0.7, normalize_width: float = 0.0):
        self.scale = scale
        self.normalize_width = normalize_width

    @property
    def invariances(self):
        """What leaves the histogram unchanged."""
        return (Rotations, Brightness, Contrast)

    def _extract(self, image):
        # Of mean 0: a sampled second derivative of a Gaussian does not quite sum to 0.
        plane = standardize(image)
        if self.normalize_width:
            plane = plane - ndimage.gaussian_filter(plane, self.normalize_width)
            plane /= np.sqrt(ndimage.gaussian_filter(plane**2, self.normalize_width) + 0.005)
        columns = np.zeros(plane.shape, int)
        for scale in self.scale * 2.0 ** np.arange(4):
            columns = 6 * columns + strongest_shape(plane, scale)
        shares = np.bincount(columns.ravel(), minlength=6**4)[None] / columns.size
        return shares, (np.array([plane.shape]) - 1) / 2


def strongest_shape(plane: np.ndarray, scale: float) -> np.ndarray:
    """The number (h, w), 0 to 5, of the shape that a plane (h, w) has around every pixel."""
    down, right, bent_down, bent_right, twisted = (
        scale ** sum(order) * ndimage.gaussian_filter(plane, scale, order)
        for order in ((1, 0), (0, 1), (2, 0), (0, 2), (1, 1))
    )
    spot = bent_down + bent_right
    saddle = np.hypot(bent_down - bent_right, 2 * twisted)
    lines = (saddle + spot) / np.sqrt(2), (saddle - spot) / np.sqrt(2)
    return np.argmax([2 * np.hypot(down, right), spot, -spot, *lines, saddle], axis=0)


TABLE = {
    "none (patch)": Entry(PatchGrid(9, step=STEP), 82.39, 91.46),
    "none (MR)": Entry(MaximumResponses("none", STEP), 82.18, 91.16),
    "rotation (patch)": Entry(PatchGrid(7, aligned=True, step=STEP, centred=True), 97.83, 98.18),
    "rotation (MR)": Entry(MaximumResponses("rotation", STEP), 93.00, 96.69),
    "rotation (fractal)": Entry(FractalFeatures("rotation", STEP), 94.96, 97.24),
    "scale (MR)": Entry(MaximumResponses("scale", STEP), 76.77, 87.04),
    "similarity (MR)": Entry(MaximumResponses("similarity", STEP), 90.35, 95.12),
    "bi-Lipschitz (fractal)": Entry(FractalFeatures("bilipschitz", STEP), 95.40, 97.19),
}
MORE = {
    "rotation (sorted rings), added": Entry(SortedRings(4, STEP)),
    "rotation (columns of shapes), added": Entry(ShapeColumns()),
    "rotation, light (columns of shapes), added": Entry(ShapeColumns(normalize_width=12.0)),
}


class Combination(NamedTuple):
    """An unfitted classifier of distances, the paper's figure if it has one, and whether `MORE` is included."""

    model: Any
    paper: float | None = None
    with_more: bool = False


OVO, OVA = (TradeoffClassifier("distances", scheme, C=C) for scheme in ("ovo", "ova"))
OVO_EQUAL, OVA_EQUAL = (TradeoffClassifier("distances", scheme, "equal", C=C) for scheme in ("ovo", "ova"))
COMBINATIONS = {
    "the eight, learned, one against one": Combination(OVO, 98.76),
    "the eight, learned, one against all": Combination(OVA, 98.9),
    "the eight, block-l1, one against one": Combination(BlockL1Classifier(C), 96.94),
    "the eight, equal weights, one against one": Combination(OVO_EQUAL, 96.79),
    "the eight, equal weights, one against all": Combination(OVA_EQUAL),
    "with added, learned, one against one": Combination(OVO, None, True),
    "with added, learned, one against all": Combination(OVA, None, True),
    "with added, block-l1, one against one": Combination(BlockL1Classifier(C), None, True),
    "with added, equal weights, one against all": Combination(OVA_EQUAL, None, True),
}


class StoredVectors(BaseEstimator):
    """A descriptor for images given as their precomputed vectors."""

    def extract(self, vectors: np.ndarray, windows: None = None) -> tuple[np.ndarray, np.ndarray]:
        """The vectors (n, D) themselves, and no places."""
        return vectors, np.empty((len(vectors), 0))


def draw_split(labels: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices of training and test images: `N_TRAINING` of every class drawn at random, and the others."""
    rng = np.random.default_rng(seed)
    drawn = [rng.permutation(np.flatnonzero(labels == label))[:N_TRAINING] for label in np.unique(labels)]
    training = np.sort(np.concatenate(drawn))
    return training, np.setdiff1d(np.arange(len(labels)), training)


def distance_stack(
    paths: Sequence[Path],
    labels: np.ndarray,
    seed: int,
    cache: Path | None = None,
    table: dict[str, Entry] = TABLE | MORE,
) -> np.ndarray:
    """χ² distances (k, n, n) float32 of all images by each descriptor, with words of the training images only."""
    return np.stack([_distances(entry.descriptor, paths, labels, seed, cache) for entry in table.values()])


def _distances(descriptor, paths, labels, seed: int, cache: Path | None) -> np.ndarray:
    file = None if cache is None else cache / f"distances-{_key(descriptor, paths, N_WORDS, N_VECTORS)}-{seed}.npy"
    if file is not None and file.exists():
        return np.load(file)
    distances = histogram_distances(_histograms(descriptor, paths, labels, seed, cache)).astype(np.float32)
    if file is not None:
        with atomic_path(file) as neighbour:
            np.save(neighbour, distances)
    return distances


def _histograms(descriptor, paths, labels, seed: int, cache: Path | None) -> np.ndarray:
    images: Any = paths if cache is None else stored_vectors(descriptor, paths, cache)
    if isinstance(descriptor, ShapeColumns):
        return np.concatenate([descriptor.extract(read_image(path))[0] for path in paths] if cache is None else images)
    training, _ = draw_split(labels, seed)
    described = descriptor if cache is None else StoredVectors()
    codebook, grid = KMeansCodebook(N_WORDS), Grid(N_VECTORS)
    bag = BagOfFeatures(codebook, described, grid, normalization="sum", random_state=seed)
    return bag.fit([images[i] for i in training]).transform(list(images))


def stored_vectors(descriptor, paths: Sequence[Path], cache: Path) -> np.ndarray:
    """The vectors (images, n, D) float16 of images of one size, read from the folder or written to it."""
    file = cache / f"vectors-{_key(descriptor, paths)}.npy"
    if not file.exists():
        first = descriptor.extract(read_image(paths[0]))[0]
        with atomic_path(file) as neighbour:
            stored = np.lib.format.open_memmap(neighbour, "w+", np.float16, (len(paths), *first.shape))
            for row, path in zip(stored, track(paths, f"describing by {descriptor}"), strict=True):
                row[:] = descriptor.extract(read_image(path))[0]
            stored.flush()
    return np.load(file, mmap_mode="r")


def _key(descriptor, paths, *settings) -> str:
    """A name for what a descriptor makes of these images."""
    of_images = [f"{path.parent.name}/{path.name}" for path in paths]
    described = repr((type(descriptor).__name__, sorted(descriptor.get_params().items()), of_images, settings))
    return f"{type(descriptor).__name__}-{hashlib.sha256(described.encode()).hexdigest()[:16]}"


def predict_nearest(distances: np.ndarray, labels: np.ndarray, training: np.ndarray, test: np.ndarray) -> np.ndarray:
    """The label of the training image nearest to each test image."""
    return labels[training[distances[np.ix_(test, training)].argmin(axis=1)]]


def predict_svm(distances: np.ndarray, labels: np.ndarray, training: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Labels by an SVM with the kernel exp(-f / mean training f)."""
    of_training = distances[np.ix_(training, training)]
    gamma = 1 / of_training.mean()
    machine = SVC(C=C, kernel="precomputed").fit(np.exp(-gamma * of_training), labels[training])
    return machine.predict(np.exp(-gamma * distances[np.ix_(test, training)]))


def predict_combination(model, stack: np.ndarray, labels, training, test) -> np.ndarray:
    """Labels by a copy of a classifier of stacks (k, n, n) of distances."""
    fitted = clone(model).fit(stack[:, training[:, None], training], labels[training])
    return fitted.predict(stack[:, test[:, None], training])


def run(
    n_splits: int = 3,
    cache: str | Path | None = None,
    table: dict[str, Entry] = TABLE,
    more: dict[str, Entry] = MORE,
    combinations: dict[str, Combination] = COMBINATIONS,
    classes: Sequence[str] | None = None,
) -> dict[str, list[Outcome]]:
    """Every descriptor alone, "1NN" and "SVM", and "combined", each `UNSEEN` and on `ALL_TEST` images, by `title_of`.

    `classes` picks some folders of images.
    """
    if cache is None:
        with tempfile.TemporaryDirectory() as folder:
            return run(n_splits, folder, table, more, combinations, classes)
    Path(cache).mkdir(parents=True, exist_ok=True)
    data = load_uiuc_textures(classes)
    labels = np.asarray(data.labels)
    chosen_on, _ = draw_split(labels, SETTINGS_SEED)
    found: dict[tuple[str, str], tuple[float | None, list[float], list[float]]] = {}

    for seed in range(n_splits):
        training, test = draw_split(labels, seed)
        is_unseen = ~np.isin(test, chosen_on)
        stack = distance_stack(data.paths, labels, seed, Path(cache), table | more)
        for (which, name), paper, predict in _methods(stack, table, more, combinations):
            started = time.perf_counter()
            is_right = predict(labels, training, test) == labels[test]
            seconds = time.perf_counter() - started
            _note(found, (title_of(which, UNSEEN), name), paper, is_right[is_unseen], seconds)
            _note(found, (title_of(which, ALL_TEST), name), None, is_right, seconds)
            shown = f"{100 * is_right[is_unseen].mean():.2f}, on all test images {100 * is_right.mean():.2f}"
            print(f"split {seed}, {which}, {name}: {shown}", flush=True)
    # The tables to quote are first.
    tables: dict[str, list[Outcome]] = {title_of(which, UNSEEN): [] for which in ("combined", "SVM", "1NN")}
    for (which, name), (paper, figures, times) in found.items():
        tables.setdefault(which, []).append(Outcome(name, np.array(figures), paper, float(np.mean(times))))
    return {title: rows for title, rows in tables.items() if rows}


def title_of(which: str, images: str = UNSEEN) -> str:
    """The title of a table: "1NN", "SVM" or "combined", and the test images, `UNSEEN` or `ALL_TEST`."""
    return f"{which}, {images}"


def _methods(
    stack: np.ndarray, table: dict[str, Entry], more: dict[str, Entry], combinations: dict[str, Combination]
) -> Iterator[tuple[tuple[str, str], float | None, Callable[..., np.ndarray]]]:
    """Table and row, the paper's figure, and what predicts labels from (labels, training, test)."""
    for (name, entry), distances in zip((table | more).items(), stack, strict=True):
        yield ("1NN", name), entry.paper_nearest, partial(predict_nearest, distances)
        yield ("SVM", name), entry.paper_svm, partial(predict_svm, distances)
    for name, (model, paper, with_more) in combinations.items():
        weighed = stack if with_more else stack[: len(table)]
        yield ("combined", name), paper, partial(predict_combination, model, weighed)


def _note(found: dict, row: tuple[str, str], paper: float | None, is_right: np.ndarray, seconds: float) -> None:
    _, figures, times = found.setdefault(row, (paper, [], []))
    figures.append(100 * float(np.mean(is_right)))
    times.append(seconds)
