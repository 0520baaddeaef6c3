"""`invariance predict`: classify images and write a table."""

import csv
import io
import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, TextIO

import typer

from invariance.cli.console import open_output, say
from invariance.cli.options import (
    JobsOption,
    JsonOption,
    ModelArgument,
    ScaleOption,
    StrictOption,
    list_files,
    list_skipped,
    load_classifier,
    report_skipped,
)
from invariance.cli.output import COLUMNS, TABLE, OverwriteOption, claim_file

if TYPE_CHECKING:
    import numpy as np

    from invariance.methods import ImageClassifier

N_TOGETHER = 64  # images in memory at a time
DIGITS = 6  # of probabilities
EXAMPLES = """Examples:

  invariance predict leaves.inv photo.jpg

  invariance predict leaves.inv new/ more/ -o labels.csv

  invariance predict leaves.inv new/ --strict --json"""


class Prediction(NamedTuple):
    """An image's file, its most probable class, and the probability of every class."""

    path: Path
    label: str
    probabilities: list[float]


def run(
    model: ModelArgument,
    sources: Annotated[list[Path], typer.Argument(help="Images, or folders, including their sub-folders.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The table, a file ending in .csv. Default: print it.")
    ] = None,
    overwrite: OverwriteOption = False,
    scale: ScaleOption = None,
    strict: StrictOption = False,
    as_json: JsonOption = False,
    jobs: JobsOption = -1,
) -> None:
    """Classify images; the table has the path, the label, and the probability of each class.

    The column of a class called path or label is called class:path or class:label.
    """
    path = None if output is None else claim_file(output, TABLE, overwrite, [model, *sources])
    skipped: list[tuple[Path, str]] = []
    files = list_files(sources, skipped, recursive=True, strict=strict)
    classifier = load_classifier(model, scale)
    classes = [str(name) for name in classifier.classes_]
    started = time.perf_counter()
    predicted: Iterable[Prediction] = _classify(files, classifier, classes, strict, skipped)
    if as_json:
        predicted = list(predicted)
    # With --strict nothing is printed until all images have been read.
    if path is not None or not as_json:
        with _table(path, waits=strict) as table:
            counts = _write(table, predicted, classes)
    seconds = time.perf_counter() - started
    report_skipped(skipped)
    if as_json:
        predictions = [
            {"path": str(file), "label": label, "probabilities": dict(zip(classes, values, strict=True))}
            for file, label, values in predicted
        ]
        say(json.dumps({"predictions": predictions, "skipped": list_skipped(skipped)}, indent=2))
    elif path is not None:
        n = counts.total()
        listed = ", ".join(f"{label} {count}" for label, count in counts.most_common())
        say(f"Classified {n} images in {seconds:.1f} s ({1000 * seconds / n:.1f} ms per image): {listed}.")
        say(f"Table: {path.resolve()}")


def _classify(
    files: list[Path],
    classifier: "ImageClassifier",
    classes: list[str],
    strict: bool,
    skipped: list[tuple[Path, str]],
) -> Iterator[Prediction]:
    """Classify block by block; unreadable files are appended to `skipped`, or an error if `strict` or if all are."""
    from invariance._core.progress import track
    from invariance.images import ImageError, comparing_once

    n_read, n_left_out = 0, len(skipped)
    blocks = [files[start : start + N_TOGETHER] for start in range(0, len(files), N_TOGETHER)]
    for block in track(blocks, f"classifying {len(files)} images"):
        paths, images = _read(block, classifier.max_side, strict, skipped)
        if not paths:
            continue
        with comparing_once() if n_read else nullcontext():  # one warning of another range of intensities
            probabilities = classifier.predict_proba(images)
        n_read += len(paths)
        for path, values in zip(paths, probabilities, strict=True):
            yield Prediction(path, classes[values.argmax()], [round(float(value), DIGITS) for value in values])
    if n_read == 0:
        more = f" Neither could {len(files) - 1} more." if len(files) > 1 else ""
        raise ImageError(f"no image could be read: {skipped[n_left_out][1]}{more}")


def _read(
    files: list[Path], max_side: int, strict: bool, skipped: list[tuple[Path, str]]
) -> "tuple[list[Path], list[np.ndarray]]":
    from invariance.images import ImageError, read_image, shrink

    paths, images = [], []
    for file in files:
        try:
            images.append(shrink(read_image(file), max_side))
            paths.append(file)
        except ImageError as error:
            if strict:
                raise
            skipped.append((file, str(error)))
    return paths, images


@contextmanager
def _table(path: Path | None, waits: bool) -> Iterator[TextIO]:
    """Open the table: a file that appears only when it is complete, or standard output, at the end if `waits`.

    The encoding of a file is UTF-8; file names that are not valid text are written as their bytes.
    """
    from invariance._core.files import atomic_path

    if path is not None:
        with (
            atomic_path(path) as neighbour,
            neighbour.open("w", encoding="utf-8", errors="surrogateescape", newline="") as file,
        ):
            yield file
        return
    table = open_output()
    if not waits:
        yield table
        return
    buffer = io.StringIO()
    yield buffer
    table.write(buffer.getvalue())


def _write(table: TextIO, predicted: Iterable[Prediction], classes: list[str]) -> Counter[str]:
    """Write a header and one row per prediction; return how often each label was predicted."""
    writer = csv.writer(table, lineterminator="\n")
    counts: Counter[str] = Counter()
    for path, label, probabilities in predicted:
        if not counts:
            writer.writerow([*COLUMNS, *_class_columns(classes)])
        writer.writerow([path, label, *probabilities])
        counts[label] += 1
    return counts


def _class_columns(classes: list[str]) -> list[str]:
    """Return the names of the columns of classes: their own, with a prefix where the table has such a column."""

    def column(name: str) -> str:
        is_taken = name in COLUMNS
        while is_taken:
            name = f"class:{name}"
            is_taken = name in classes
        return name

    return [column(name) for name in classes]
