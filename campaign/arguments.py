"""Combinations of arguments: valid, absurd, missing, contradictory, and odd names, drawn from the parser's own options.

A command ends with exit code 0 or 2, and changes nothing but what it was told to write. A command that serves a page
is interrupted as soon as it answers.
"""

import inspect
import os
import shutil
import signal
import time
from collections.abc import Sequence
from enum import Enum
from functools import cache
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

import numpy as np

from campaign.commands import OK, SECONDS, Ended, run_command, start_command
from campaign.part import Case, Findings, Part
from campaign.snapshots import UNFINISHED, differences, snapshot

ODD = (
    "",
    " ",
    "-",
    "--",
    "-x",
    "💥",
    "\x1b[31m",
    "a\nb",
    "%s%n",
    "$HOME",
    "x" * 300,
    "../..",
    "/dev/null",
    "/proc/self",
    "\udcff",
)
ODD_NUMBERS = (
    "-1",
    "0",
    "1",
    "2",
    "3",
    "0.5",
    "1e400",
    "nan",
    "-inf",
    "NaN",
    "0x10",
    "١",
    "99999999999999999999",
    "",
    "x",
    "1,5",
)
TEXTS = (
    *(
        "rotations:4",
        "rotations:2,shifts:1",
        "reflections",
        "identity",
        "scales",
        "brightness",
        "codebook,tangent",
        "auto",
    ),
    *(
        "rotations:",
        "rotations:-1",
        "rotations:0",
        "rotations:x",
        "nonsense:3",
        ":::",
        ",",
        "rotations:2,,",
        "5",
        "4",
        "31",
    ),
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
WRITTEN = ("output", "figure", "project")
DEFAULT_OUTPUTS = ("orbit.png", "invariance-demo.html")
DEFAULT_PROJECT = "invariance-studio"  # a folder among the images
# Commands that do not end by themselves, with what is always given, and what they print when they answer.
SERVERS = {"studio": ("--no-browser",)}
ANSWERS = "is open at"
QUICK = ("method", "rounds", "pixels", "patch_size")  # nearly always given, because then fitting takes a second
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
    arguments, outputs = draw(case.rng, sorted(os.listdir(world)))
    before = snapshot(world)
    ended = interrupt_server(arguments, world) if arguments[0] in SERVERS else run_command(arguments, world)
    faults = ended.faults() + changes(ended, world, before, outputs)
    findings = Findings()
    findings.add(f"exit code {ended.code}", faults)
    return findings


def interrupt_server(arguments: list[str], world: Path) -> Ended:
    """Run a command that serves a page until it answers or ends, and interrupt it."""
    running = start_command(arguments, world)
    while running.is_alive(SECONDS) and ANSWERS not in running.out():
        time.sleep(0.05)
    running.send(signal.SIGINT)
    return running.wait()


class Parameter(NamedTuple):
    """A parameter of a command: its type without None and list, its spellings (none for an argument)."""

    name: str
    kind: Any
    spellings: tuple[str, ...]
    is_required: bool
    is_many: bool


@cache
def all_parameters() -> dict[str, list[Parameter]]:
    """Return the parameters of all commands, as their functions declare them."""
    from invariance.cli import COMMANDS

    return {
        name: [_as_parameter(declared, get_type_hints(module.run, include_extras=True)[declared.name])
               for declared in signature(module.run).parameters.values()]
        for name, module in COMMANDS.items()
    }  # fmt: skip


def _as_parameter(declared: inspect.Parameter, hint: Any) -> Parameter:
    kind, info = hint.__origin__, hint.__metadata__[0]
    alternatives = [part for part in get_args(kind) if part is not type(None)] or [kind]
    is_many = get_origin(alternatives[0]) is list or get_origin(kind) is list
    plain = get_args(alternatives[0])[0] if get_origin(alternatives[0]) is list else alternatives[0]
    spellings: tuple[str, ...] = ()
    if type(info).__name__ == "OptionInfo":
        spellings = info.param_decls or (f"--{declared.name.replace('_', '-')}",)
    return Parameter(declared.name, plain, spellings, declared.default is inspect.Parameter.empty, is_many)


def draw(rng: np.random.Generator, files: list[str]) -> tuple[list[str], list[str]]:
    """Draw arguments; return them, and the files among them that may be written."""
    commands = all_parameters()
    names = sorted(commands)
    name = str(rng.choice(names))
    if name in RARE:
        name = str(rng.choice(names))
    care = rng.choice([0.5, 0.8, 1.0])  # the share of suitable values
    arguments, outputs = [name, *SERVERS.get(name, ())], []
    for parameter in commands[name]:
        if rng.random() > (0.97 if parameter.is_required or parameter.name in QUICK else 0.35):
            continue
        for _ in range(int(rng.integers(1, 4)) if parameter.is_many else 1):
            value = _value(parameter, rng, files, rng.random() < care)
            arguments += _spelled(parameter, value, rng)
            outputs += [value] if parameter.name in WRITTEN else []
    has_budget = any(parameter.name == "budget" for parameter in commands[name])
    if has_budget and not any(argument.startswith("--budget") for argument in arguments):
        arguments += ["--budget", "2"]
    if rng.random() > care:
        arguments.insert(int(rng.integers(1, len(arguments) + 1)), str(rng.choice(ODD)))
    return arguments, outputs


def _value(parameter: Parameter, rng: np.random.Generator, files: list[str], suits: bool) -> str:
    """Draw a value: one that suits the parameter, or anything."""
    if suits and parameter.name in SUITABLE:
        pool: Sequence[str] = SUITABLE[parameter.name]
    elif suits and isinstance(parameter.kind, type) and issubclass(parameter.kind, Enum):
        pool = [str(choice.value) for choice in parameter.kind]
    elif parameter.kind in (int, float):
        pool = ("1", "2", "3", "200") if suits else (*ODD_NUMBERS, *ODD)
    elif suits and parameter.kind is str:
        pool = TEXTS
    else:
        pool = (*files, *files, *TEXTS, *ODD, *ODD_NUMBERS)
    return str(pool[int(rng.integers(len(pool)))])


def _spelled(parameter: Parameter, value: str, rng: np.random.Generator) -> list[str]:
    """Write an argument, a flag, or an option in one of its spellings."""
    if not parameter.spellings:
        return [value]
    name = str(rng.choice(parameter.spellings))
    if parameter.kind is bool:
        return [name]
    return [f"{name}={value}"] if name.startswith("--") and rng.random() < 0.3 else [name, value]


def changes(ended: Ended, world: Path, before: dict[Path, str], outputs: list[str]) -> list[str]:
    """List files that the command lost, changed or left, although nobody told it to."""
    lost, changed, new = differences(before, snapshot(world))
    targets = {Path(os.path.realpath(world / output)) for output in outputs if "\0" not in output}
    defaults = {world / name for name in DEFAULT_OUTPUTS}

    def is_target(path: Path) -> bool:
        is_default = path in defaults or DEFAULT_PROJECT in path.relative_to(world).parts
        return is_default or any(path.resolve().is_relative_to(target) for target in targets)

    read = {Path(os.path.realpath(world / argument)) for argument in ended.arguments[1:] if argument not in outputs}
    wrong = [f"lost '{path}'" for path in lost]
    wrong += [f"left '{path}'" for path in new if UNFINISHED in path.name or not is_target(path)]
    wrong += [f"left '{path}' in spite of an error" for path in new if ended.code != OK and is_target(path)]
    for path in changed:
        is_allowed = ended.code == OK and (path.suffix == ".inv" or "--overwrite" in ended.arguments)
        if not is_target(path) or not is_allowed or path.resolve() in read:
            wrong.append(f"changed '{path}'")
    return [ended.blamed("; ".join(sorted(wrong)))] if wrong else []


PART = Part("arguments", 300, lambda number: 1200.0, prepare, run, n_together=5)
