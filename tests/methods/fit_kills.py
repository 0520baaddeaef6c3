"""Processes that run `invariance fit` with a cache and are killed at random moments: the cache must never be wrong.

Usage, from the repository: python -m tests.methods.fit_kills 200

After every few kills, `fit` runs to its end with the cache that is left and must find the model that it finds without
one, and every array in the cache must be that of an undisturbed run; of times that were measured, which differ from
run to run, only the place is compared.
"""

import multiprocessing
import os
import sys
import tempfile
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from invariance._core.array_store import FILE_NAME, ArrayStore
from invariance.datasets import make_glyphs

N_PER_CLASS = 4
N_BETWEEN = 10  # kills between two looks at the cache
MAX_BYTES = 2**31


class Task(NamedTuple):
    """A folder of images of a size, and options of `fit`."""

    name: str
    side: int
    options: tuple[str, ...]


# The first keeps trials, the second descriptions and words.
TASKS = Task("trials", 28, ("--max-trials", "2")), Task("descriptions", 64, ("--method", "objects"))


class Undisturbed(NamedTuple):
    """What runs without kills have: the predictions by task, the arrays kept, and which values are no times."""

    predictions: dict[str, np.ndarray]
    arrays: dict[str, np.ndarray]
    is_fixed: dict[str, np.ndarray]


def write_folder(folder: Path, side: int) -> None:
    """Write a few drawings, one sub-folder per class."""
    glyphs = make_glyphs(N_PER_CLASS, side, random_state=0)
    for number, (image, label) in enumerate(zip(glyphs.images, glyphs.labels, strict=True)):
        place = folder / f"class {label}"
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray((255 * image).astype(np.uint8)).save(place / f"{number:03}.png")


def fit(scratch: Path, task: Task, cache: str) -> None:
    """Run the command in the present process, and end it."""
    from invariance.cli import main

    os.environ["INVARIANCE_CACHE"] = cache
    model = str(scratch / f"{task.name}.inv")
    sys.argv = ["invariance", "fit", str(scratch / task.name), "-o", model, "--overwrite", "--jobs", "1", *task.options]
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        code = main()
    os._exit(code)


def predict(scratch: Path, task: Task) -> np.ndarray:
    """The probabilities of the images that the model of a task was trained on."""
    from invariance.methods import read_images
    from invariance.models import load

    return load(scratch / f"{task.name}.inv").predict_proba(read_images(scratch / task.name, True, 2).images)


def read_cache(cache: Path) -> dict[str, np.ndarray]:
    """All arrays that a cache gives."""
    store = ArrayStore(cache, MAX_BYTES)
    keys = [path.stem for path in cache.glob("??/*.npy") if FILE_NAME.fullmatch(path.name)]
    found = {key: stored.array for key in keys if (stored := store.get(key)) is not None}
    store.close()
    return found


def run_undisturbed(context, scratch: Path) -> Undisturbed:
    """Two runs with caches of their own, and one without."""
    caches = [scratch / name for name in ("first", "second")]
    for cache in ("0", *map(str, caches)):
        predictions = {task.name: run_to_its_end(context, scratch, task, cache) for task in TASKS}
    first, second = map(read_cache, caches)
    known = {key: array for key, array in first.items() if key in second and array.shape == second[key].shape}
    assert known
    return Undisturbed(predictions, known, {key: array == second[key] for key, array in known.items()})


def run_to_its_end(context, scratch: Path, task: Task, cache: str) -> np.ndarray:
    """The predictions of the model after a run that is not killed."""
    process = context.Process(target=fit, args=(scratch, task, cache))
    process.start()
    process.join()
    assert process.exitcode == 0
    return predict(scratch, task)


def count_wrong(expected: Undisturbed, cache: Path) -> tuple[int, int]:
    """How many arrays of a cache are known, and how many of them are wrong.

    A model is kept if fitting it took long, which differs from run to run: those that are not known are compared by
    their predictions, after the next run.
    """
    found = {key: array for key, array in read_cache(cache).items() if key in expected.arrays}
    n_wrong = 0
    for key, array in found.items():
        right, is_fixed = expected.arrays[key], expected.is_fixed[key]
        is_alike = array.shape == right.shape and array.dtype == right.dtype
        n_wrong += not (is_alike and np.array_equal(array[is_fixed], right[is_fixed]))
    return len(found), n_wrong


def kill_fits(scratch: Path, n_kills: int, seed: int) -> tuple[int, int, int]:
    """Kill fits; the numbers of arrays read afterwards, of wrong ones, and of models that differ."""
    context, rng = multiprocessing.get_context("forkserver"), np.random.default_rng(seed)
    context.set_forkserver_preload(["invariance.cli.fit", "invariance.methods.selection", "invariance.models"])
    for task in TASKS:
        write_folder(scratch / task.name, task.side)
    expected = run_undisturbed(context, scratch)
    started = time.perf_counter()
    for task in TASKS:
        run_to_its_end(context, scratch, task, str(scratch / "timed"))
    whole = (time.perf_counter() - started) / len(TASKS)
    n_read = n_wrong = n_other = 0
    for number in range(n_kills):
        if number % N_BETWEEN == 0:  # from an empty cache again, which fills while processes are killed
            cache = scratch / f"cache {number}"
        process = context.Process(target=fit, args=(scratch, TASKS[number % len(TASKS)], str(cache)))
        process.start()
        time.sleep(rng.uniform(0, whole))
        process.kill()
        process.join()
        if number % N_BETWEEN == N_BETWEEN - 1 or number == n_kills - 1:
            read, wrong = count_wrong(expected, cache)
            n_read, n_wrong = n_read + read, n_wrong + wrong
            for task in TASKS:
                found = run_to_its_end(context, scratch, task, str(cache))
                n_other += not np.array_equal(found, expected.predictions[task.name])
    return n_read, n_wrong, n_other


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        n_kills = int(sys.argv[1]) if len(sys.argv) > 1 else 200
        n_read, n_wrong, n_other = kill_fits(Path(place), n_kills, seed=0)
        print(f"{n_kills} kills: {n_read:,} arrays read, {n_wrong} wrong; {n_other} models differ")
    sys.exit(n_wrong + n_other > 0)
