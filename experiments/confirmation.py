"""Confirm a stored result whose code has changed: repeat its first run, and compare every figure of it."""

from datetime import UTC, datetime

import numpy as np

from experiments.experiment import Experiment
from experiments.results import DIGITS, Result, fingerprint, perform

Figures = dict[tuple[str, str], np.ndarray]


def confirm(result: Result, experiment: Experiment) -> Result:
    """The result, marked as current if its first run, repeated with the present code, has the same figures.

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
        If a figure differs, if rows were added or removed, or if no figure belongs to a single run.
    """
    expected, found = (first_figures(one) for one in (result, perform(experiment, 1, result.seed or 0)))
    cure = f"Run it again: python -m experiments {experiment.name} --runs {result.runs} --force"
    if not expected:
        raise ValueError(f"{experiment.name} has no figure of a single run to compare. {cure}")
    if changed := sorted(set(expected) ^ set(found)):
        raise ValueError(f"{experiment.name}: rows were added or removed, {_name(changed[0])} among them. {cure}")
    differing = [key for key in expected if not _are_equal(expected[key], found[key])]
    if differing:
        first = differing[0]
        raise ValueError(
            f"{experiment.name}: {len(differing)} of {len(expected)} figures of the first run differ, {_name(first)} "
            f"is {found[first]}, stored is {expected[first]}. {cure}"
        )
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return result._replace(fingerprint=fingerprint(experiment, result.runs, result.seed or 0, False), confirmed=now)


def first_figures(result: Result) -> Figures:
    """The figures of the first run by title and method, of tables and plots; figures over all runs are left out."""
    rows = {
        (table.title, outcome.method): outcome.figures[:1]
        for table in result.found.tables
        for outcome in table.outcomes
        if len(outcome.figures) == result.runs
    }
    curves = {
        (f"{plot.title}, curve", curve.method): curve.rates[0]
        for plot in result.found.plots
        for curve in plot.curves
        if len(curve.rates) == result.runs
    }
    return {**rows, **curves}


def _are_equal(stored: np.ndarray, repeated: np.ndarray) -> bool:
    """Whether figures are equal as they are stored, in `DIGITS` digits."""
    return stored.shape == repeated.shape and np.allclose(
        stored, np.round(repeated, DIGITS), rtol=0, atol=1.5 * 10.0**-DIGITS, equal_nan=True
    )


def _name(key: tuple[str, str]) -> str:
    return f"'{key[1]}' of '{key[0]}'"
