"""All methods of the library combined: whether the trade-off is as good as the best of them, or better.

Each method alone is a support vector machine on its base kernel, with the same C; the trade-off learns weights of all
kernels for every pair of classes. Data: UIUC textures, 300 digits of MNIST, Yale faces (5 images per person), and
scikit-learn's small digits. Figures are accuracies in per cent over several draws.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits

from experiments.outcome import Outcome
from experiments.yale_faces import draw_split
from invariance.datasets import load_mnist, load_uiuc_textures, load_yale
from invariance.images import resize, to_grey
from invariance.tradeoff import TradeoffClassifier, default_kernels
from invariance.transformations import normalize_illumination

C = 1000.0
FIRST_SEED = 200  # draws 0 to 7 served to choose kernels, the cost of jungles and how costs grow with errors
COMBINATIONS = {
    "all, equal weights": {"weights": "equal"},
    "all, learned weights": {},
    "all, equal weights, one against all": {"scheme": "ova", "weights": "equal"},
    "all, learned weights, one against all": {"scheme": "ova"},
}
CROSS_VALIDATED = "all, costs by errors held out, one against all"


class Draw(NamedTuple):
    """Training and test images with their labels."""

    training: np.ndarray
    labels: np.ndarray
    test: np.ndarray
    test_labels: np.ndarray


def draw_uiuc(seed: int, n_each: int = 20) -> Draw:
    """`n_each` training and as many test images per class, at half the width and height."""
    data = load_uiuc_textures()
    images = np.stack([resize(to_grey(image), (120, 160)) for image in data.images])
    return _draw_each(images, np.asarray(data.labels), n_each, seed)


def draw_mnist(seed: int) -> Draw:
    """300 training digits and 1,000 test digits."""
    data, test = load_mnist(), load_mnist("test")
    rng = np.random.default_rng(seed)
    chosen, tested = rng.permutation(len(data.images))[:300], rng.permutation(len(test.images))[:1000]
    labels, test_labels = np.asarray(data.labels)[chosen], np.asarray(test.labels)[tested]
    return Draw(_grey(data.images[chosen]), labels, _grey(test.images[tested]), test_labels)


def draw_yale(seed: int) -> Draw:
    """5 training images per person, the others tested; illumination normalized, grey levels from 0 to 1."""
    faces = load_yale(size=32)
    images, labels = np.clip(0.5 + normalize_illumination(_grey(faces.images)) / 6, 0, 1), np.asarray(faces.labels)
    training, test = draw_split(labels, seed)
    return Draw(images[training], labels[training], images[test], labels[test])


def draw_digits(seed: int) -> Draw:
    """100 training and 700 test digits."""
    data = load_digits()
    order = np.random.default_rng(seed).permutation(len(data.images))
    images, labels = (data.images[order] / 16).astype(np.float32), data.target[order]
    return Draw(images[:100], labels[:100], images[100:800], labels[100:800])


TASKS: dict[str, Callable[[int], Draw]] = {
    "MNIST, 300 digits": draw_mnist,
    "Yale faces": draw_yale,
    "small digits": draw_digits,
}


def compare(draw: Draw, seed: int, combinations: dict = COMBINATIONS) -> dict[str, float]:
    """Accuracies in per cent of every method alone and of their combinations."""
    kernels = default_kernels(random_state=seed, n_jobs=2)
    grams = np.stack([kernel.fit_gram(draw.training, draw.labels) for kernel in kernels])
    rows = np.stack([kernel.rows(draw.test) for kernel in kernels])
    rates = {}
    for place, kernel in enumerate(kernels):
        for scheme, suffix in (("ovo", ""), ("ova", ", one against all")):
            alone = TradeoffClassifier("precomputed", scheme, "equal", C=C).fit(grams[[place]], draw.labels)
            rates[kernel.name + suffix] = 100 * float(np.mean(alone.predict(rows[[place]]) == draw.test_labels))
    for name, settings in combinations.items():
        costs = [kernel.cost for kernel in kernels]
        together = TradeoffClassifier("precomputed", C=C, sigma=costs, n_jobs=2, **settings).fit(grams, draw.labels)
        rates[name] = 100 * float(np.mean(together.predict(rows) == draw.test_labels))
    whole = TradeoffClassifier("all", C=C, n_jobs=2, random_state=seed)
    whole.fit(draw.training, draw.labels)
    rates[CROSS_VALIDATED] = 100 * float(np.mean(whole.predict(draw.test) == draw.test_labels))
    return rates


def run(
    n_draws: int, tasks: Mapping[str, Callable[[int], Draw]], combinations: dict = COMBINATIONS, seed: int = 0
) -> dict[str, list]:
    """Every method and combination on every task; `seed` counts from `FIRST_SEED`."""
    tables = {}
    for task, draw in tasks.items():
        started = time.perf_counter()
        seeds = range(FIRST_SEED + seed, FIRST_SEED + seed + n_draws)
        rates = [compare(draw(number), number, combinations) for number in seeds]
        seconds = (time.perf_counter() - started) / n_draws
        tables[task] = [Outcome(name, np.array([rate[name] for rate in rates]), None, seconds) for name in rates[0]]
        print(task, *tables[task], sep="\n  ", flush=True)
    return tables


def _draw_each(images: np.ndarray, labels: np.ndarray, n_each: int, seed: int) -> Draw:
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(np.flatnonzero(labels == label)) for label in np.unique(labels)]
    training = np.concatenate([order[:n_each] for order in orders])
    test = np.concatenate([order[n_each : 2 * n_each] for order in orders])
    return Draw(images[training], labels[training], images[test], labels[test])


def _grey(images: Any) -> np.ndarray:
    return np.asarray(images, np.float32) / 255
