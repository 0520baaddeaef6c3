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
