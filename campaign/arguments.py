"""Combinations of arguments: valid, absurd, missing, contradictory, and odd names, drawn from the parser's own options.

A command ends with exit code 0 or 2, and changes nothing but what it was told to write.
"""

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from campaign.commands import OK, Ended, run_command
from campaign.part import Case, Findings, Part
from campaign.snapshots import UNFINISHED, differences, snapshot

SECONDS = 240.0
ODD = ("", " ", "-", "--", "-x", "💥", "\x1b[31m", "a\nb", "%s%n", "$HOME", "x" * 300, "../..", "/dev/null", "/proc/self", "\udcff")
ODD_NUMBERS = ("-1", "0", "1", "2", "3", "0.5", "1e400", "nan", "-inf", "NaN", "0x10", "١", "99999999999999999999", "", "x", "1,5")
TEXTS = (
    *("rotations:4", "rotations:2,shifts:1", "reflections", "identity", "scales", "brightness", "codebook,tangent", "auto"),
    *("rotations:", "rotations:-1", "rotations:0", "rotations:x", "nonsense:3", ":::", ",", "rotations:2,,", "5", "4", "31"),
    *("rotations:99999999999", "shifts:999999", "texture", "codebook,codebook", "jungle"),
)
# Names of the parameters whose values are files, with files that suit them.
SUITABLE = {
    "folder": ("photos", "pairs", "broken0", "broken1", "names/emoji", "names/dash", "names/line"),
    "data": ("photos", "images", "broken0"),
    "model": ("m.inv", "p.inv"),
    "images": ("images", "a.png", "images/a.png"),
    "masks": ("masks", "masks/a.png"),
    "sources": ("photos", "a.png", "colour.png"),
    "image": ("a.png", "colour.png"),
    "output": ("x.inv", "x.csv", "x.html", "x.png", "new", "x.svg"),
    "figure": ("f.png", "f.svg", "f.pdf", "f.jpg"),
}
WRITTEN = ("output", "figure")
DEFAULT_OUTPUTS = ("orbit.png", "invariance-demo.html")
RARE = ("demo",)  # it has few options and takes long


def prepare(inputs: Path, is_short: bool) -> None:
    """Write good and bad inputs of all kinds, those of the tests of malformed inputs."""
    from tests.cli.hostile_inputs import put_inputs

    (inputs / "hostile").mkdir()
    put_inputs(inputs / "hostile")


def run(case: Case) -> Findings:
    """Draw a command and its arguments, and run it in a copy of the inputs."""
    world = case.folder / "world"
    shutil.copytree(case.inputs / "hostile", world, symlinks=True)
    arguments, outputs = _draw(case.rng, sorted(os.listdir(world)))
    before = snapshot(world)
    ended = run_command(arguments, world, SECONDS)
    faults = ended.faults() + _changes(ended, world, before, outputs)
    findings = Findings()
    findings.add(f"exit code {ended.code}", faults)
    return findings


def _draw(rng: np.random.Generator, files: list[str]) -> tuple[list[str], list[str]]:
    """Draw arguments; return them, and the files among them that may be written."""
    import typer

    from invariance.cli import app

    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    names = sorted(commands)
    name = str(rng.choice(names))
    if name in RARE:
        name = str(rng.choice(names))
    care = rng.choice([0.5, 0.8, 1.0])  # the share of suitable values
    arguments, outputs = [name], []
    for parameter in commands[name].params:
        if parameter.name == "help" or (rng.random() > (0.97 if _is_needed(parameter) else 0.35)):
            continue
        for _ in range(int(rng.integers(1, 4)) if parameter.nargs == -1 or parameter.multiple else 1):
            value = _value(parameter, rng, files, rng.random() < care)
            arguments += _spelled(parameter, value, rng)
            outputs += [value] if parameter.name in WRITTEN else []
    options = {option for parameter in commands[name].params for option in parameter.opts}
    if "--budget" in options and not any(argument.startswith("--budget") for argument in arguments):
        arguments += ["--budget", "2"]
    if rng.random() > care:
        arguments.insert(int(rng.integers(1, len(arguments) + 1)), str(rng.choice(ODD)))
    return arguments, outputs


def _is_needed(parameter: Any) -> bool:
    """Whether a parameter must be given, or is drawn as if it must be, because it makes commands quick."""
    return parameter.required or parameter.name in ("method", "rounds", "pixels", "patch_size")


def _value(parameter: Any, rng: np.random.Generator, files: list[str], suits: bool) -> str:
    """Draw a value: one that suits the parameter, or anything."""
    kind = type(parameter.type).__name__
    if suits and parameter.name in SUITABLE:
        pool: Any = SUITABLE[parameter.name]
    elif suits and hasattr(parameter.type, "choices"):
        pool = [str(getattr(choice, "value", choice)) for choice in parameter.type.choices]
    elif suits and kind in ("IntRange", "IntParamType", "FloatRange", "FloatParamType"):
        pool = ("1", "2", "3", "200")
    elif suits and kind == "StringParamType":
        pool = TEXTS
    elif kind.startswith(("Int", "Float")):
        pool = (*ODD_NUMBERS, *ODD)
    else:
        pool = (*files, *files, *TEXTS, *ODD, *ODD_NUMBERS)
    return str(pool[rng.integers(len(pool))])


def _spelled(parameter: Any, value: str, rng: np.random.Generator) -> list[str]:
    """Write an argument, a flag, or an option in one of its spellings."""
    if parameter.param_type_name == "argument":
        return [value]
    name = str(rng.choice(parameter.opts))
    if getattr(parameter, "is_flag", False):
        return [name]
    return [f"{name}={value}"] if name.startswith("--") and rng.random() < 0.3 else [name, value]


def _changes(ended: Ended, world: Path, before: dict[Path, str], outputs: list[str]) -> list[str]:
    """List files that the command lost, changed or left, although nobody told it to."""
    lost, changed, new = differences(before, snapshot(world))
    targets = {(world / output).resolve() for output in outputs if "\0" not in output}
    defaults = {world / name for name in DEFAULT_OUTPUTS}

    def is_target(path: Path) -> bool:
        return path in defaults or any(path.resolve().is_relative_to(target) for target in targets)

    read = {(world / argument).resolve() for argument in ended.arguments[1:] if argument not in outputs}
    wrong = [f"lost '{path}'" for path in lost]
    wrong += [f"left '{path}'" for path in new if UNFINISHED in path.name or not is_target(path)]
    wrong += [f"left '{path}' in spite of an error" for path in new if ended.code != OK and is_target(path)]
    for path in changed:
        is_allowed = ended.code == OK and (path.suffix == ".inv" or "--overwrite" in ended.arguments)
        if not is_target(path) or not is_allowed or path.resolve() in read:
            wrong.append(f"changed '{path}'")
    return [ended.blamed("; ".join(sorted(wrong)))] if wrong else []


PART = Part("arguments", 300, lambda number: 600.0, prepare, run, n_together=5)
