"""How many examples per class are needed, [Wibisono10] sec. 6.3, fig. 3: two layers, three layers and pixels.

Digits 2 to 9, shifted at random by up to 3 pixels each way, are classified by the nearest of n training images per
class under the derived kernel, 30 test images per class; rates are in per cent. Every run draws its own templates,
training and test images, which all methods share, so that runs are independent. The paper keeps training images and
templates and draws 50 test sets, whose figures say nothing about other training images. It says: 65 % needs about 11
examples with two layers (patches of 12 pixels in 28) and 5 with three (12, 20, 28), so two layers are better than none,
and three better than two. Here two are better than none, but three are worse than two. "Attended" templates are drawn
where the digits have ink, by the measure over positions of sec. 2.1, instead of anywhere in the image.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from experiments.outcome import Curve
from invariance._core.progress import track
from invariance.datasets import load_mnist
from invariance.hierarchies import Layer, NeuralResponse

DIGITS = (2, 3, 4, 5, 6, 7, 8, 9)
COUNTS = (1, 2, 3, 5, 8, 11, 15, 20, 30)
N_TEST = 30
N_TEMPLATES = 500
N_TEMPLATE_IMAGES = 1000
MAX_SHIFT = 3
TARGET = 65
NEEDED_IN_PAPER = {"2 layers": 11, "3 layers": 5}
SIZES = {"2 layers": (12,), "3 layers": (12, 20)}
METHODS = ("3 layers", "2 layers", "3 layers, attended", "2 layers, attended", "L2")


class Digits:
    """MNIST's training digits 2 to 9, from which disjoint sets of shifted images are drawn."""

    def __init__(self, seed: int):
        data = load_mnist()
        labels = np.asarray(data.labels)
        is_wanted = np.isin(labels, DIGITS)
        self.images, self.labels = np.asarray(data.images)[is_wanted], labels[is_wanted]
        self.rng = np.random.default_rng(seed)
        self.unused = self.rng.permutation(len(self.labels))

    def draw(self, n_each: int) -> tuple[np.ndarray, np.ndarray]:
        """Images and labels, `n_each` per class, classes in turn; no image is ever drawn again."""
        by_class = [self.unused[self.labels[self.unused] == digit][:n_each] for digit in DIGITS]
        drawn = np.stack(by_class, axis=1).ravel()
        self.unused = self.unused[~np.isin(self.unused, drawn)]
        images = self.images[drawn].astype(np.float32) / 255
        return shift_randomly(images, self.rng), self.labels[drawn]


def shift_randomly(images: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Each image (n, h, w) moved by up to `MAX_SHIFT` whole pixels along each axis; what comes in is 0."""
    height, width = images.shape[1:]
    padded = np.pad(images, ((0, 0), (MAX_SHIFT, MAX_SHIFT), (MAX_SHIFT, MAX_SHIFT)))
    corners = rng.integers(2 * MAX_SHIFT + 1, size=(len(images), 2))
    return np.stack(
        [image[top : top + height, left : left + width] for image, (top, left) in zip(padded, corners, strict=True)]
    )


def make_response(layers: str, seed: int, embedding: str | None = None, n_components: int | None = None):
    """The hierarchy of "2 layers" or "3 layers"; the image is the last.

    The feature maps are those of def. 3.1, Φ_2 to Φ_n: of the responses of all patches but the smallest, and of the
    image.
    """
    smallest, *others = SIZES[layers]
    chosen = [Layer(smallest, N_TEMPLATES), *(Layer(size, N_TEMPLATES, embedding, n_components) for size in others)]
    return NeuralResponse(chosen, embedding=embedding, embedding_components=n_components, n_jobs=2, random_state=seed)


def classify(training: np.ndarray, labels: np.ndarray, test: np.ndarray, test_labels: np.ndarray) -> float:
    """The rate in per cent of the nearest neighbour among training rows (n, d), for test rows."""
    return 100 * float(np.mean(labels[cdist(test, training).argmin(axis=1)] == test_labels))


class Run(NamedTuple):
    """Images to draw templates from, and shifted images with labels to learn from and to be tested on."""

    template_images: np.ndarray
    training: tuple[np.ndarray, np.ndarray]
    test: tuple[np.ndarray, np.ndarray]


def draw_run(n_training: int, seed: int) -> Run:
    """The images of a run, `n_training` per class to learn from; no two parts share an image."""
    digits = Digits(seed)
    return Run(digits.draw(N_TEMPLATE_IMAGES // len(DIGITS))[0], digits.draw(n_training), digits.draw(N_TEST))


def run(
    n_runs: int = 50, methods: Sequence[str] = METHODS, counts: Sequence[int] = COUNTS, seed: int = 0
) -> list[Curve]:
    """The curves of fig. 3: rates by training images per class; one run per seed, from `seed` on."""
    rates: dict[str, list[list[float]]] = {method: [] for method in methods}
    for number in track(range(seed, seed + n_runs), "runs"):
        drawn = draw_run(max(counts), number)
        for method in methods:
            rates[method].append(_rates(method, drawn, counts, number))
    return [Curve(method, tuple(counts), np.array(rates[method])) for method in methods]


def _rates(method: str, drawn: Run, counts: Sequence[int], seed: int) -> list[float]:
    """Rates of a method with the first `count` training images per class, for all counts."""
    (training, labels), (test, test_labels) = drawn.training, drawn.test
    represent = _learn(method, drawn.template_images, seed)
    rows, test_rows = represent(training), represent(test)
    sizes = [count * len(DIGITS) for count in counts]
    return [classify(rows[:n], labels[:n], test_rows, test_labels) for n in sizes]


def _learn(method: str, template_images: np.ndarray, seed: int):
    """A function from images to rows: the responses of a fitted hierarchy, or the pixels themselves."""
    if method == "L2":
        return lambda images: images.reshape(len(images), -1).astype(np.float64)
    layers, _, how = method.partition(", ")
    attention = template_images.mean(axis=0) if how == "attended" else None
    return make_response(layers, seed).fit(template_images, attention=attention).transform


def count_needed(curve: Curve, target: float = TARGET) -> float:
    """Where the mean rate first reaches the target, between two places by a straight line; NaN if it never does."""
    means = curve.means
    if not (means >= target).any():
        return float("nan")
    place = int(np.argmax(means >= target))
    if place == 0:
        return float(curve.places[0])
    return float(np.interp(target, means[place - 1 : place + 1], curve.places[place - 1 : place + 1]))
