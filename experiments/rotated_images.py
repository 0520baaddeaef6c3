"""Recognizing rotated images, [Wibisono10] sec. 6.2.2, table 1: the hierarchy is as invariant as its kernel.

30 images per class and a copy of each, rotated by any angle; every copy is compared with all originals. It is
identified if the nearest is its own original, classified if that is of its class; figures are in per cent. Histograms
of small patches ignore rotation, inner products do not. Templates come from images that are not among the 30.

The paper does not say how images are rotated: here by the nearest pixel, since interpolation makes grey levels that the
original's histogram lacks. Pixels from outside the image are 0. Angles are uniform in 0-360°.
"""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from skimage.transform import rotate

from experiments.outcome import Outcome
from invariance._core.progress import track
from invariance.datasets import load_caltech101, load_mnist
from invariance.hierarchies import Layer, NeuralResponse
from invariance.images import resize_all, to_grey

N_EACH = 30
N_TEMPLATES = 500
N_TEMPLATE_IMAGES = 1000  # as many as templates in both layers; further ones would rarely be drawn from
CALTECH_CLASSES = (
    "binocular", "cup", "gramophone", "grand_piano", "headphone", "inline_skate", "laptop", "umbrella"
)  # fmt: skip
TASKS = ("identified", "classified")
METHODS = ("histogram", "inner", "L2")
PAPER = {
    "MNIST": {"histogram": (37.39, 47.40), "inner": (8.84, 27.13), "L2": (8.05, 27.64)},
    "Caltech 101": {"histogram": (88.62, 91.35), "inner": (21.98, 34.06), "L2": (9.94, 24.64)},
}


class Images(NamedTuple):
    """Grey images (n, h, w) float32 with labels (n,), the sizes of their patches, and pixels between positions."""

    images: np.ndarray
    labels: np.ndarray
    sizes: tuple[int, int]
    hop: int


def read_digits() -> Images:
    """MNIST's training digits 1 to 9."""
    data = load_mnist()
    labels = np.asarray(data.labels)
    is_wanted = labels > 0
    return Images(np.asarray(data.images)[is_wanted].astype(np.float32) / 255, labels[is_wanted], (12, 20), 1)


def read_objects(rule: str = "stretch") -> Images:
    """Eight classes of Caltech 101 in grey, 100 x 100 pixels by a rule of `invariance.images.resize`."""
    data = load_caltech101(CALTECH_CLASSES)
    images = resize_all([to_grey(image) for image in data.images], (100, 100), rule)
    return Images(images, np.asarray(data.labels), (24, 60), 3)


SETS: dict[str, Callable[[], Images]] = {"MNIST": read_digits, "Caltech 101": read_objects}


class Trial(NamedTuple):
    """Originals (n, h, w), their rotated copies, their labels, and other images to draw templates from."""

    originals: np.ndarray
    rotated: np.ndarray
    labels: np.ndarray
    others: np.ndarray


def draw_trial(images: np.ndarray, labels: np.ndarray, seed: int) -> Trial:
    """`N_EACH` images of every class, each rotated by a random angle, and the other images."""
    rng = np.random.default_rng(seed)
    drawn = np.concatenate([rng.permutation(np.flatnonzero(labels == name))[:N_EACH] for name in np.unique(labels)])
    others = rng.permutation(np.setdiff1d(np.arange(len(labels)), drawn))[:N_TEMPLATE_IMAGES]
    angles = rng.uniform(0, 360, len(drawn))
    rotated = np.stack([rotate(image, angle, order=0) for image, angle in zip(images[drawn], angles, strict=True)])
    return Trial(images[drawn], rotated, labels[drawn], images[others])


def make_response(method: str, sizes: Sequence[int], hop: int, seed: int) -> NeuralResponse:
    """The hierarchy on a kernel, "histogram" or "inner"."""
    layers = [Layer(size, N_TEMPLATES) for size in sizes]
    return NeuralResponse(layers, kernel=method, hop=hop, n_jobs=2, random_state=seed)


def judge(method: str, photos: Images, trial: Trial, seed: int) -> tuple[float, float]:
    """How many rotated copies are identified and classified, in per cent."""
    rotated, originals = trial.rotated, trial.originals
    if method == "L2":
        rows, columns = rotated.reshape(len(rotated), -1), originals.reshape(len(originals), -1)
    else:
        response = make_response(method, photos.sizes, photos.hop, seed).fit(trial.others)
        rows, columns = response.transform(rotated), response.transform(originals)
    nearest = cdist(rows, columns).argmin(axis=1)
    is_identified = nearest == np.arange(len(nearest))
    return 100 * np.mean(is_identified), 100 * np.mean(trial.labels[nearest] == trial.labels)


def run(
    n_trials: int = 10, methods: Sequence[str] = METHODS, sets: dict = SETS, seed: int = 0
) -> dict[str, list[Outcome]]:
    """Table 1; one trial per seed, from `seed` on."""
    tables: dict[str, list[Outcome]] = {}
    for name, read in sets.items():
        photos = read()
        for method in methods:
            started, rates = time.perf_counter(), []
            for number in track(range(seed, seed + n_trials), f"{name}, {method}"):
                rates.append(judge(method, photos, draw_trial(photos.images, photos.labels, number), number))
            seconds = (time.perf_counter() - started) / n_trials
            papers = PAPER.get(name, {}).get(method, (None, None))
            for task, figures, paper in zip(TASKS, np.transpose(rates), papers, strict=True):
                tables.setdefault(name, []).append(Outcome(f"{method}, {task}", figures, paper, seconds))
                print(tables[name][-1], flush=True)
    return tables
