"""`invariance explain`: a report about a model, and about how it does on labelled images."""

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from invariance.cli.folder_options import (
    MAX_SEED,
    JobsOption,
    JsonOption,
    StrictOption,
    list_skipped,
    read_folder,
    use_jobs,
)
from invariance.cli.output import check_output

if TYPE_CHECKING:
    import numpy as np

    from invariance.methods import ImageFolder
    from invariance.report.answers import Answers

MAX_IMAGES = 6  # that a report about a segmenter shows
EXAMPLES = """Examples:

  invariance explain leaves.inv -o report.html

  invariance explain leaves.inv --on other-leaves/ -o report.html

  invariance explain leaves.inv --on other-leaves/ -o report.html --json

  invariance explain membranes.inv --on sections/ -o report.html"""


def run(
    model: Annotated[Path, typer.Argument(help="A model made by `invariance fit` or `invariance fit-pixels`.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The report, a file ending in .html.")],
    on: Annotated[
        Path | None,
        typer.Option(
            help="Labelled images to judge the model by, FOLDER/<class>/<image>, better not those it has learned "
            "from; for a model of `fit-pixels`, a folder of images."
        ),
    ] = None,
    strict: StrictOption = False,
    as_json: JsonOption = False,
    jobs: JobsOption = -1,
    seed: Annotated[int, typer.Option(min=0, max=MAX_SEED, help="Seed of which images are drawn to be shown.")] = 0,
) -> None:
    """Write a report about a model: what it learned, how it does on images, and how to repeat it."""
    path = check_output(output, (".html", ".htm"))

    from invariance import models
    from invariance.methods import ImageClassifier
    from invariance.report.answers import ask
    from invariance.report.explanation import explain, explain_answers

    fitted, described = models.load(model), models.describe(model)
    use_jobs(fitted, jobs)
    settings = {
        "command": _command(model, output, on, seed),
        "model file": f"{model.name}, saved by invariance {described['library']}, sha256 {described['sha256']}",
    }
    folder: ImageFolder | None = None
    answers: Answers | None = None
    if not isinstance(fitted, ImageClassifier):
        images = None if on is None else _read_images(on)
        report = explain(fitted, images, settings=settings, random_state=seed)
    else:
        if on is not None:
            folder = read_folder(on, strict, min_classes=1)
            answers = ask(fitted, folder.images, folder.labels)
        report = explain_answers(fitted, answers, settings, seed)
    report.save(path)
    if as_json:
        figures = {"report": str(path.resolve()), "model": str(model.resolve()), "type": described["method"]}
        print(json.dumps(figures | _figures(fitted, folder, answers), indent=2))
        return
    if answers is not None:
        low, high = answers.interval
        print(f"Right: {answers.accuracy:.1%} of {len(answers.codes)} images (95 % interval {low:.1%} to {high:.1%})")
    print(f"Report: {path.resolve()}")


def _command(model: Path, output: Path, on: Path | None, seed: int) -> str:
    words = ["invariance", "explain", str(model), "-o", str(output), "--seed", str(seed)]
    return shlex.join(words + (["--on", str(on)] if on is not None else []))


def _read_images(folder: Path) -> "list[np.ndarray]":
    """The first page of each of the first files."""
    from invariance.images import image_paths, open_stack

    files = image_paths(folder)
    if not files:
        raise FileNotFoundError(f"folder '{folder}' holds no images. Name another.")
    return [open_stack(file)[0] for file in files[:MAX_IMAGES]]


def _figures(model: Any, folder: "ImageFolder | None", answers: "Answers | None") -> dict[str, Any]:
    """What scripts may want to know."""
    from invariance.report.answers import measure_reliability

    figures: dict[str, Any] = {"classes": [str(name) for name in model.classes_]}
    if answers is None or folder is None:
        return figures
    return figures | {
        "n_images": len(answers.codes),
        "accuracy": answers.accuracy,
        "interval": list(answers.interval),
        "calibration_error": measure_reliability(answers.confidence, answers.is_right).error,
        "seconds_per_image": answers.image_seconds,
        "confusion": answers.confusion.tolist(),
        "skipped": list_skipped(folder.skipped),
    }
