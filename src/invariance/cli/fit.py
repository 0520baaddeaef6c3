"""`invariance fit`: learn to classify images from a folder of labelled images."""

import json
import shlex
import time
from enum import StrEnum
from pathlib import Path
from shutil import get_terminal_size
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any

import typer

from invariance.cli.console import say
from invariance.cli.options import (
    EncoderOption,
    FitScaleOption,
    FolderArgument,
    InvariantToOption,
    JobsOption,
    JsonOption,
    Scale,
    SeedOption,
    StrictOption,
    find_encoder,
    list_skipped,
    parse_invariance,
    read_folder,
)
from invariance.cli.output import MODEL, OverwriteOption, claim_file

if TYPE_CHECKING:
    from invariance.methods import ImageClassifier, ImageFolder, Selection, Trial

AUTO = "auto"
BUDGET = 300.0  # seconds
EXAMPLES = """Examples:

  invariance fit leaves/ -o leaves.inv

  invariance fit leaves/ -o leaves.inv --invariant-to rotations:8 --budget 600

  invariance fit digits/ -o digits.inv --method auto --cross-validate

  invariance fit walls/ -o walls.inv --strict --json"""


def _method_names() -> list[str]:
    """The values of `--method`; no method is imported for them."""
    from invariance.methods.registry import method_names

    return [AUTO, *method_names()]


MethodName = StrEnum("MethodName", {name: name for name in _method_names()})  # type: ignore[misc]


def run(
    folder: FolderArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="The model, a file ending in .inv.")],
    overwrite: OverwriteOption = False,
    method: Annotated[
        MethodName, typer.Option(help="The method; auto compares several on held-out images.")
    ] = MethodName(AUTO),
    invariant_to: InvariantToOption = None,
    budget: Annotated[
        float | None,
        typer.Option(
            min=1,
            help=f"Time in seconds to select and fit a method with --method auto; a faster machine tries more methods. "
            f"Default: {BUDGET:g}.",
        ),
    ] = None,
    cross_validate: Annotated[
        bool, typer.Option("--cross-validate", help="Estimate the accuracy of the model by cross-validation.")
    ] = False,
    encoder: EncoderOption = None,
    embed_encoder: Annotated[
        bool, typer.Option("--embed-encoder", help="Store the encoder in the model, not only its fingerprint.")
    ] = False,
    scale: FitScaleOption = Scale.DTYPE,
    strict: StrictOption = False,
    as_json: JsonOption = False,
    jobs: JobsOption = -1,
    seed: SeedOption = 0,
) -> None:
    """Learn to classify images from a folder with one sub-folder per class."""
    path = claim_file(output, MODEL, overwrite, [folder])
    if budget is not None and method != AUTO:
        raise ValueError(f"--budget is for --method {AUTO}; got --method {method}. Leave one of them out.")
    phi = parse_invariance(invariant_to)

    network = find_encoder(encoder, embed_encoder)

    from invariance.images import rescale
    from invariance.methods import ImageClassifier, select_method
    from invariance.models import save

    started = time.perf_counter()
    selection: Selection | None = None
    if method != AUTO:
        ImageClassifier(str(method), phi).plan().check(str(method))
    data = read_folder(folder, strict)
    if scale != Scale.DTYPE:  # the methods that are compared see the images as the classifier scales them
        data = data._replace(images=[rescale(image, str(scale)) for image in data.images])
    if method == AUTO:
        selection = select_method(data.images, data.labels, phi, budget or BUDGET, seed, encoder=network)
        classifier = selection.classifier.set_params(max_side=data.max_side, scale=str(scale))
    else:
        classifier = ImageClassifier(
            str(method), phi, data.max_side, random_state=seed, scale=str(scale), encoder=network
        )
    trial, n_learned = _own_trial(selection)
    if cross_validate:
        trial, n_learned = _cross_validate(classifier, data, seed), None
    begun = time.perf_counter()
    classifier.fit(data.images, data.labels)
    fit_seconds = time.perf_counter() - begun
    save(classifier, path)
    seconds = {"fit": fit_seconds, "total": time.perf_counter() - started}
    if as_json:
        say(json.dumps(_as_dict(classifier, selection, trial, data, path, seconds), indent=2))
    else:
        _print(classifier, selection, (trial, n_learned), data, path, seconds)


