"""Results of experiments, one JSON file per experiment, so that an interrupted `--all` can be resumed."""

import hashlib
import json
import os
import platform
import sys
import time
from contextlib import redirect_stdout
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.experiment import Experiment
from experiments.outcome import Curve, Drawing, Found, Outcome, Plot, Table
from experiments.sources import source_of
from invariance._core.files import atomic_path
from invariance._version import __version__

DIGITS = 4


class Result(NamedTuple):
    """What an experiment found, and how to repeat it; `seed` is None where splits are fixed.

    `cpu_seconds` includes all threads but no child processes; on a busy machine it says more than `seconds`.
    `confirmed` is the time at which the first runs were repeated with later code and had the same figures, else None.
    """

    name: str
    runs: int
    seed: int | None
    is_quick: bool
    seconds: float
    cpu_seconds: float
    finished: str
    version: str
    machine: str
    fingerprint: str
    found: Found
    confirmed: str | None = None


def perform(experiment: Experiment, runs: int | None = None, seed: int = 0, is_quick: bool = False) -> Result:
    """Run an experiment; what it prints on the way goes to standard error."""
    assert experiment.run is not None
    runs = check_runs(experiment, runs, is_quick)
    code = fingerprint(experiment, runs, seed, is_quick)  # before the run, during which files may change
    started, cpu_started = time.perf_counter(), time.process_time()
    with redirect_stdout(sys.stderr):
        found = experiment.run(runs, seed, is_quick)
    return Result(
        name=experiment.name,
        runs=runs,
        seed=seed if experiment.has_seed else None,
        is_quick=is_quick,
        seconds=round(time.perf_counter() - started, 1),
        cpu_seconds=round(time.process_time() - cpu_started, 1),
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
        version=__version__,
        machine=f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}",
        fingerprint=code,
        found=found,
    )


def check_runs(experiment: Experiment, runs: int | None, is_quick: bool = False) -> int:
    """The number of runs: as given, else the experiment's default or one in a rehearsal; at most its `max_runs`."""
    chosen = runs if runs is not None else 1 if is_quick else experiment.runs
    return chosen if experiment.max_runs is None else min(chosen, experiment.max_runs)


def fingerprint(experiment: Experiment, runs: int, seed: int, is_quick: bool) -> str:
    """Hash of the settings of an experiment and of all code it runs through, that of the library included.

    Comments, docstrings, layout and the file that a definition is in do not count.
    """
    assert experiment.run is not None
    settings = [experiment.name, runs, seed if experiment.has_seed else None, is_quick]
    text = json.dumps([settings, sorted(code for code in source_of(experiment.run).values() if code)])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def is_current(result: Result | None, experiment: Experiment, runs: int, seed: int, is_quick: bool) -> bool:
    """Whether a result comes from the present code with these settings."""
    return result is not None and result.fingerprint == fingerprint(experiment, runs, seed, is_quick)


def is_outdated(result: Result, experiment: Experiment) -> bool:
    """Whether the code that an experiment runs through has changed since a result was found."""
    return not is_current(result, experiment, result.runs, result.seed or 0, result.is_quick)


def command_of(result: Result) -> str:
    """The command that repeats a result."""
    seed = f" --seed {result.seed}" if result.seed else ""
    return f"python -m experiments {result.name} --runs {result.runs}{seed}"


def write_result(result: Result, folder: Path) -> Path:
    """Write a result into a folder, atomically, and return its file."""
    file = folder / f"{result.name}.json"
    with atomic_path(file) as neighbour:
        neighbour.write_text(json.dumps(as_json(result), indent=1) + "\n", encoding="utf-8")
    return file


def read_result(name: str, folder: Path) -> Result | None:
    """The stored result of an experiment, or None."""
    file = folder / f"{name}.json"
    if not file.exists():
        return None
    try:
        return from_json(json.loads(file.read_text(encoding="utf-8")))
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"cannot read the result '{file}': {error}. Delete it to run {name} again.") from None


def as_json(result: Result) -> dict[str, Any]:
    """A result in terms of JSON; NaN becomes null."""
    tables = [
        {**table._asdict(), "outcomes": [_plain(outcome._asdict()) for outcome in table.outcomes]}
        for table in result.found.tables
    ]
    plots = [
        {**plot._asdict(), "curves": [_plain(curve._asdict()) for curve in plot.curves]} for plot in result.found.plots
    ]
    drawings = [drawing._asdict() for drawing in result.found.drawings]
    return {**result._asdict(), "found": {"tables": tables, "plots": plots, "drawings": drawings}}


def from_json(stored: dict[str, Any]) -> Result:
    """The reverse of `as_json`."""
    tables = [
        Table(**{**table, "outcomes": [_outcome(**row) for row in table["outcomes"]]})
        for table in stored["found"]["tables"]
    ]
    plots = [
        Plot(**{**plot, "curves": [_curve(**curve) for curve in plot["curves"]]}) for plot in stored["found"]["plots"]
    ]
    drawings = [Drawing(**drawing) for drawing in stored["found"].get("drawings", [])]
    return Result(**{**stored, "found": Found(tables, plots, drawings)})


def _outcome(method: str, figures: list, paper: float | None, seconds: float | None) -> Outcome:
    return Outcome(method, np.array(figures, float), paper, float("nan") if seconds is None else seconds)


def _curve(method: str, places: list[int], rates: list) -> Curve:
    return Curve(method, tuple(places), np.array(rates, float))


def _plain(value: Any) -> Any:
    """Arrays as lists, figures rounded, NaN as None."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, float | np.floating):
        return round(float(value), DIGITS) if np.isfinite(value) else None
    return int(value) if isinstance(value, np.integer) else value
