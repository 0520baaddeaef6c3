"""Where the words of bikes occur in images, [Moosmann06] figs 2 and 3.

A forest is learned from bikes and cars of GRAZ-02 as in `graz02`. A window of a test image is marked if it reaches an
unmixed leaf of bikes, one whose training windows are all from images of bikes. The paper shows drawings only; the
table says how often such leaves are reached in bikes and in cars, which the words were not learned from.
"""

import time
from base64 import b64encode
from collections.abc import Sequence
from io import BytesIO

import numpy as np
from matplotlib.figure import Figure

from experiments import graz02
from experiments.outcome import Drawing, Outcome
from invariance.codebooks import BagOfFeatures, ClusteringForest, RandomWindows
from invariance.images import read_image, resize

BIKES, CARS = 0, 1
N_PATCHES, PATCH = 12, (32, 32)
DOTS_PER_INCH = 70
# The middle of a large window is near the middle of the image, whatever the window shows: only small ones are drawn.
MAX_SHOWN = 1 / 3


def learn_words(drawn: graz02.Draw, seed: int) -> BagOfFeatures:
    """The words of the training images."""
    words = graz02.Words(ClusteringForest(5, n_leaves=1000))
    return graz02.make_bag(words, drawn.training, drawn.labels, RandomWindows().n_windows, seed)


def mark_windows(bag: BagOfFeatures, image: np.ndarray, label: int, n_windows: int) -> tuple[np.ndarray, np.ndarray]:
    """Windows (n, 3) of an image, and in how many trees (n,) each reaches an unmixed leaf of a class."""
    vectors, windows = bag.extract(image, n_windows)
    is_unmixed = bag.codebook_.posteriors_[:, label] == 1
    return windows, is_unmixed[bag.codebook_.transform(vectors)].sum(axis=1)


def share_unmixed(bag: BagOfFeatures, images: Sequence, label: int, n_windows: int) -> float:
    """How many windows reach an unmixed leaf of a class, in per cent of windows and trees, mean over images."""
    n_trees = len(bag.codebook_.trees_)
    counts = [mark_windows(bag, read_image(image), label, n_windows)[1].mean() for image in images]
    return 100 * float(np.mean(counts)) / n_trees


def run(n_seeds: int, seed: int, n_test: int, n_windows: int, n_shown: int) -> tuple[list[Outcome], list[Drawing]]:
    """How often unmixed leaves of bikes are reached in test images of bikes and cars; drawings of the first draw."""
    classes = graz02.TASKS["bikes or cars"]()
    started, shares = time.perf_counter(), []
    drawings: list[Drawing] = []
    for number in range(seed, seed + n_seeds):
        drawn = graz02.draw(classes, number)
        bag = learn_words(drawn, number)
        tested = [np.flatnonzero(drawn.test_labels == label)[:n_test] for label in (BIKES, CARS)]
        images = [[drawn.test[i] for i in rows] for rows in tested]
        shares.append([share_unmixed(bag, some, BIKES, n_windows) for some in images])
        if not drawings:
            drawings = [
                _keep(
                    "Small windows that reach an unmixed leaf of bikes",
                    draw_maps(bag, images[BIKES][:n_shown], n_windows),
                ),
                _keep("Windows of one word of bikes, and of one of cars", draw_words(bag, images, n_windows)),
            ]
    seconds = (time.perf_counter() - started) / n_seeds
    by_class = zip(("images of bikes", "images of cars"), np.transpose(shares), strict=True)
    return [Outcome(name, figures, None, seconds) for name, figures in by_class], drawings


def draw_maps(bag: BagOfFeatures, paths: Sequence, n_windows: int) -> Figure:
    """Images, darkened, with a dot in the middle of every small window that reaches an unmixed leaf of bikes."""
    figure = Figure(figsize=(3.2 * ((len(paths) + 1) // 2), 4.8), layout="constrained")
    for number, path in enumerate(paths):
        image = read_image(path)
        windows, n_unmixed = mark_windows(bag, image, BIKES, n_windows)
        is_small = windows[:, 2] <= MAX_SHOWN * min(image.shape[:2])
        top, left, side = windows[(n_unmixed > 0) & is_small].T
        axes = figure.add_subplot(2, (len(paths) + 1) // 2, number + 1)
        axes.imshow(0.5 * image, cmap="gray", vmin=0, vmax=1)
        axes.plot(left + side / 2, top + side / 2, "o", color="white", ms=1.5, mew=0)
        axes.set_axis_off()
    return figure


def draw_words(bag: BagOfFeatures, images: Sequence[Sequence], n_windows: int) -> Figure:
    """Windows of test images that have one word: of each class the purest word that occurs most often."""
    figure = Figure(figsize=(6.4, 2.4), layout="constrained")
    for row, label in enumerate((BIKES, CARS)):
        patches = find_patches(bag, images[label], label, n_windows)
        for column, patch in enumerate(patches):
            axes = figure.add_subplot(2, N_PATCHES, row * N_PATCHES + column + 1)
            axes.imshow(patch, cmap="gray", vmin=0, vmax=1)
            axes.set_axis_off()
    return figure


def find_patches(bag: BagOfFeatures, paths: Sequence, label: int, n_windows: int) -> list[np.ndarray]:
    """Up to `N_PATCHES` windows with the word of largest share of a class; of equal ones, that occurs most often."""
    loaded = [read_image(path) for path in paths[: 2 * N_PATCHES]]
    extracted = [bag.extract(image, n_windows) for image in loaded]
    words = [bag.codebook_.transform(vectors) for vectors, _ in extracted]
    counts = np.bincount(np.concatenate(words).ravel(), minlength=bag.n_words_)
    best = max(np.flatnonzero(counts), key=lambda word: (bag.codebook_.posteriors_[word, label], counts[word]))
    patches = [
        resize(image[top : top + side, left : left + side], PATCH)
        for image, (_, windows), of_image in zip(loaded, extracted, words, strict=True)
        for top, left, side in windows[(of_image == best).any(axis=1)][:2]
    ]
    return patches[:N_PATCHES]


def _keep(title: str, figure: Figure) -> Drawing:
    file = BytesIO()
    figure.savefig(file, format="png", dpi=DOTS_PER_INCH)
    return Drawing(title, b64encode(file.getvalue()).decode())
