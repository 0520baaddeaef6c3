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

from invariance._core.escaping import in_one_line
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
from invariance.cli.racing import follow

if TYPE_CHECKING:
    from invariance.methods import ImageClassifier, ImageFolder, Selection, Trial
    from invariance.methods.trial import Fold

AUTO = "auto"
MAX_LISTED = 10  # names of classes in a line
BUDGET = 60.0  # seconds, as in `methods.selection`
MIN_RACE_SHARE = 0.5  # of the budget is for the race, however long reading took
EXAMPLES = """Examples:

  invariance fit leaves/ -o leaves.inv

  invariance fit leaves/ -o leaves.inv --invariant-to rotations:8 --budget 600

  invariance fit leaves/ -o leaves.inv --max-trials 40 --seed 1

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
            help=f"Time in seconds to read, select and fit with --method auto; a faster machine tries more. "
            f"Default: {BUDGET:g}.",
        ),
    ] = None,
    max_trials: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Trials of --method auto, each of one method on one part of the images, instead of a --budget: "
            "the same seed then selects the same method on every machine.",
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
    events: Annotated[
        bool,
        typer.Option("--events", help="Print a line of JSON for every trial and model; the last is that of --json."),
    ] = False,
    jobs: JobsOption = -1,
    seed: SeedOption = 0,
) -> None:
    """Learn to classify images from a folder with one sub-folder per class."""
    path = claim_file(output, MODEL, overwrite, [folder])
    _check_limits(str(method), budget, max_trials)
    phi = parse_invariance(invariant_to)

    network = find_encoder(encoder, embed_encoder)

    from invariance.methods import ImageClassifier, draw_folds, race_methods
    from invariance.models import save

    started = time.perf_counter()
    selection: Selection | None = None
    if method != AUTO:
        ImageClassifier(str(method), phi).plan().check(str(method))
    data = read_folder(folder, strict)
    # Where nothing can be held out, nothing is written.
    folds = draw_folds(data.labels, seed=seed) if cross_validate else []
    if method == AUTO:
        whole = budget or BUDGET
        left = max(whole - (time.perf_counter() - started), MIN_RACE_SHARE * whole)
        race = race_methods(
            data.images, data.labels, phi, left, seed, None, network, max_trials, data.max_side, str(scale)
        )
        selection = follow(race, path, events)
        classifier, fit_seconds = selection.classifier, selection.fit_seconds
    else:
        classifier = ImageClassifier(
            str(method), phi, data.max_side, random_state=seed, scale=str(scale), encoder=network
        )
        begun = time.perf_counter()
        classifier.fit(data.images, data.labels)
        fit_seconds = time.perf_counter() - begun
        save(classifier, path)
    trial, n_learned = (None, None) if selection is None else (selection.trial, selection.n_learned)
    if cross_validate:
        trial, n_learned = _cross_validate(classifier, data, folds), None
    seconds = {"fit": fit_seconds, "total": time.perf_counter() - started}
    found = _as_dict(classifier, selection, trial, data, path, seconds)
    if events:
        say(json.dumps({"event": "done", **found}))
    elif as_json:
        say(json.dumps(found, indent=2))
    else:
        _print(classifier, selection, (trial, n_learned), data, path, seconds)


def _check_limits(method: str, budget: float | None, max_trials: int | None) -> None:
    for option, value in {"--budget": budget, "--max-trials": max_trials}.items():
        if value is not None and method != AUTO:
            raise ValueError(f"{option} is for --method {AUTO}; got --method {method}. Leave one of them out.")
    if budget is not None and max_trials is not None:
        raise ValueError(f"--max-trials takes the place of --budget; got {max_trials} and {budget:g}. Leave one out.")


def _cross_validate(classifier: "ImageClassifier", data: "ImageFolder", folds: "list[Fold]") -> "Trial":
    from invariance._core.progress import track
    from invariance.methods import cross_validate

    tracked = track(folds, "cross-validating")
    return cross_validate(classifier.method_name, classifier, data.images, data.labels, tracked)


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
    n_read, n_fitted = len(data.labels), classifier.facts_.n_images
    fewer = f"{n_read} images, of which these were fitted: " if n_fitted < n_read else ""
    _print_entry("Read", f"{fewer}{classifier.facts_.sentence}{skipped}.")
    _print_entry("Classes", _listed([str(name) for name in classifier.classes_]))
    _print_entry("Method", f"{method.name}: {method.summary}.")
    if selection is not None:
        _print_entry("Why", selection.reason)
    shortage = f"There was time for {n_fitted} of {n_read} images" if fewer else ""
    if shortage and classifier.n_learned_ == n_fitted:
        _print_entry("Learned", f"{shortage}.")
    else:
        _print_entry("Learned", f"{shortage}{'. ' * bool(shortage)}{classifier.learned_sentence}")
    plan = classifier.plan()
    for part in plan.parts:
        entry = part.as_json()
        default = ", by default" if plan.is_default else ""
        _print_entry("Ignores", f"{entry['part']} ({entry['treatment']}{default}). {entry['sentence']}")
    _print_entry("Accuracy", _accuracy(classifier, *tried))
    _print_entry("Time", f"{seconds['fit']:.1f} s to fit, {seconds['total']:.1f} s in total.")
    say(f"Model:    {path.resolve()}")
    say(f"Next:     invariance predict {shlex.quote(str(path))} IMAGES -o labels.csv")


def _listed(names: list[str]) -> str:
    """The names, as many as are read at a glance."""
    others = f" and {len(names) - MAX_LISTED} others" if len(names) > MAX_LISTED else ""
    return f"{', '.join(map(in_one_line, names[:MAX_LISTED]))}{others}."


def _print_entry(name: str, text: str) -> None:
    say(fill(f"{name + ':':<10}{text}", get_terminal_size().columns, subsequent_indent=" " * 10))


def _accuracy(classifier: "ImageClassifier", trial: "Trial | None", n_learned: int | None) -> str:
    if trial is None:
        return "not measured. --cross-validate estimates it; `invariance evaluate` measures it on other images."
    low, high = trial.interval
    n_images = classifier.facts_.n_images
    is_of_fewer = n_learned is not None and 2 * n_learned < n_images
    from_fewer = f", when trained on {n_learned} images instead of {n_images}" if is_of_fewer else ""
    return (
        f"about {trial.accuracy:.1%}, of {trial.n_judged} held-out images "
        f"(95 % interval {low:.1%} to {high:.1%}){from_fewer}."
    )


def _as_dict(
    classifier: "ImageClassifier",
    selection: "Selection | None",
    trial: "Trial | None",
    data: "ImageFolder",
    path: Path,
    seconds: dict[str, float],
) -> dict[str, Any]:
    chosen = {"reason": "It was requested.", "tried": [], "left_out": {}} if selection is None else selection.as_json()
    return {
        "model": str(path.resolve()),
        "method": classifier.method_name,
        "plan": [part.as_json() for part in classifier.plan().parts],
        **chosen,
        "facts": classifier.facts_._asdict(),
        "n_learned": classifier.n_learned_,
        "classes": [str(name) for name in classifier.classes_],
        "skipped": list_skipped(data.skipped),
        "held_out": None if trial is None else trial.as_json(),
        "seconds": seconds,
    }
