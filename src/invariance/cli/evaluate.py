"""`invariance evaluate`: how often a model is right about labelled images, and what it confuses."""

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from invariance.cli.folder_options import (
    FolderArgument,
    JobsOption,
    JsonOption,
    ModelArgument,
    StrictOption,
    list_skipped,
    load_classifier,
    read_folder,
)

if TYPE_CHECKING:
    from invariance.methods import ImageClassifier
    from invariance.report.answers import Answers

MAX_CLASSES_SHOWN = 20  # in a table of confusions; of more, the most frequent confusions are listed
MAX_CONFUSIONS = 20
SHORT = 4  # characters of names that can stand above a column of counts; longer ones are numbered
PIPE_WIDTH = 200  # columns of a table that no terminal limits
EXAMPLES = """Examples:

  invariance evaluate leaves.inv other-leaves/

  invariance evaluate leaves.inv other-leaves/ --json"""


class ClassFigures(NamedTuple):
    """Of one class: its images, how many were given it, and the shares of either that are right; None of nothing."""

    name: str
    n_images: int
    n_given: int
    recall: float | None
    precision: float | None


def run(
    model: ModelArgument,
    folder: FolderArgument,
    strict: StrictOption = False,
    as_json: JsonOption = False,
    jobs: JobsOption = -1,
) -> None:
    """Measure how often a model is right, on labelled images that it has not learned from."""
    from invariance.report.answers import ask

    classifier = load_classifier(model, jobs)
    _check_classes(folder, classifier)
    data = read_folder(folder, strict, min_classes=1)
    answers = ask(classifier, data.images, data.labels)
    if as_json:
        print(json.dumps(_as_json(answers) | {"skipped": list_skipped(data.skipped)}, indent=2))
        return
    _print_summary(answers)
    _print_classes(_figures_of_classes(answers))
    _print_confusions(answers)


def _check_classes(folder: Path, classifier: "ImageClassifier") -> None:
    """Refuse classes that the model has not learned, before any image is read."""
    from invariance.report.answers import list_names

    known = [str(name) for name in classifier.classes_]
    found = [path.name for path in folder.iterdir() if path.is_dir()] if folder.is_dir() else []
    unknown = sorted(name for name in found if name not in known and not name.startswith("."))
    if unknown:
        raise ValueError(
            f"folder '{folder}' has {list_names(unknown)}, which the model has not learned; "
            f"it knows {list_names(known)}. "
            f"Rename or remove {'it' if len(unknown) == 1 else 'them'}, or fit a model with all classes."
        )


def _figures_of_classes(answers: "Answers") -> list[ClassFigures]:
    """The figures of the classes that images are of, or were given."""
    confusion = answers.confusion
    n_images, n_given, n_right = confusion.sum(axis=1), confusion.sum(axis=0), confusion.diagonal()
    return [
        ClassFigures(str(name), int(true), int(given), _share(right, true), _share(right, given))
        for name, true, given, right in zip(answers.classes, n_images, n_given, n_right, strict=True)
        if true or given
    ]


def _share(part: int, whole: int) -> float | None:
    return float(part / whole) if whole else None


def _log_loss(answers: "Answers") -> float:
    from sklearn.metrics import log_loss

    return float(log_loss(answers.codes, answers.probabilities, labels=range(len(answers.classes))))


def _calibration_error(answers: "Answers") -> float:
    from invariance.report.answers import measure_reliability

    return measure_reliability(answers.confidence, answers.is_right).error


def _confusions(answers: "Answers") -> "list[tuple[str, str, int]]":
    """Names of true and given classes that differ, and how often, the most frequent first."""
    names = [str(name) for name in answers.classes]
    return [(names[true], names[given], count) for true, given, count in answers.confusions]


def _as_json(answers: "Answers") -> dict[str, Any]:
    return {
        "n_images": len(answers.codes),
        "accuracy": answers.accuracy,
        "interval": list(answers.interval),
        "log_loss": _log_loss(answers),
        "calibration_error": _calibration_error(answers),
        "seconds_per_image": answers.image_seconds,
        "classes": [figures._asdict() for figures in _figures_of_classes(answers)],
        "confusion": {"classes": [str(name) for name in answers.classes], "counts": answers.confusion.tolist()},
    }


def _print_summary(answers: "Answers") -> None:
    low, high = answers.interval
    n_right, n_images = int(answers.is_right.sum()), len(answers.codes)
    print(f"Right:             {answers.accuracy:.1%}, {n_right} of {n_images} images")
    print(f"95 % interval:     {low:.1%} to {high:.1%}, for all images such as these")
    print(
        f"Log loss:          {_log_loss(answers):.3f} (equal probabilities have {math.log(len(answers.classes)):.3f})"
    )
    print(f"Calibration error: {_calibration_error(answers):.1%} between probability and share right")
    print(f"Time:              {1000 * answers.image_seconds:.1f} ms per image")


def _print_classes(figures: list[ClassFigures]) -> None:
    rows = [
        [name, str(n_images), _percent(recall), str(n_given), _percent(precision)]
        for name, n_images, n_given, recall, precision in figures
    ]
    _print_table("Classes", ["class", "images", "of these right", "given", "of these right"], rows)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _print_confusions(answers: "Answers") -> None:
    if len(answers.classes) <= MAX_CLASSES_SHOWN:
        names = [str(name) for name in answers.classes]
        columns = [str(place) for place in range(1, len(names) + 1)]
        if max(map(len, names)) <= SHORT:
            rows_named = columns = names
        else:
            rows_named = [f"{number} {name}" for number, name in zip(columns, names, strict=True)]
        rows = [
            [name, *(str(count) if count else "." for count in counts)]
            for name, counts in zip(rows_named, answers.confusion, strict=True)
            if counts.sum()
        ]
        _print_table("Images of a class (rows) by the class given to them (columns)", ["", *columns], rows)
        return
    listed = [[true, given, str(count)] for true, given, count in _confusions(answers)[:MAX_CONFUSIONS]]
    if listed:
        _print_table("Most frequent confusions", ["class", "taken for", "images"], listed)


def _print_table(title: str, columns: list[str], rows: list[list[str]]) -> None:
    """A table whose first column is text, and whose others are numbers."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=PIPE_WIDTH)
    table = Table(box=None, pad_edge=False)
    for place, column in enumerate(columns):
        table.add_column(Text(column), justify="right" if place else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    console.print()
    console.print(Text(title, style="bold"))
    console.print(table)
