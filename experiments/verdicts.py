"""The rule by which a figure counts as reached, beaten or not reached, and a paper's claim as reached or not."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import t

from experiments.outcome import Outcome, Table

TOLERANCE = 1.0
MIN_RUNS = 5
LEVEL = 0.05
RUN = "run"
REACHED, BEATEN, NOT_REACHED, UNDECIDED = "reached", "beaten", "not reached", "undecided"
REACHED_ONCE = "reached once"
NOT_JUDGED, DATA_MISSING, NOT_RUN = "not judged", "data missing", "not run"
VERDICTS = (REACHED, REACHED_ONCE, BEATEN, NOT_REACHED, UNDECIDED, NOT_JUDGED, DATA_MISSING, NOT_RUN)
CONFIDENCE = f"{100 * (1 - LEVEL):g} %"
RULE = (
    f"A figure of a paper is {REACHED} if the mean of at least two runs lies within {TOLERANCE:g} point of it; "
    f"one that a single run gives is {REACHED_ONCE}, which is counted apart. It is {BEATEN} "
    f"if the mean is better by more than that and, over at least {MIN_RUNS} runs, the {CONFIDENCE} interval of the "
    f"mean lies on the better side of it; {UNDECIDED} if the interval does not, or there are fewer runs. It is "
    f"{NOT_REACHED} if the mean is worse by more than that, or differs by more where neither direction is better. A "
    f"claim compares two methods run by run on the same data, by the {CONFIDENCE} interval of their mean difference "
    f"(a paired t-test at {100 * LEVEL:g} %). One method is better than the other ({REACHED}) if the interval lies "
    f"above 0, {NOT_REACHED} if it lies below 0. Two methods are level ({REACHED}) if the interval lies within "
    f"{TOLERANCE:g} point of 0, {NOT_REACHED} if all of it is further away. Otherwise, or with fewer than {MIN_RUNS} "
    f"runs, a claim is {UNDECIDED}; so is one that would be {REACHED} by runs that are not independent, for example "
    "because they share their training data. Random splits of one data set are counted as independent, though they "
    f"share some images, so that their intervals are rather too narrow. Rows of 0 against 0, within {TOLERANCE:g} "
    f"point, are {NOT_JUDGED}. Where the paper's data are not available, its figures are not judged ({DATA_MISSING}); "
    "its claims are judged on the data used instead."
)


class Claim(NamedTuple):
    """What a paper says about two methods of a table: the first is "better" than the second, or "level" with it.

    `is_papers` is False where we say it, about rows of ours or about a comparison that the paper does not have.
    """

    sentence: str
    table: str
    first: str
    second: str
    relation: str = "better"
    is_papers: bool = True


class Interval(NamedTuple):
    """A mean over runs and the bounds of its 95 % confidence interval; the bounds of a single run are infinite."""

    mean: float
    low: float
    high: float
    n_runs: int

    def describe(self, unit: str = RUN) -> str:
        """The interval in words; `unit` is what one figure stands for."""
        if self.n_runs < 2:
            return f"{self.mean:.2f} in {count(self.n_runs, unit)}"
        bounds = f"{CONFIDENCE} interval {self.low:.2f} to {self.high:.2f}"
        return f"{self.mean:.2f}, {bounds}, {count(self.n_runs, unit)}"


def count(n: int, unit: str = RUN) -> str:
    """A number of runs, or of other units, in words."""
    return f"{n} {unit}{'s' * (n != 1)}"


def interval_of(figures: np.ndarray) -> Interval:
    """The mean of some runs (n,) with its confidence interval, by Student's t."""
    n, mean = len(figures), float(np.mean(figures))
    if n < 2:
        return Interval(mean, -np.inf, np.inf, n)
    reach = float(t.ppf(1 - LEVEL / 2, n - 1) * np.std(figures, ddof=1) / np.sqrt(n))
    return Interval(mean, mean - reach, mean + reach, n)


