"""Confirm a stored result whose code has changed: repeat its first two runs, and compare every figure of them.

Two runs, not one: code that draws the same data in every run gives the figures of the first run and no others.
"""

from datetime import UTC, datetime

import numpy as np

from experiments.experiment import Experiment
from experiments.results import DIGITS, Result, fingerprint, perform

N_REPEATED = 2
Figures = dict[tuple[str, str], np.ndarray]


def confirm(result: Result, experiment: Experiment) -> Result:
    """The result, marked as current if its first runs, repeated with the present code, have the same figures.

    Parameters
    ----------
    result : Result
        A stored result of the experiment; its first run has the seed `result.seed`.
    experiment : Experiment

    Returns
    -------
    confirmed : Result
        With the fingerprint of the present code and the time of the confirmation.

    Raises
    ------
    ValueError
        If a figure or the number of figures differs, if rows were added or removed, or if no figure belongs to a run.
    """
    repeated = perform(experiment, min(N_REPEATED, result.runs), result.seed or 0)
    stored, found = figures_of(result), figures_of(repeated)
    cure = f"Run it again: python -m experiments {experiment.name} --runs {result.runs} --force"
    if changed := sorted(set(stored) ^ set(found)):
        raise ValueError(f"{experiment.name}: rows were added or removed, {_name(changed[0])} among them. {cure}")
    expected = {
        key: first_of(figures, result.runs, repeated.runs)
        for key, figures in stored.items()
        if not _is_over_all_runs(figures, found[key], result.runs, repeated.runs)
    }
    if not expected:
        raise ValueError(f"{experiment.name} has no figure of a single run to compare. {cure}")
    differing = [key for key in expected if not _are_equal(expected[key], found[key])]
    if differing:
        first = differing[0]
        raise ValueError(
            f"{experiment.name}: {len(differing)} of {len(expected)} rows of the first {repeated.runs} runs differ, "
            f"{_name(first)} has {found[first]}, stored are {expected[first]}. {cure}"
        )
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return result._replace(fingerprint=fingerprint(experiment, result.runs, result.seed or 0, False), confirmed=now)


def figures_of(result: Result) -> Figures:
    """All figures by title and method, of tables and plots; runs are along the first axis."""
    rows = {
        (table.title, outcome.method): outcome.figures for table in result.found.tables for outcome in table.outcomes
    }
    curves = {
        (f"{plot.title}, curve", curve.method): curve.rates for plot in result.found.plots for curve in plot.curves
    }
    return {**rows, **curves}


def first_of(figures: np.ndarray, n_runs: int, n_first: int) -> np.ndarray:
    """The figures of the first of all runs, each of which may have several, one after the other."""
    return figures if n_first == n_runs else figures[: n_first * (len(figures) // n_runs)]


def _is_over_all_runs(stored: np.ndarray, repeated: np.ndarray, n_runs: int, n_repeated: int) -> bool:
    """Whether figures do not belong to runs: there are as many of fewer runs."""
    return len(stored) == len(repeated) and n_repeated < n_runs != len(stored)


def _are_equal(stored: np.ndarray, repeated: np.ndarray) -> bool:
    """Whether figures are equal as they are stored, in `DIGITS` digits."""
    return stored.shape == repeated.shape and np.allclose(
        stored, np.round(repeated, DIGITS), rtol=0, atol=1.5 * 10.0**-DIGITS, equal_nan=True
    )


def _name(key: tuple[str, str]) -> str:
    return f"'{key[1]}' of '{key[0]}'"
