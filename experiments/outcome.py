"""What an experiment found, beside what the paper says."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Outcome(NamedTuple):
    """One row of a table: a method's figures over several runs, the paper's figure if it has one, seconds a run."""

    method: str
    figures: np.ndarray
    paper: float | None
    seconds: float

    @property
    def mean(self) -> float:
        """Mean over the runs."""
        return float(np.mean(self.figures))

    @property
    def deviation(self) -> float:
        """Standard deviation over the runs; NaN for a single one."""
        return float(np.std(self.figures, ddof=1)) if len(self.figures) > 1 else float("nan")


class Table(NamedTuple):
    """Rows that share a task; `better` is "lower" or "higher", or "neither" where a figure should be as the paper's.

    `is_papers_task` tells whether the paper's figures are of this task. If not, as where the paper's data are not to be
    had, they stand beside ours to be looked at, and are not judged by.
    """

    title: str
    better: str
    outcomes: list[Outcome]
    is_papers_task: bool = True

    @property
    def direction(self) -> str:
        """What is wanted of the figures, in words."""
        return "no figure is better than another" if self.better == "neither" else f"{self.better} is better"


class Curve(NamedTuple):
    """A method's rates (runs, places) in per cent at some places, such as numbers of examples or of components."""

    method: str
    places: tuple[int, ...]
    rates: np.ndarray

    @property
    def means(self) -> np.ndarray:
        """Means (places,) over the runs."""
        return self.rates.mean(axis=0)

    @property
    def deviations(self) -> np.ndarray:
        """Standard deviations (places,) over the runs; NaN for a single one."""
        return self.rates.std(axis=0, ddof=1) if len(self.rates) > 1 else np.full(len(self.places), np.nan)


class Plot(NamedTuple):
    """Curves over the same places: a title, what the places and the rates are, and whether places are spread by log."""

    title: str
    places: str
    rates: str
    curves: list[Curve]
    is_log: bool = False


class Found(NamedTuple):
    """All that one experiment found."""

    tables: list[Table]
    plots: Sequence[Plot] = ()


def as_text(title: str, outcomes: Sequence[Outcome]) -> str:
    """The table in plain text, figures in per cent."""
    width = max(len(outcome.method) for outcome in outcomes)
    lines = [title, f"{'method':{width}}  paper   ours  deviation  runs  seconds a run"]
    for outcome in outcomes:
        paper = "    -" if outcome.paper is None else f"{outcome.paper:5.1f}"
        lines.append(
            f"{outcome.method:{width}}  {paper}  {outcome.mean:5.2f}  {outcome.deviation:9.2f}  "
            f"{len(outcome.figures):4d}  {outcome.seconds:13.1f}"
        )
    return "\n".join(lines)
