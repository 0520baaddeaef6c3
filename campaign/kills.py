"""Commands killed at random moments: what they replace is the old file or a whole new one, and running again works.

SIGINT ends a command with exit code 130, SIGTERM with 143; both leave nothing behind. SIGKILL may leave one hidden file,
which the next run removes. Every fifth kill hits a new interpreter, the others a fork of this one.
"""

import json
import shutil
import signal
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from campaign.commands import INTERRUPTED, OK, TERMINATED, Ended, run_command, start_command
from campaign.fingerprints import fingerprint
from campaign.part import Case, Findings, Part
from campaign.snapshots import leftovers
from campaign.world import FIT, FIT_PIXELS, make_world, must_run

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
ALLOWED = {
    signal.SIGKILL: (OK, -signal.SIGKILL),
    # Before a command has installed its handler, the signal itself ends it; a shell shows 143 in both cases.
    signal.SIGTERM: (OK, TERMINATED, -signal.SIGTERM),
    signal.SIGINT: (OK, INTERRUPTED),
}
N_PER_REAL = 5
WRITING_SECONDS = 0.02  # within which a command that has begun to write is killed
REAL_START_SECONDS = 2.0  # of a new interpreter, on top of the time of a fork


class Victim(NamedTuple):
    """A command that writes into the folder `out`, and the same command as it was run before."""

    arguments: list[str]
    before: list[str]


VICTIMS = {
    "fit": Victim(
        ["fit", "photos", "-o", "out/m.inv", *FIT, "--seed", "1"], ["fit", "photos", "-o", "out/m.inv", *FIT]
    ),
    "fit-pixels": Victim(
        ["fit-pixels", "cells", "masks", "-o", "out/p.inv", *FIT_PIXELS, "--seed", "1"],
        ["fit-pixels", "cells", "masks", "-o", "out/p.inv", *FIT_PIXELS],
    ),
    "predict": Victim(
        ["predict", "m.inv", "photos", "-o", "out/labels.csv"],
        ["predict", "m.inv", "photos/level", "-o", "out/labels.csv"],
    ),
    "segment": Victim(
        ["segment", "p.inv", "cells.tif", "cells", "-o", "out", "--probabilities"],
        ["segment", "other.inv", "cells.tif", "cells", "-o", "out", "--probabilities"],
    ),
}


def prepare(inputs: Path, is_short: bool) -> None:
    """Run every victim twice: the old results, the new ones, and how long these took."""
    make_world(inputs)
    world = inputs / "kills"
    shutil.copytree(inputs / "world", world)
    must_run(["fit-pixels", "masks", "masks", "-o", "other.inv", *FIT_PIXELS, "--seed", "3"], world)
    seconds = {}
    for name, victim in VICTIMS.items():
        for state, arguments in (("old", victim.before), ("new", victim.arguments)):
            (world / "out").mkdir()
            started = time.monotonic()
            must_run(arguments, world)
            seconds[name] = time.monotonic() - started
            (world / "out").rename(world / f"{name}-{state}")
    (world / "seconds.json").write_text(json.dumps(seconds))


def run(case: Case) -> Findings:
    """Kill a command, judge what is left, and run it again."""
    name = list(VICTIMS)[case.number % len(VICTIMS)]
    number = SIGNALS[case.rng.integers(len(SIGNALS))]
    is_real = case.number % N_PER_REAL == 0
    world = case.folder / "world"
    shutil.copytree(case.inputs / "kills", world)
    has_old = bool(case.rng.random() < 0.7)
    if has_old:
        shutil.copytree(world / f"{name}-old", world / "out")
    else:
        (world / "out").mkdir()
    arguments = [*VICTIMS[name].arguments, *_overwrite(name)]
    ended = _kill(arguments, world, number, is_real, _moment(case, name, is_real))
    faults = _faults(ended, number, is_real)
    faults += [ended.blamed(f"{number.name}: {wrong}") for wrong in _wrong_files(world, name, has_old, ended, number)]
    again = run_command(arguments, world)
    faults += again.faults([OK])
    if not faults and (leftovers(world) or not _has_all_new(world, name)):
        faults.append(again.blamed(f"after {number.name} another run gave another result, or left {leftovers(world)}"))
    findings = Findings()
    outcome = "before the kill" if ended.code == OK else "killed"
    findings.add(f"{name} {number.name} {outcome}", faults)
    return findings


def _overwrite(name: str) -> list[str]:
    """Return the option that allows a command to replace files, if it has one."""
    from campaign.arguments import all_parameters

    return ["--overwrite"] if any(parameter.name == "overwrite" for parameter in all_parameters()[name]) else []


def _moment(case: Case, name: str, is_real: bool) -> float | None:
    """Draw when to kill, in seconds after the start; None is while the command writes."""
    if case.rng.random() < 0.5:
        return None
    seconds = json.loads((case.inputs / "kills" / "seconds.json").read_text())[name]
    return float(case.rng.uniform(0, seconds + (REAL_START_SECONDS if is_real else 0)))


def _kill(arguments: list[str], world: Path, number: signal.Signals, is_real: bool, moment: float | None) -> Ended:
    running = start_command(arguments, world, is_real=is_real)
    if moment is None:
        while running.is_alive() and not leftovers(world) and time.monotonic() - running.started < 60:
            time.sleep(0.0005)
        moment = float(np.random.default_rng().uniform(0, WRITING_SECONDS))
    else:
        moment -= time.monotonic() - running.started
    time.sleep(max(0.0, moment))
    running.send(number)
    return running.wait()


def _faults(ended: Ended, number: signal.Signals, is_real: bool) -> list[str]:
    """List wrong exit codes and outcries; before our code runs, Python reports an interrupt in its own way."""
    if is_real and number == signal.SIGINT and "KeyboardInterrupt" in ended.err and ", in main" not in ended.err:
        return []
    return ended.faults(ALLOWED[number])


def _wrong_files(world: Path, name: str, has_old: bool, ended: Ended, number: signal.Signals) -> list[str]:
    """List files in `out` that are neither the old nor the new ones, and what was left behind or got lost."""
    old = _prints(world / f"{name}-old") if has_old else {}
    new = _prints(world / f"{name}-new")
    found = _prints(world / "out") if (world / "out").exists() else {}
    hidden = leftovers(world)
    wrong = [f"'{path}' is lost" for path in old if path not in found]
    for path, content in found.items():
        if ".unfinished" not in path and content not in (old.get(path), new.get(path)):
            wrong.append(f"'{path}' is neither the old nor the new one")
    if len(hidden) > (2 if number == signal.SIGKILL else 0):  # `segment` writes two files at a time
        wrong.append(f"left {', '.join(hidden)}")
    if any(not Path(path).name.startswith(".") for path in hidden):
        wrong.append(f"left a file that is not hidden: {', '.join(hidden)}")
    if ended.code == OK and not _has_all_new(world, name):
        wrong.append("exit code 0, but not all results are new")
    return wrong


def _has_all_new(world: Path, name: str) -> bool:
    return _prints(world / "out") == _prints(world / f"{name}-new")


def _prints(folder: Path) -> dict[str, str]:
    """Map file names to fingerprints; a file that has none is broken."""
    found = {}
    for path in sorted(folder.iterdir()):
        try:
            found[path.name] = "" if ".unfinished" in path.name else fingerprint(path)
        except Exception as error:
            found[path.name] = f"broken ({error})"
    return found


PART = Part("kills", 200, lambda number: 600.0, prepare, run, n_together=4)
