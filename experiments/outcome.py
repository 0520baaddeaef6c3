"""What an experiment found, and the paper's figures."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Outcome(NamedTuple):
    """One row of a table: a method's figures over several runs, the paper's figure or None, and seconds per run."""

    method: str
    figures: np.ndarray
    paper: float | None
    seconds: float

    def __str__(self) -> str:
        paper = "" if self.paper is None else f", paper {self.paper:.1f}"
        return f"{self.method}: {self.mean:.2f} ± {self.deviation:.2f} in {len(self.figures)} runs{paper}"

    @property
    def mean(self) -> float:
        """Mean over the runs."""
        return float(np.mean(self.figures))

    @property
    def deviation(self) -> float:
        """Standard deviation over the runs; NaN for a single one."""
        return float(np.std(self.figures, ddof=1)) if len(self.figures) > 1 else float("nan")


class Table(NamedTuple):
    """Rows that share a task; `better` is "lower", "higher", or "neither" where the paper's figure is the target.

    `is_papers_task` says whether the paper's figures belong to this task. If not, for example because the paper's data
    are not available, they are shown but not judged by.
    """

    title: str
    better: str
    outcomes: list[Outcome]
    is_papers_task: bool = True

    @property
    def direction(self) -> str:
        """Which figures are better, in words."""
        return "neither direction is better" if self.better == "neither" else f"{self.better} is better"


class Curve(NamedTuple):
    """A method's rates (runs, places) in per cent at some places, such as numbers of examples or components."""

    method: str
    places: tuple[float, ...]
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
    """Curves over the same places: title, labels of the axes, and whether the axis of places is logarithmic."""

    title: str
    places: str
    rates: str
    curves: list[Curve]
    is_log: bool = False


class Drawing(NamedTuple):
    """A drawing that is kept as it was made: its title, and a PNG file in base64."""

    title: str
    png: str


class Found(NamedTuple):
    """All that one experiment found."""

    tables: list[Table]
    plots: Sequence[Plot] = ()
    drawings: Sequence[Drawing] = ()
