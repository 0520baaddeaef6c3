"""`invariance fit`: from a folder of labelled images to a model that classifies others."""

import json
import shlex
import time
from enum import StrEnum
from pathlib import Path
from shutil import get_terminal_size
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from invariance.cli.folder_options import (
    FolderArgument,
    InvariantToOption,
    JobsOption,
    JsonOption,
    SeedOption,
    StrictOption,
    list_skipped,
    parse_invariance,
    read_folder,
)
from invariance.cli.output import check_output

if TYPE_CHECKING:
    from invariance.methods import ImageClassifier, ImageFolder, Trial

BUDGET = 300.0  # seconds
EXAMPLES = """Examples:

  invariance fit leaves/ -o leaves.inv

  invariance fit leaves/ -o leaves.inv --invariant-to rotations:8 --budget 600

  invariance fit digits/ -o digits.inv --method tangent --check

  invariance fit walls/ -o walls.inv --method texture --strict --json"""


class MethodName(StrEnum):
    """The names of `methods.METHODS`, written here so that `--help` need not load them."""

    auto = "auto"
    jungle = "jungle"
    tangent = "tangent"
    hierarchy = "hierarchy"
    codebook = "codebook"
    texture = "texture"
    objects = "objects"
    tradeoff = "tradeoff"


class Plan(NamedTuple):
    """A classifier to be fitted, why this one, and the trials of it and others, from `n_learned` images, if any."""

    classifier: "ImageClassifier"
    reason: str
    trials: "list[Trial]"
    left_out: dict[str, str]
    n_learned: int | None = None


def run(
    folder: FolderArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="The model, a file ending in .inv.")],
    method: Annotated[
        MethodName, typer.Option(help="The method; auto tries several on images held out.")
    ] = MethodName.auto,
    invariant_to: InvariantToOption = None,
    budget: Annotated[
        float | None,
        typer.Option(
            min=1,
            help="Seconds that auto may take to choose and fit; a fast machine tries more in them. Default: 120.",
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Estimate by cross-validation how often the model will be right.")
    ] = False,
    strict: StrictOption = False,
    as_json: JsonOption = False,
    jobs: JobsOption = -1,
    seed: SeedOption = 0,
) -> None:
    """Learn to classify images from a folder with one sub-folder a class."""
    path = check_output(output, (".inv",))
    if budget is not None and method != MethodName.auto:
        raise ValueError(f"--budget is for --method auto; got --method {method}. Leave one of them out.")
    phi = parse_invariance(invariant_to)

    from invariance.models import save

    started = time.perf_counter()
    data = read_folder(folder, strict)
    if method == MethodName.auto:
        plan = _choose(data, phi, budget or BUDGET, seed, jobs)
    else:
        plan = _take(method, data, phi, seed, jobs)
    trial = _own_trial(plan)
    if check:
        trial, plan = _cross_validate(plan.classifier, data, seed), plan._replace(n_learned=None)
    begun = time.perf_counter()
    plan.classifier.fit(data.images, data.labels)
    fit_seconds = time.perf_counter() - begun
    save(plan.classifier, path)
    seconds = {"fit": fit_seconds, "total": time.perf_counter() - started}
    if as_json:
        print(json.dumps(_as_json(plan, trial, data, path, seconds), indent=2))
    else:
        _print(plan, trial, data, path, seconds)


def _choose(data: "ImageFolder", phi: Any, budget: float, seed: int, jobs: int) -> Plan:
    from invariance.methods.automatic import choose

    choice = choose(data.images, data.labels, phi, budget, seed, jobs)
    classifier = choice.classifier.set_params(max_side=data.max_side)
    return Plan(classifier, choice.reason, choice.trials, choice.skipped, choice.n_learned)


def _take(method: str, data: "ImageFolder", phi: Any, seed: int, jobs: int) -> Plan:
    from invariance.methods import ImageClassifier

    return Plan(ImageClassifier(str(method), phi, data.max_side, jobs, seed), "It was asked for.", [], {})


def _own_trial(plan: Plan) -> "Trial | None":
    return next((trial for trial in plan.trials if trial.name == plan.classifier.method), None)


def _cross_validate(classifier: "ImageClassifier", data: "ImageFolder", seed: int) -> "Trial":
    from invariance._core.progress import track
    from invariance.methods import cross_validate, draw_folds

    folds = track(draw_folds(data.labels, seed=seed), "cross-validating")
    return cross_validate(classifier.method, classifier, data.images, data.labels, folds)


def _print(plan: Plan, trial: "Trial | None", data: "ImageFolder", path: Path, seconds: dict[str, float]) -> None:
    from invariance.methods import METHODS

    name = plan.classifier.method
    skipped = f"; {len(data.skipped)} could not be read and were skipped" if data.skipped else ""
    print(f"Read:     {plan.classifier.facts_.sentence}{skipped}.")
    print(f"Method:   {name}: {METHODS[name].what}.")
    print(fill(f"Why:      {plan.reason}", get_terminal_size().columns, subsequent_indent=" " * 10))
    if trial is None:
        print("Accuracy: not measured. --check estimates it; `invariance evaluate` measures it on other images.")
    else:
        low, high = _interval(trial)
        n_images, n_learned = plan.classifier.facts_.n_images, plan.n_learned
        is_of_fewer = n_learned is not None and 2 * n_learned < n_images
        from_fewer = f", when learned from {n_learned} images instead of {n_images}" if is_of_fewer else ""
        print(
            f"Accuracy: about {trial.accuracy:.1%}, of {trial.is_judged.sum()} images held out "
            f"(95 % interval {low:.1%} to {high:.1%}){from_fewer}."
        )
    print(f"Time:     {seconds['fit']:.1f} s to fit, {seconds['total']:.1f} s in all.")
    print(f"Model:    {path.resolve()}")
    print(f"Next:     invariance predict {shlex.quote(str(path))} IMAGES -o labels.csv")


def _interval(trial: "Trial") -> tuple[float, float]:
    from invariance.report.answers import likely_share

    return likely_share(int(trial.is_right.sum()), int(trial.is_judged.sum()))


def _as_json(
    plan: Plan, trial: "Trial | None", data: "ImageFolder", path: Path, seconds: dict[str, float]
) -> dict[str, Any]:
    classifier = plan.classifier
    return {
        "model": str(path.resolve()),
        "method": classifier.method,
        "invariant_to": None if classifier.transformations is None else repr(classifier.transformations),
        "reason": plan.reason,
        "facts": classifier.facts_._asdict(),
        "classes": [str(name) for name in classifier.classes_],
        "skipped": list_skipped(data.skipped),
        "held_out": None if trial is None else _trial_as_json(trial),
        "tried": [_trial_as_json(other) for other in plan.trials],
        "left_out": plan.left_out,
        "seconds": seconds,
    }


def _trial_as_json(trial: "Trial") -> dict[str, Any]:
    return {
        "method": trial.name,
        "accuracy": trial.accuracy,
        "interval": list(_interval(trial)),
        "n_images": int(trial.is_judged.sum()),
        "fit_seconds": trial.fit_seconds,
        "seconds_per_image": trial.image_seconds,
    }
