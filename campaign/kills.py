"""Commands killed at random moments: what they replace is the old file or a whole new one, and running again works.

SIGINT ends a command with exit code 130, SIGTERM with 143; both leave nothing behind. SIGKILL may leave hidden files,
which the next run removes. Every fifth kill hits a new interpreter, the others a fork of this one.
"""

import json
import signal
import time
from pathlib import Path
from typing import NamedTuple

from campaign.commands import INTERRUPTED, OK, SECONDS, TERMINATED, Ended, run_command, start_command
from campaign.part import Case, Findings, Part
from campaign.snapshots import leftovers
from campaign.victims import VICTIMS, arguments_of, has_all_new, place, prepare_victims, wrong_files

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


def run(case: Case) -> Findings:
    """Kill a command, judge what is left, and run it again."""
    name = list(VICTIMS)[case.number % len(VICTIMS)]
    number = SIGNALS[case.rng.integers(len(SIGNALS))]
    is_real = case.number % N_PER_REAL == 0
    has_old = bool(case.rng.random() < 0.7)
    world, arguments = place(case, name, has_old), arguments_of(name)
    ended = _kill(arguments, world, number, is_real, _draw_moment(case, name, is_real))
    faults = _faults(ended, number, has_all_new(world, name))
    # `segment` writes two files at a time.
    wrong = wrong_files(world, name, has_old, ended, max_hidden=2 if number == signal.SIGKILL else 0)
    faults += [ended.blamed(f"{number.name}: {what}") for what in wrong]
    again = run_command(arguments, world)
    faults += again.faults([OK])
    if not faults and (leftovers(world) or not has_all_new(world, name)):
        faults.append(again.blamed(f"after {number.name} another run gave another result, or left {leftovers(world)}"))
    findings = Findings()
    outcome = "before the kill" if ended.code == OK else "killed"
    findings.add(f"{name} {number.name} {outcome}", faults)
    return findings


class Moment(NamedTuple):
    """When to kill: so many seconds after the start, or after the command has begun to write."""

    seconds: float
    is_writing: bool


def _draw_moment(case: Case, name: str, is_real: bool) -> Moment:
    if case.rng.random() < 0.5:
        return Moment(float(case.rng.uniform(0, WRITING_SECONDS)), is_writing=True)
    seconds = json.loads((case.inputs / "victims" / "seconds.json").read_text())[name]
    return Moment(float(case.rng.uniform(0, seconds + (REAL_START_SECONDS if is_real else 0))), is_writing=False)


def _kill(arguments: list[str], world: Path, number: signal.Signals, is_real: bool, moment: Moment) -> Ended:
    running = start_command(arguments, world, is_real=is_real)
    while moment.is_writing and running.is_alive(SECONDS) and not leftovers(world):
        time.sleep(0.0005)
    time.sleep(moment.seconds)
    running.send(number)
    return running.wait()


def _faults(ended: Ended, number: signal.Signals, is_complete: bool) -> list[str]:
    """List wrong exit codes and outcries.

    Before our code runs, and after it has written everything, Python reports an interrupt in its own way.
    """
    is_before = "KeyboardInterrupt" in ended.err and "invariance/__main__" not in ended.err
    is_after = is_complete and ended.code == -signal.SIGINT
    return [] if number == signal.SIGINT and (is_before or is_after) else ended.faults(ALLOWED[number])


PART = Part("kills", 200, lambda number: 2400.0, prepare_victims, run, n_together=4)
