"""Damaged images through every reader and, in folders, through every command that reads images.

A reader either refuses a file with an `ImageError` or returns finite values, the same as every other reader. A command
skips or names what it cannot read.
"""

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from campaign.commands import MISTAKE, OK, run_command
from campaign.damage import damaged_image
from campaign.part import Case, Findings, Part, case_rng
from campaign.world import FIT, FIT_PIXELS, make_world

N_PER_COMMAND = 100  # after so many images, a command reads the last ones
N_PER_FOLDER = 50
NAME = "images"


def run(case: Case) -> Findings:
    """Damage one image and read it with every reader; now and then let a command read many."""
    findings = Findings()
    what, path = _write(case.rng, case.folder / "image")
    try:
        kinds = _read_in_all_ways(path)
    except Exception as error:
        error.add_note(f"damaged image: {what}")
        raise
    for reader, kind in kinds.items():
        findings.counts[f"{reader} {kind}"] += 1
    if _has_command(case.number):
        names = list(COMMANDS)
        name = names[case.number // N_PER_COMMAND % len(names)]
        findings.add(*_run_on_many(name, case))
    return findings


def _has_command(number: int) -> bool:
    return number % N_PER_COMMAND == N_PER_COMMAND - 1


def _seconds(number: int) -> float:
    """A file of a few kilobytes is read in milliseconds; the commands have their own limits."""
    return 3600.0 if _has_command(number) or number < 0 else 60.0


def _read_in_all_ways(path: Path) -> dict[str, str]:
    """Return whether each reader read or refused the file; raise what no reader may do."""
    from invariance.images import read_image, read_mask, read_mask_stack, read_stack

    readers: dict[str, Callable[[Path], Any]] = {
        "read_image": read_image,
        "read_stack": read_stack,
        "open_stack": _read_lazily,
        "read_mask": read_mask,
        "read_mask_stack": read_mask_stack,
    }
    found = {name: _read(partial(reader, path)) for name, reader in readers.items()}
    for name in ("read_image", "read_stack", "open_stack"):
        values = found[name]
        if values is not None and not (values.dtype == np.float32 and ((values >= 0) & (values <= 1)).all()):
            raise AssertionError(f"{name} returned {values.dtype} from {values.min()} to {values.max()}")
    for name in ("read_mask", "read_mask_stack"):
        values = found[name]
        if values is not None and values.dtype.kind not in "iu":
            raise AssertionError(f"{name} returned {values.dtype}")
    _check_agreement(found)
    return {name: "refused" if values is None else "read" for name, values in found.items()}


def _check_agreement(found: dict[str, np.ndarray | None]) -> None:
    """The same file gives the same values, whoever reads it."""
    image, stack, lazy = found["read_image"], found["read_stack"], found["open_stack"]
    if image is not None and (stack is None or not np.array_equal(image, stack[0])):
        raise AssertionError("read_image read what read_stack refused, or read it otherwise")
    if stack is not None and lazy is not None and not np.array_equal(stack, lazy):
        raise AssertionError("open_stack and read_stack read different values")
    if (stack is None) != (lazy is None):
        raise AssertionError(f"open_stack {'refused' if lazy is None else 'read'} what read_stack did not")


def _read(read: Callable[[], np.ndarray]) -> np.ndarray | None:
    """Return what a reader returns, or None if it refuses the file."""
    from invariance.images import ImageError

    try:
        return read()
    except (ImageError, MemoryError) as error:
        if "\n" in str(error):
            raise AssertionError(f"an error of several lines: {error}") from error
        return None


def _read_lazily(path: Path) -> np.ndarray:
    from invariance.images import open_stack

    return np.stack(list(open_stack(path)))


def _write(rng: np.random.Generator, stem: Path) -> tuple[str, Path]:
    what, suffix, content = damaged_image(rng)
    path = stem.with_name(stem.name + suffix)
    path.write_bytes(content)
    return what, path


# ---------------------------------------------------------------- commands


def _run_on_many(name: str, case: Case) -> tuple[str, list[str]]:
    """Run a command on the damaged images of this case and those before."""
    world = case.folder / "world"
    shutil.copytree(case.inputs / "world", world)
    damaged = case.folder / "damaged"
    damaged.mkdir()
    numbers = range(case.number - N_PER_FOLDER + 1, case.number + 1)
    files = [_write(case_rng(NAME, case.seed, number), damaged / f"{number}")[1] for number in numbers]
    return f"{name} in bulk", COMMANDS[name](world, files)


def _label(world: Path, files: list[Path]) -> None:
    """Put the files among the labelled images."""
    for number, file in enumerate(files):
        shutil.copy(file, world / "photos" / ("level", "upright")[number % 2] / file.name)


def _predict(world: Path, files: list[Path]) -> list[str]:
    """Every image is predicted or skipped, and a whole one among them is predicted."""
    good = files[0].parent / "good.png"
    shutil.copy(world / "photos" / "level" / "0.png", good)
    ended = run_command(["predict", "m.inv", str(good.parent), "--json"], world)
    faults = ended.faults([OK])
    if not faults:
        answer = json.loads(ended.out)
        predicted, skipped = ({entry["path"] for entry in answer[name]} for name in ("predictions", "skipped"))
        if str(good) not in predicted:
            faults.append(ended.blamed("the whole image is not predicted"))
        if predicted | skipped != {str(path) for path in (*files, good)} or predicted & skipped:
            faults.append(
                ended.blamed(f"{len(predicted)} predicted, {len(skipped)} skipped of {len(files) + 1} images")
            )
    return faults


def _predict_strict(world: Path, files: list[Path]) -> list[str]:
    return run_command(["predict", "m.inv", *map(str, files), "--strict", "--json"], world).faults()


def _evaluate(world: Path, files: list[Path]) -> list[str]:
    _label(world, files)
    return run_command(["evaluate", "m.inv", "photos"], world).faults([OK])


def _fit(world: Path, files: list[Path]) -> list[str]:
    _label(world, files)
    return run_command(["fit", "photos", "-o", "new.inv", *FIT], world).faults()


def _compare(world: Path, files: list[Path]) -> list[str]:
    _label(world, files)
    return run_command(["compare", "photos", "--methods", "codebook,tangent", "--budget", "3"], world).faults()


def _advise(world: Path, files: list[Path]) -> list[str]:
    _label(world, files)
    return run_command(["advise", "photos", "--budget", "2"], world).faults()


def _explain(world: Path, files: list[Path]) -> list[str]:
    _label(world, files)
    faults = run_command(["explain", "m.inv", "-o", "images.html", "--data", "photos"], world).faults()
    for file in files[:5]:
        shutil.copy(file, world / "cells" / f"odd-{file.name}")
    return faults + run_command(["explain", "p.inv", "-o", "pixels.html", "--data", "cells"], world).faults()


def _segment(world: Path, files: list[Path]) -> list[str]:
    """All at once, which one bad file refuses; then each by itself."""
    faults = run_command(["segment", "p.inv", *map(str, files), "-o", "all"], world).faults()
    if (world / "all").exists() and not any((world / "all").iterdir()):
        faults.append("segment left an empty folder")
    for file in files[:10]:
        ended = run_command(["segment", "p.inv", str(file), "-o", file.stem, "--probabilities", "--overlay"], world)
        faults += ended.faults()
        if ended.code == MISTAKE and (world / file.stem).exists():
            faults.append(ended.blamed(f"left '{file.stem}' behind"))
    return faults


def _fit_pixels(world: Path, files: list[Path]) -> list[str]:
    """A damaged image with a whole mask, and a whole image with a damaged mask."""
    faults = []
    for number, file in enumerate(files[:10]):
        pair = [str(file), "masks/0.png"] if number % 2 else ["cells/0.png", str(file)]
        faults += run_command(["fit-pixels", *pair, "-o", "new.inv", *FIT_PIXELS], world).faults()
    return faults


def _advise_pixels(world: Path, files: list[Path]) -> list[str]:
    return [
        fault
        for pair in _damaged_pairs(files)
        for fault in run_command(["advise-pixels", *pair, "--pixels", "200", "--patch-size", "5"], world).faults()
    ]


def _evaluate_pixels(world: Path, files: list[Path]) -> list[str]:
    return [
        fault
        for pair in _damaged_pairs(files)
        for fault in run_command(["evaluate-pixels", "p.inv", *pair, "--boundary", "1"], world).faults()
    ]


def _damaged_pairs(files: list[Path]) -> list[tuple[str, str]]:
    """A damaged image with a whole mask, and a whole image with a damaged mask."""
    return [(str(files[0]), "masks/0.png"), ("cells/0.png", str(files[-1]))]


def _transformations(world: Path, files: list[Path]) -> list[str]:
    return [
        fault
        for file in files[:10]
        for fault in run_command(["transformations", str(file), "-o", "orbit.png", "--size", "16"], world).faults()
    ]


COMMANDS: dict[str, Callable[[Path, list[Path]], list[str]]] = {
    "predict": _predict,
    "predict --strict": _predict_strict,
    "evaluate": _evaluate,
    "fit": _fit,
    "segment": _segment,
    "fit-pixels": _fit_pixels,
    "transformations": _transformations,
    "compare": _compare,
    "explain": _explain,
    "advise": _advise,
    "advise-pixels": _advise_pixels,
    "evaluate-pixels": _evaluate_pixels,
}

PART = Part(NAME, 10_000, _seconds, make_world, run, n_together=50)
