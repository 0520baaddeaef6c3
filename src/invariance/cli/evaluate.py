"""`invariance evaluate`: the accuracy of a model on labelled images, and what it confuses."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from invariance.cli.classifying import Classified, iterate_blocks
from invariance.cli.cluster import SchedulerOption, WorkersOption, open_client
from invariance.cli.console import percent, print_table, say
from invariance.cli.options import (
    FolderArgument,
    JobsOption,
    JsonOption,
    ModelArgument,
    ScaleOption,
    StrictOption,
    list_skipped,
    load_classifier,
    note_deeper,
    report_skipped,
)

if TYPE_CHECKING:
    import numpy as np

    from invariance.methods import Evaluation, ImageClassifier
    from invariance.methods.evaluation import ClassFigures

N_TOGETHER = 64  # images in memory at a time
MAX_CLASSES_SHOWN = 20  # in a confusion matrix; of more classes, the most frequent confusions are listed
MAX_CONFUSIONS = 20
MAX_MISTAKES = 20  # files that are named
SHORT = 4  # characters of names that fit above a column of counts; longer ones are numbered
EXAMPLES = """Examples:

  invariance evaluate leaves.inv other-leaves/

  invariance evaluate leaves.inv other-leaves/ --json

  invariance evaluate leaves.inv millions/ --workers 4"""


def run(
    model: ModelArgument,
    folder: FolderArgument,
    scale: ScaleOption = None,
    strict: StrictOption = False,
    as_json: JsonOption = False,
    workers: WorkersOption = 1,
    scheduler: SchedulerOption = None,
    jobs: JobsOption = -1,
) -> None:
    """Measure the accuracy of a model on labelled images that it was not trained on."""
    from invariance.images.file_list import FileList
    from invariance.images.folders import list_class_folder
    from invariance.volumes.classification import Settings

    classifier = load_classifier(model, scale)
    _check_classes(folder, classifier)
    files = FileList(N_TOGETHER)
    counts, skipped = list_class_folder(folder, files.add, on_error="raise" if strict else "skip", min_classes=1)
    settings = Settings(None if scale is None else str(scale), strict)
    with open_client(workers, scheduler) as client:
        blocks = iterate_blocks(files, classifier, settings, model, client, None, skipped)
        evaluation, mistakes = _evaluate(blocks, folder, counts, classifier.classes_)
    report_skipped(skipped)
    if as_json:
        found = {"mistakes": [mistake._asdict() for mistake in mistakes], "skipped": list_skipped(skipped)}
        say(json.dumps(_as_json(evaluation) | found, indent=2))
        return
    _print_summary(evaluation)
    _print_classes(_figures_of_classes(evaluation))
    _print_confusions(evaluation)
    _print_mistakes(mistakes)


class Mistake(NamedTuple):
    """A file whose predicted class is not that of its folder."""

    file: str
    true: str
    predicted: str
    probability: float


def _evaluate(
    blocks: Iterator[Classified], folder: Path, counts: dict[str, int], classes: "np.ndarray"
) -> "tuple[Evaluation, list[Mistake]]":
    """Compare predictions with the names of class folders, which have so many files each; no image is kept.

    Returns also the mistakes with the largest probabilities, the largest first.
    """
    import numpy as np

    from invariance.images.folders import check_none_empty
    from invariance.methods import Evaluation

    code_of = {str(name): code for code, name in enumerate(classes)}
    truth = np.repeat([code_of[name] for name in counts], list(counts.values()))
    codes, probabilities = [np.empty(0, int)], [np.empty((0, len(classes)))]
    n_before, seconds, deeper, n_deeper = 0, 0.0, None, 0
    mistakes: list[Mistake] = []
    for files, found in blocks:
        codes.append(truth[n_before + np.array(found.places, int)])
        mistakes += [
            Mistake(str(files[place]), str(classes[true]), str(classes[code]), max(shares))
            for place, true, code, shares in zip(found.places, codes[-1], found.codes, found.probabilities, strict=True)
            if code != true
        ]
        mistakes = sorted(mistakes, key=lambda mistake: -mistake.probability)[:MAX_MISTAKES]
        probabilities.append(np.array(found.probabilities).reshape(-1, len(classes)))
        seconds += found.seconds
        in_depth = [files[place] for place in found.places if files[place].parent.parent != folder]
        deeper, n_deeper = deeper or next(iter(in_depth), None), n_deeper + len(in_depth)
        n_before += len(files)
    true = np.concatenate(codes)
    check_none_empty(folder, sorted(name for name in counts if code_of[name] not in true))
    note_deeper(n_deeper, len(true), deeper)
    return Evaluation([], true, np.concatenate(probabilities), classes, seconds), mistakes


def _print_mistakes(mistakes: list[Mistake]) -> None:
    rows = [[file, true, predicted, percent(probability)] for file, true, predicted, probability in mistakes]
    if rows:
        title = "Images classified wrongly" + (", the most certain ones" if len(rows) == MAX_MISTAKES else "")
        print_table(title, ["image", "class", "predicted", "probability"], rows)


def _check_classes(folder: Path, classifier: "ImageClassifier") -> None:
    """Refuse classes that the model does not know, before any image is read."""
    from invariance.methods.evaluation import list_names

    known = [str(name) for name in classifier.classes_]
    found = [path.name for path in folder.iterdir() if path.is_dir()] if folder.is_dir() else []
    unknown = sorted(name for name in found if name not in known and not name.startswith("."))
    if unknown:
        raise ValueError(
            f"folder '{folder}' has {list_names(unknown)}, which the model was not trained on; "
            f"it knows {list_names(known)}. "
            f"Rename or remove {'it' if len(unknown) == 1 else 'them'}, or fit a model with all classes."
        )


def _figures_of_classes(evaluation: "Evaluation") -> "list[ClassFigures]":
    """The figures of classes that images are of or were predicted as."""
    return [figures for figures in evaluation.by_class if figures.n_images or figures.n_predicted]


def _confusions(evaluation: "Evaluation") -> "list[tuple[str, str, int]]":
    """Names of true and predicted classes that differ, and how often, the most frequent first."""
    names = [str(name) for name in evaluation.classes]
    return [(names[true], names[predicted], count) for true, predicted, count in evaluation.confusions]


def _as_json(evaluation: "Evaluation") -> dict[str, Any]:
    return {
        "n_images": len(evaluation.codes),
        "accuracy": evaluation.accuracy,
        "interval": list(evaluation.interval),
        "log_loss": evaluation.log_loss,
        "calibration_error": evaluation.reliability.error,
        "seconds_per_image": evaluation.image_seconds,
        "classes": [figures._asdict() for figures in _figures_of_classes(evaluation)],
        "confusion": {"classes": [str(name) for name in evaluation.classes], "counts": evaluation.confusion.tolist()},
    }


def _print_summary(evaluation: "Evaluation") -> None:
    low, high = evaluation.interval
    n_correct, n_images = int(evaluation.is_right.sum()), len(evaluation.codes)
    say(f"Accuracy:          {evaluation.accuracy:.1%}, {n_correct} of {n_images} images")
    say(f"95 % interval:     {low:.1%} to {high:.1%}, for images like these")
    say(f"Log loss:          {evaluation.log_loss:.3f} (equal probabilities: {math.log(len(evaluation.classes)):.3f})")
    say(f"Calibration error: {evaluation.reliability.error:.1%} between probability and accuracy")
    say(f"Time:              {1000 * evaluation.image_seconds:.1f} ms per image")


def _print_classes(figures: "list[ClassFigures]") -> None:
    rows = [
        [name, str(n_images), percent(recall), str(n_predicted), percent(precision)]
        for name, n_images, n_predicted, recall, precision in figures
    ]
    print_table("Classes", ["class", "images", "recall", "predicted", "precision"], rows)


def _print_confusions(evaluation: "Evaluation") -> None:
    if len(evaluation.classes) <= MAX_CLASSES_SHOWN:
        names = [str(name) for name in evaluation.classes]
        columns = [str(place) for place in range(1, len(names) + 1)]
        if max(map(len, names)) <= SHORT:
            rows_named = columns = names
        else:
            rows_named = [f"{number} {name}" for number, name in zip(columns, names, strict=True)]
        rows = [
            [name, *(str(count) if count else "." for count in counts)]
            for name, counts in zip(rows_named, evaluation.confusion, strict=True)
            if counts.sum()
        ]
        print_table("True class (rows) by predicted class (columns)", ["", *columns], rows)
        return
    listed = [[true, predicted, str(count)] for true, predicted, count in _confusions(evaluation)[:MAX_CONFUSIONS]]
    if listed:
        print_table("Most frequent confusions", ["class", "predicted", "images"], listed)
