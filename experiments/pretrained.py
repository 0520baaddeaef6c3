"""A pretrained network beside our methods and together with them, and the weight that the trade-off gives it.

Flowers 17, the three official splits: 40 training and 20 test images per class; validation images are not used. The
weights are those of the method `tradeoff`, learned on half of the training images of split 1, on faces and on digits;
faces and digits are enlarged to 64 x 64 pixels, so that the kernels of photographs take part.
"""

import time
from base64 import b64encode
from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from experiments.all_methods import draw_mnist, draw_yale
from experiments.outcome import Drawing, Outcome
from invariance.datasets import load_flowers17
from invariance.encoders import default_encoder
from invariance.images import resize_all
from invariance.methods import ImageClassifier
from invariance.report.tradeoff_figures import weights_figure

NETWORK = "pretrained network"  # the name of its kernel
SIDE = 64
DOTS_PER_INCH = 70
Task = tuple[Sequence[np.ndarray], np.ndarray]


def linear_machine() -> Any:
    """A linear SVM on the standardized features of the network, its C cross-validated."""
    search = GridSearchCV(LinearSVC(), {"C": [1e-4, 1e-3, 1e-2, 1e-1]}, cv=3)
    return make_pipeline(default_encoder().set_params(n_jobs=2), StandardScaler(), search)


METHODS: dict[str, Callable[[], Any]] = {
    "network, logistic regression": lambda: ImageClassifier("encoder", n_jobs=2, random_state=0),
    "network, linear SVM": linear_machine,
    "words": lambda: ImageClassifier("objects", n_jobs=2, random_state=0),
    "network and words": lambda: ImageClassifier("photos", n_jobs=2, random_state=0),
}


def run(splits: Sequence[int], every: int = 1) -> list[Outcome]:
    """Accuracies in per cent of every method on official splits, or on `every` nth image of them."""
    flowers = load_flowers17()
    rates: dict[str, list[float]] = {name: [] for name in METHODS}
    seconds = dict.fromkeys(METHODS, 0.0)
    for number in splits:
        (images, labels), (test_images, truth) = (
            _take(flowers, flowers.splits[f"{part}{number}"][::every]) for part in ("train", "test")
        )
        for name, make in METHODS.items():
            started = time.perf_counter()
            found = make().fit(images, labels).predict(test_images)
            seconds[name] += (time.perf_counter() - started) / len(splits)
            rates[name].append(100 * float(np.mean(found == truth)))
            print(f"split {number}, {name}: {rates[name][-1]:.2f} %", flush=True)
    return [Outcome(name, np.array(rates[name]), None, seconds[name]) for name in METHODS]


def flowers(seed: int) -> Task:
    """20 training images per kind of flower, of split 1."""
    data = load_flowers17()
    return _take(data, data.splits["train1"][::2])


def faces(seed: int) -> Task:
    """5 images per person."""
    drawn = draw_yale(seed)
    return list(resize_all(list(drawn.training), (SIDE, SIDE))), drawn.labels


def digits(seed: int) -> Task:
    """300 digits."""
    drawn = draw_mnist(seed)
    return list(resize_all(list(drawn.training), (SIDE, SIDE))), drawn.labels


TASKS: dict[str, Callable[[int], Task]] = {"flowers": flowers, "faces": faces, "digits": digits}


def weigh(seed: int, tasks: dict[str, Callable[[int], Task]]) -> tuple[list[Outcome], list[Drawing]]:
    """Shares of the network in the weights of every class in per cent, by task, and drawings of all weights."""
    outcomes, drawings = [], []
    for name, draw in tasks.items():
        started = time.perf_counter()
        model = ImageClassifier("tradeoff", n_jobs=2, random_state=seed).fit(*draw(seed)).model_
        shares = 100 * model.shares_[:, model.kernel_names_.index(NETWORK)]
        outcomes.append(Outcome(name, shares, None, time.perf_counter() - started))
        print(outcomes[-1], flush=True)
        file = BytesIO()
        weights_figure(model, name).savefig(file, format="png", dpi=DOTS_PER_INCH)
        drawings.append(Drawing(f"Weights of the kernels: {name}", b64encode(file.getvalue()).decode()))
    return outcomes, drawings


def _take(data, rows) -> Task:
    return [data.images[row] for row in rows], np.asarray(data.labels)[rows]
