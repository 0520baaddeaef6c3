"""`invariance fit` with default settings on folders of images: seconds to the first model and in total, and accuracy.

Usage, from the repository:
python -m benchmarks.fitting [NAMES...] [--validation] [--without-encoders] [--each-method] [--seed N]

NAMES are of: uiuc flowers mnist yale digits caltech textures. With --each-method, every method that suits the images
is fitted to all of them instead, to see how far the choice of `fit` is from the best.

Every command is a process of its own with an empty cache; a second one fits the same folder again with the cache that
the first one left. The accuracy is that of `invariance evaluate` on the test part, or, with --validation, on a quarter
of the training part that is held out: settings are chosen on that one.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from experiments.caltech_objects import choose_classes
from experiments.uiuc_textures import draw_split as draw_uiuc
from experiments.yale_faces import draw_split as draw_yale
from invariance.datasets import (
    Dataset,
    load_caltech101,
    load_digits,
    load_flowers17,
    load_mnist,
    load_uiuc_textures,
    load_yale,
    make_textures,
)
from invariance.methods import ImageClassifier, learn_facts
from invariance.methods.selection import find_candidates

N_DIGITS, N_TEST_DIGITS, N_SMALL_DIGITS = 1000, 2000, 100
N_CALTECH, N_CLASSES = 20, 12  # training images per class, and classes
N_WINDOWS = 20  # generated textures per class
HIDDEN = ("onnx", "onnxruntime")
# Modules that are None cannot be imported, as if they were not installed.
PROGRAM = "import sys; sys.modules.update(dict.fromkeys({hidden})); from invariance.__main__ import main; main()"


class Part(NamedTuple):
    """Rows of a data set."""

    data: Dataset
    rows: np.ndarray

    def write(self, folder: Path) -> None:
        """Write the images to one sub-folder per class; files are copied as they are."""
        labels = np.asarray(self.data.labels)
        for row in self.rows:
            place = folder / f"class {labels[row]:03}"
            place.mkdir(parents=True, exist_ok=True)
            if self.data.paths:
                shutil.copy(self.data.paths[row], place / f"{row:05}{self.data.paths[row].suffix}")
            else:
                pixels = np.asarray(self.data.images[row])
                grey = pixels if pixels.dtype == np.uint8 else (255 * pixels).round().astype(np.uint8)
                Image.fromarray(grey).save(place / f"{row:05}.png")


Parts = tuple[Part, Part]


def _uiuc(seed: int) -> Parts:
    data = load_uiuc_textures()
    training, test = draw_uiuc(np.asarray(data.labels), seed)
    return Part(data, training), Part(data, test)


def _flowers(seed: int) -> Parts:
    data, number = load_flowers17(), seed % 3 + 1
    return Part(data, data.splits[f"train{number}"]), Part(data, data.splits[f"test{number}"])


def _mnist(seed: int) -> Parts:
    data, test = load_mnist(), load_mnist("test")
    rng = np.random.default_rng(seed)
    tested = rng.permutation(len(test.images))[:N_TEST_DIGITS]
    return Part(data, rng.permutation(len(data.images))[:N_DIGITS]), Part(test, tested)


def _yale(seed: int) -> Parts:
    data = load_yale()
    training, test = draw_yale(np.asarray(data.labels), seed)
    return Part(data, training), Part(data, test)


def _digits(seed: int) -> Parts:
    data = load_digits()
    order = np.random.default_rng(seed).permutation(len(data.images))
    return Part(data, order[:N_SMALL_DIGITS]), Part(data, order[N_SMALL_DIGITS:])


def _caltech(seed: int) -> Parts:
    data = load_caltech101(choose_classes(N_CLASSES))
    training, test = _draw(np.asarray(data.labels), N_CALTECH, seed)
    return Part(data, training), Part(data, test)


def _textures(seed: int) -> Parts:
    data = make_textures(2 * N_WINDOWS, 64, seed)
    training, test = _draw(np.asarray(data.labels), N_WINDOWS, seed)
    return Part(data, training), Part(data, test)


TASKS: dict[str, Callable[[int], Parts]] = {
    "uiuc": _uiuc, "flowers": _flowers, "mnist": _mnist, "yale": _yale, "digits": _digits, "caltech": _caltech,
    "textures": _textures,
}  # fmt: skip
DEFAULT = ("uiuc", "flowers", "mnist", "yale")


def _draw(labels: np.ndarray, n_each: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """`n_each` rows of every class drawn at random, and as many others."""
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(np.flatnonzero(labels == label)) for label in np.unique(labels)]
    return (
        np.concatenate([order[:n_each] for order in orders]),
        np.concatenate([order[n_each : 2 * n_each] for order in orders]),
    )


def hold_out(training: Part, seed: int) -> Parts:
    """Three quarters of the training part, and the last quarter of every class."""
    labels = np.asarray(training.data.labels)[training.rows]
    rng = np.random.default_rng(seed)
    kept = []
    for label in np.unique(labels):
        order = rng.permutation(np.flatnonzero(labels == label))
        kept.append(order[: -max(1, len(order) // 4)])
    rows = np.sort(np.concatenate(kept))
    others = np.setdiff1d(np.arange(len(labels)), rows)
    return Part(training.data, training.rows[rows]), Part(training.data, training.rows[others])


class Fitted(NamedTuple):
    """Seconds until the first model and the end, and the last event."""

    first: float
    total: float
    done: dict[str, Any]


def fit(command: list[str], folder: Path, environment: dict[str, str]) -> Fitted:
    """Run `invariance fit` and follow its events."""
    arguments = [*command, "fit", "training", "-o", "model.inv", "--events"]
    first, started = 0.0, time.perf_counter()
    with subprocess.Popen(arguments, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            event = json.loads(line)
            if event["event"] == "written" and not first:
                first = time.perf_counter() - started
    assert process.returncode == 0
    return Fitted(first, time.perf_counter() - started, event)


def evaluate(command: list[str], folder: Path, environment: dict[str, str]) -> float:
    """The accuracy of the model on the other part, in per cent."""
    arguments = [*command, "evaluate", "model.inv", "test", "--json"]
    answer = subprocess.run(arguments, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return 100 * json.loads(answer.stdout)["accuracy"]


def measure(name: str, seed: int, is_validation: bool, command: list[str]) -> None:
    """Print a line for a task."""
    training, test = TASKS[name](seed)
    if is_validation:
        training, test = hold_out(training, seed)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        training.write(folder / "training")
        test.write(folder / "test")
        environment = {**os.environ, "INVARIANCE_CACHE": str(folder / "cache")}
        fitted = fit(command, folder, environment)
        accuracy = evaluate(command, folder, environment)
        again = fit(command, folder, environment)
    held_out = fitted.done["held_out"] or {"accuracy": float("nan")}
    print(
        f"{name}, {len(training.rows)} images: first model after {fitted.first:.1f} s, total {fitted.total:.1f} s; "
        f"{fitted.done['method']} ({fitted.done['basis']}), {accuracy:.1f} % of {len(test.rows)} correct, "
        f"estimated {100 * held_out['accuracy']:.1f} %; "
        f"second fit {again.total:.1f} s, {again.total / fitted.total:.2f} of the first ({again.done['method']})",
        flush=True,
    )
    print(f"    {fitted.done['reason']}", flush=True)


def measure_each(name: str, seed: int, is_validation: bool) -> None:
    """Print the accuracy of every method that suits the images of a task, each fitted to all of them."""
    training, test = TASKS[name](seed)
    if is_validation:
        training, test = hold_out(training, seed)
    (images, labels), (others, truth) = (
        ([part.data.images[row] for row in part.rows], np.asarray(part.data.labels)[part.rows])
        for part in (training, test)
    )
    for method in find_candidates(learn_facts(images, labels), None)[0]:
        started = time.perf_counter()
        model = ImageClassifier(method.name, n_jobs=-1, random_state=seed).fit(images, labels)
        accuracy = 100 * float(np.mean(model.predict(others) == truth))
        print(f"{name}, {method.name}: {accuracy:.1f} %, {time.perf_counter() - started:.1f} s", flush=True)


def main() -> None:
    """Measure the tasks one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--validation", action="store_true")
    parser.add_argument("--without-encoders", action="store_true")
    parser.add_argument("--each-method", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    settings = parser.parse_args()
    if unknown := set(settings.names) - set(TASKS):
        parser.error(f"NAMES must be of {', '.join(TASKS)}; got {', '.join(sorted(unknown))}.")
    hidden = repr(HIDDEN) if settings.without_encoders else "()"
    command = [sys.executable, "-c", PROGRAM.format(hidden=hidden)]
    for name in settings.names or DEFAULT:
        if settings.each_method:
            measure_each(name, settings.seed, settings.validation)
        else:
            measure(name, settings.seed, settings.validation, command)


if __name__ == "__main__":
    main()