def lead_of(first: np.ndarray, second: np.ndarray, better: str) -> Interval:
    """By how much the runs (n,) of the first method are better than those of the second on the same data."""
    lead = np.asarray(first) - np.asarray(second)
    return interval_of(-lead if better == "lower" else lead)


def judge_figure(outcome: Outcome, table: Table) -> str | None:
    """The verdict on a row, None if the paper has no figure for it."""
    if outcome.paper is None:
        return None
    if not table.is_papers_task:
        return DATA_MISSING
    if outcome.paper == 0 and abs(outcome.mean) <= TOLERANCE:
        return NOT_JUDGED
    lead = lead_of(outcome.figures, np.full(len(outcome.figures), outcome.paper), table.better)
    if abs(lead.mean) <= TOLERANCE:
        return REACHED if lead.n_runs > 1 else REACHED_ONCE
    if not lead.mean > 0 or table.better == "neither":
        return NOT_REACHED
    return BEATEN if lead.low > 0 and lead.n_runs >= MIN_RUNS else UNDECIDED


def judge_claim(
    claim: Claim, tables: Sequence[Table], has_independent_runs: bool = True, unit: str = RUN
) -> tuple[str, str]:
    """The verdict on a claim, and the observed difference in words; "not run" where a method or runs are missing.

    `unit` is what one figure of the table stands for.
    """
    table = next((table for table in tables if table.title == claim.table), None)
    rows = {} if table is None else {outcome.method: outcome.figures for outcome in table.outcomes}
    if table is None or claim.first not in rows or claim.second not in rows:
        return NOT_RUN, "one of the methods was not run"
    first, second = rows[claim.first], rows[claim.second]
    if len(first) != len(second) or not len(first):
        return NOT_RUN, "the methods have different numbers of runs, so that they cannot be paired"
    if not np.any(first) and not np.any(second):
        return NOT_JUDGED, "0 against 0"
    lead = lead_of(first, second, table.better)
    seen = f"better by {lead.describe(unit)}"
    if lead.n_runs < MIN_RUNS:
        return UNDECIDED, f"{seen}, of at least {MIN_RUNS} that are needed"
    verdict = _judge_level(lead) if claim.relation == "level" else _judge_better(lead)
    if not has_independent_runs:
        return UNDECIDED if verdict == REACHED else verdict, f"{seen}, which are not independent"
    return verdict, seen


def _judge_better(lead: Interval) -> str:
    """Whether a difference shows that the first method is better; "not reached" if it is shown to be worse."""
    if lead.low > 0:
        return REACHED
    return NOT_REACHED if lead.high < 0 else UNDECIDED


def _judge_level(lead: Interval) -> str:
    """Whether a difference shows that two methods are level; "not reached" if they are shown not to be."""
    if lead.low >= -TOLERANCE and lead.high <= TOLERANCE:
        return REACHED
    return NOT_REACHED if lead.low > TOLERANCE or lead.high < -TOLERANCE else UNDECIDED


def summarize(tables: Sequence[Table], claims: Sequence[Claim], has_independent_runs: bool = True) -> str:
    """How many of the paper's figures and claims, and of claims of ours, have each verdict, in words."""
    of_figures = [judge_figure(outcome, table) for table in tables for outcome in table.outcomes]
    of_claims, of_ours = (
        [judge_claim(claim, tables, has_independent_runs)[0] for claim in claims if claim.is_papers == is_papers]
        for is_papers in (True, False)
    )
    parts = []
    for kind, verdicts in (("figures", of_figures), ("claims", of_claims), ("claims of ours", of_ours)):
        counts = Counter(verdict for verdict in verdicts if verdict is not None)
        if counts:
            parts.append(f"{kind}: " + ", ".join(f"{counts[v]} {v}" for v in VERDICTS if counts[v]))
    return "; ".join(parts) or "the paper has no figure for it"
