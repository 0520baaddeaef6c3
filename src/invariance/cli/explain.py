"""`invariance explain`: a report about a model and its accuracy on labelled images."""

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from invariance.cli.console import say
from invariance.cli.options import (
    MAX_SEED,
    JobsOption,
    JsonOption,
    StrictOption,
    list_skipped,
    read_folder,
)
from invariance.cli.output import REPORT, OverwriteOption, claim_file

if TYPE_CHECKING:
    import numpy as np

    from invariance.methods import Evaluation, ImageFolder

EXAMPLES = """Examples:

  invariance explain leaves.inv -o report.html

  invariance explain leaves.inv --data other-leaves/ -o report.html

  invariance explain leaves.inv --data other-leaves/ -o report.html --json

  invariance explain membranes.inv --data sections/ -o report.html"""


def run(
    model: Annotated[Path, typer.Argument(help="A model made by `invariance fit` or `invariance fit-pixels`.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The report, a file ending in .html.")],
    overwrite: OverwriteOption = False,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Labelled images to evaluate the model on, FOLDER/<class>/<image>, preferably not those it was "
            "trained on; for a model of `fit-pixels`, a folder of images."
        ),
    ] = None,
    strict: StrictOption = False,
    as_json: JsonOption = False,
    jobs: JobsOption = -1,
    seed: Annotated[int, typer.Option(min=0, max=MAX_SEED, help="Seed that determines which images are shown.")] = 0,
) -> None:
    """Write a report about a model: its accuracy, what it ignores, what it learned, and how to reproduce it."""
    path = claim_file(output, REPORT, overwrite, [model, data])

    from invariance import models
    from invariance.methods import ImageClassifier, evaluate
    from invariance.report.explanation import explain, explain_evaluated

    fitted, described = models.load(model), models.describe(model)
    settings = {
        "command": _command(model, output, data, seed),
        "model file": f"{model.name}, saved by invariance {described['library']}, sha256 {described['sha256']}",
    }
    folder: ImageFolder | None = None
    evaluation: Evaluation | None = None
    if not isinstance(fitted, ImageClassifier):
        images = None if data is None else _read_images(data)
        report = explain(fitted, images, settings=settings, random_state=seed)
    else:
        if data is not None:
            folder = read_folder(data, strict, min_classes=1)
            evaluation = evaluate(fitted, folder.images, folder.labels)
        report = explain_evaluated(fitted, evaluation, settings, seed)
    report.save(path)
    if as_json:
        figures = {"report": str(path.resolve()), "model": str(model.resolve()), "type": described["method"]}
        say(json.dumps(figures | _figures(fitted, folder, evaluation), indent=2))
        return
    if evaluation is not None:
        low, high = evaluation.interval
        accuracy = f"{evaluation.accuracy:.1%} of {len(evaluation.codes)} images"
        say(f"Accuracy: {accuracy} (95 % interval {low:.1%} to {high:.1%})")
    say(f"Report: {path.resolve()}")


def _command(model: Path, output: Path, data: Path | None, seed: int) -> str:
    words = ["invariance", "explain", str(model), "-o", str(output), "--seed", str(seed)]
    return shlex.join(words + (["--data", str(data)] if data is not None else []))


def _read_images(folder: Path) -> "list[np.ndarray]":
    """The first pages of as many files as the report shows."""
    from invariance.images import image_paths, open_stack
    from invariance.report.explanation.pixels import MAX_IMAGES

    files = image_paths(folder)
    if not files:
        raise FileNotFoundError(f"folder '{folder}' holds no images. Name another.")
    return [open_stack(file)[0] for file in files[:MAX_IMAGES]]


def _figures(model: Any, folder: "ImageFolder | None", evaluation: "Evaluation | None") -> dict[str, Any]:
    """The figures for JSON."""
    figures: dict[str, Any] = {"classes": [str(name) for name in model.classes_]}
    if evaluation is None or folder is None:
        return figures
    return figures | {
        "n_images": len(evaluation.codes),
        "accuracy": evaluation.accuracy,
        "interval": list(evaluation.interval),
        "calibration_error": evaluation.reliability.error,
        "seconds_per_image": evaluation.image_seconds,
        "confusion": evaluation.confusion.tolist(),
        "skipped": list_skipped(folder.skipped),
    }