def _own_trial(selection: "Selection | None") -> "tuple[Trial | None, int | None]":
    """The trial of the selected method, and the number of images that it was trained on there."""
    if selection is None:
        return None, None
    trial = next((trial for trial in selection.trials if trial.name == selection.method), None)
    return trial, selection.n_learned


def _cross_validate(classifier: "ImageClassifier", data: "ImageFolder", seed: int) -> "Trial":
    from invariance._core.progress import track
    from invariance.methods import cross_validate, draw_folds

    folds = track(draw_folds(data.labels, seed=seed), "cross-validating")
    return cross_validate(classifier.method_name, classifier, data.images, data.labels, folds)


def _print(
    classifier: "ImageClassifier",
    selection: "Selection | None",
    tried: "tuple[Trial | None, int | None]",
    data: "ImageFolder",
    path: Path,
    seconds: dict[str, float],
) -> None:
    from invariance.methods import get_method

    method = get_method(classifier.method_name)
    skipped = f"; {len(data.skipped)} could not be read and were skipped" if data.skipped else ""
    _print_entry("Read", f"{classifier.facts_.sentence}{skipped}.")
    _print_entry("Method", f"{method.name}: {method.summary}.")
    if selection is not None:
        _print_entry("Why", selection.reason)
    _print_entry("Learned", classifier.learned_sentence)
    plan = classifier.plan()
    for part in plan.parts:
        entry = part.as_json()
        default = ", by default" if plan.is_default else ""
        _print_entry("Ignores", f"{entry['part']} ({entry['treatment']}{default}). {entry['sentence']}")
    _print_entry("Accuracy", _accuracy(classifier, *tried))
    _print_entry("Time", f"{seconds['fit']:.1f} s to fit, {seconds['total']:.1f} s in total.")
    say(f"Model:    {path.resolve()}")
    say(f"Next:     invariance predict {shlex.quote(str(path))} IMAGES -o labels.csv")


def _print_entry(name: str, text: str) -> None:
    say(fill(f"{name + ':':<10}{text}", get_terminal_size().columns, subsequent_indent=" " * 10))


def _accuracy(classifier: "ImageClassifier", trial: "Trial | None", n_learned: int | None) -> str:
    if trial is None:
        return "not measured. --cross-validate estimates it; `invariance evaluate` measures it on other images."
    low, high = _interval(trial)
    n_images = classifier.facts_.n_images
    is_of_fewer = n_learned is not None and 2 * n_learned < n_images
    from_fewer = f", when trained on {n_learned} images instead of {n_images}" if is_of_fewer else ""
    return (
        f"about {trial.accuracy:.1%}, of {trial.n_judged} held-out images "
        f"(95 % interval {low:.1%} to {high:.1%}){from_fewer}."
    )


def _interval(trial: "Trial") -> tuple[float, float]:
    from invariance.methods.evaluation import share_interval

    return share_interval(int(trial.is_right.sum()), trial.n_judged)


def _as_dict(
    classifier: "ImageClassifier",
    selection: "Selection | None",
    trial: "Trial | None",
    data: "ImageFolder",
    path: Path,
    seconds: dict[str, float],
) -> dict[str, Any]:
    left_out = [] if selection is None else selection.left_out
    return {
        "model": str(path.resolve()),
        "method": classifier.method_name,
        "plan": [part.as_json() for part in classifier.plan().parts],
        "reason": "It was requested." if selection is None else selection.reason,
        "facts": classifier.facts_._asdict(),
        "n_learned": classifier.n_learned_,
        "classes": [str(name) for name in classifier.classes_],
        "skipped": list_skipped(data.skipped),
        "held_out": None if trial is None else _trial_as_dict(trial),
        "tried": [] if selection is None else [_trial_as_dict(other) for other in selection.trials],
        "left_out": {out.method: {"cause": out.cause.name.lower(), "reason": out.sentence} for out in left_out},
        "seconds": seconds,
    }


def _trial_as_dict(trial: "Trial") -> dict[str, Any]:
    return {
        "method": trial.name,
        "accuracy": trial.accuracy,
        "interval": list(_interval(trial)),
        "n_images": trial.n_judged,
        "fit_seconds": trial.fit_seconds,
        "seconds_per_image": trial.image_seconds,
    }
