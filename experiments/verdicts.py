"""The rule by which a figure counts as reached, beaten or not reached, and a paper's claim as reached or not."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from experiments.outcome import Outcome, Table

TOLERANCE = 1.0
REACHED, BEATEN, NOT_REACHED, DATA_MISSING, NOT_RUN = "reached", "beaten", "not reached", "data missing", "not run"
VERDICTS = (REACHED, BEATEN, NOT_REACHED, DATA_MISSING, NOT_RUN)
RULE = (
    f"A figure of a paper is reached if the mean of our runs lies within {TOLERANCE:g} point of it, or within one "
    "standard deviation of our runs if that is larger; beaten if it is better by more than that; not reached if it is "
    "worse by more, or differs by more where neither direction is better. A claim that one method is better than "
    "another is reached if, over at least two runs that share their data, the mean difference exceeds its standard "
    f"error; a claim that two methods are level, if the difference is at most {TOLERANCE:g} point or its standard "
    "error. Where the paper's data are not available, its figures are not judged (data missing); its claims are judged "
    "on the data used instead."
)


class Claim(NamedTuple):
    """What a paper says about two methods of a table: the first is "better" than the second, or "level" with it."""

    sentence: str
    table: str
    first: str
    second: str
    relation: str = "better"


def judge_figure(outcome: Outcome, table: Table) -> str | None:
    """The verdict on a row, None if the paper has no figure for it."""
    if outcome.paper is None:
        return None
    if not table.is_papers_task:
        return DATA_MISSING
    if not np.isfinite(outcome.mean):
        return NOT_REACHED
    ahead = outcome.paper - outcome.mean if table.better == "lower" else outcome.mean - outcome.paper
    tolerance = max(TOLERANCE, float(np.nan_to_num(outcome.deviation)))
    if abs(ahead) <= tolerance:
        return REACHED
    return BEATEN if ahead > 0 and table.better != "neither" else NOT_REACHED


def judge_claim(claim: Claim, tables: Sequence[Table]) -> tuple[str, str]:
    """The verdict on a claim, and the observed difference in words; "not run" where a method or runs are missing."""
    table = next((table for table in tables if table.title == claim.table), None)
    rows = {} if table is None else {outcome.method: outcome.figures for outcome in table.outcomes}
    if table is None or claim.first not in rows or claim.second not in rows:
        return NOT_RUN, "one of the methods was not run"
    if len(rows[claim.first]) != len(rows[claim.second]) or len(rows[claim.first]) < 2:
        return NOT_RUN, "at least two runs that share their data are needed"
    ahead = np.asarray(rows[claim.first]) - np.asarray(rows[claim.second])
    ahead = -ahead if table.better == "lower" else ahead
    error = float(ahead.std(ddof=1) / np.sqrt(len(ahead)))
    is_level = abs(ahead.mean()) <= max(TOLERANCE, error)
    is_seen = is_level if claim.relation == "level" else ahead.mean() > error
    seen = f"better by {ahead.mean():.2f} ± {error:.2f} over {len(ahead)} paired figures"
    return (REACHED if is_seen else NOT_REACHED), seen


def summarize(tables: Sequence[Table], claims: Sequence[Claim]) -> str:
    """How many of the paper's figures and claims have each verdict, in words."""
    of_figures = [judge_figure(outcome, table) for table in tables for outcome in table.outcomes]
    of_claims = [judge_claim(claim, tables)[0] for claim in claims]
    parts = []
    for kind, verdicts in (("figures", of_figures), ("claims", of_claims)):
        counts = Counter(verdict for verdict in verdicts if verdict is not None)
        if counts:
            parts.append(f"{kind}: " + ", ".join(f"{counts[v]} {v}" for v in VERDICTS if counts[v]))
    return "; ".join(parts) or "the paper has no figure for it"
