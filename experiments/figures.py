"""`python -m experiments.figures`: write the tables of figures in README and the documentation from stored results.

A block begins with a line `<!-- figures: NAME -->` and ends with `<!-- end of figures -->`; what is between them is
replaced. Names are those of the rooms in `quotations`, "headlines" for the few rows of README, "measured" for all
rooms, "failed" for the claims that our runs do not show, and "missed" for figures of the papers that are furthest away.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from experiments.catalogue import EXPERIMENTS
from experiments.experiment import Experiment
from experiments.outcome import Outcome, Table
from experiments.quotations import PAPERS, QUOTATIONS, Quotation
from experiments.results import Result, command_of, fingerprint, read_result
from experiments.verdicts import (
    MIN_RUNS,
    NOT_REACHED,
    NOT_RUN,
    REACHED,
    UNDECIDED,
    VERDICTS,
    Claim,
    Interval,
    count,
    judge_claim,
    judge_figure,
    lead_of,
)
from invariance._core.files import atomic_path

ROOT = Path(__file__).parents[1]
README = Path("README.md")
PAGES = (README, Path("docs", "results.md"), *(Path("docs", "methods", f"{room}.md") for room in QUOTATIONS))
RESULTS = Path("docs", "reproductions", "results")
BLOCK = re.compile(
    r"^<!-- figures: (?P<name>.*?) -->\n(?P<text>.*?)^<!-- end of figures -->$", re.DOTALL | re.MULTILINE
)
HEAD = (
    "task",
    "this library",
    "strongest peer or ablation",
    "lead of the first over it",
    "stored result and command",
)
CLAIMS_HEAD = ("claim", "first method", "second method", "lead of the first", "verdict", "stored result and command")
MISSED_HEAD = ("figure of a paper", "paper", "ours", "runs", "stored result and command")
N_MISSED = 12

OUTDATED = "outdated"
OUTDATED_NOTE = (
    f'Rows marked "{OUTDATED}" are of earlier code: the experiment or the library has changed since the run, and '
    "it was not repeated."
)

Results = Mapping[str, Result]


def read_results(root: Path = ROOT) -> dict[str, Result]:
    """All stored results by name."""
    found = {path.stem: read_result(path.stem, root / RESULTS) for path in sorted((root / RESULTS).glob("*.json"))}
    return {name: result for name, result in found.items() if result is not None}


def rewrite(text: str, results: Results, page: Path) -> str:
    """The text of a page with all its blocks of figures written anew; `page` is its path in the repository."""
    if text.count("<!-- figures: ") != len(BLOCK.findall(text)):
        raise ValueError(
            f"'{page}' has a block of figures without an end. Add a line <!-- end of figures --> after it."
        )

    def write(block: re.Match) -> str:
        content = block_of(block["name"], results, page)
        if f", {OUTDATED} |" in content:
            content = f"{content}\n\n{OUTDATED_NOTE}"
        return f"<!-- figures: {block['name']} -->\n\n{content}\n\n<!-- end of figures -->"

    return BLOCK.sub(write, text)


def block_of(name: str, results: Results, page: Path) -> str:
    """The content of a block: a room's figures and its paper's claims, a few or all figures, or all that failed."""
    all_quoted = [quoted for room in QUOTATIONS.values() for quoted in room]
    if name == "headlines":
        return measured([quoted.as_headline() for quoted in all_quoted if quoted.headline], results, page)
    if name == "measured":
        return measured(all_quoted, results, page)
    if name == "failed":
        return f"{claims(results, page, tuple(PAPERS.values()), only_failed=True)}\n\n{counts(results)}"
    if name == "missed":
        return missed(results, page)
    if name not in QUOTATIONS:
        known = ", ".join(("headlines", "measured", "failed", "missed", *QUOTATIONS))
        raise ValueError(f"'{page}' has a block of figures named {name!r}. Try one of: {known}.")
    parts = [measured(QUOTATIONS[name], results, page)]
    if name in PAPERS:
        parts += [
            "What the paper says, and what we say of further rows (ours), and what was seen:",
            claims(results, page, (PAPERS[name],)),
        ]
    return "\n\n".join(parts)


def measured(quotations: Sequence[Quotation], results: Results, page: Path) -> str:
    """A table of quoted figures."""
    return _table(HEAD, [_row(quoted, results, page) for quoted in quotations])


def claims(results: Results, page: Path, papers: Sequence[str], only_failed: bool = False) -> str:
    """A table of claims with their verdicts, from all stored results; claims that were not run are counted only."""
    rows = []
    for experiment, claim, verdict in _judged(results):
        if experiment.paper not in papers or verdict == NOT_RUN:
            continue
        if only_failed and verdict == REACHED:
            continue
        result = results[experiment.name]
        named, source = _name_claim(claim, experiment, papers), source_of_figures(result, page)
        rows.append([named, *_seen(claim, experiment, result), verdict, source])
    return _table(CLAIMS_HEAD, rows)


def missed(results: Results, page: Path) -> str:
    """A table of the figures of the papers that our runs miss by most points."""
    found = [
        (EXPERIMENTS[result.name].paper, result, table, outcome)
        for result in results.values()
        for table in result.found.tables
        for outcome in table.outcomes
        if judge_figure(outcome, table) == NOT_REACHED
    ]
    furthest = sorted(found, key=lambda each: -abs(each[3].mean - (each[3].paper or 0)))[:N_MISSED]
    rows = [
        [f"{outcome.method}, {table.title} [{paper}]", f"{outcome.paper:.4g}", _figure(outcome.mean),
         count(len(outcome.figures)), source_of_figures(result, page)]
        for paper, result, table, outcome in furthest
    ]  # fmt: skip
    return f"{_table(MISSED_HEAD, rows)}\n\nThe {len(rows)} of {len(found)} figures not reached that are furthest away."


def _name_claim(claim: Claim, experiment: Experiment, papers: Sequence[str]) -> str:
    """The sentence of a claim, and whose it is where that is not plain: the only paper's, another's or ours."""
    if not claim.is_papers:
        return f"{claim.sentence} [ours]"
    return f"{claim.sentence} [{experiment.paper}]" if len(papers) > 1 else claim.sentence


def counts(results: Results) -> str:
    """How many claims of the papers and of ours, and figures of the papers, have each verdict, in a sentence each.

    Claims whose experiment or rows were not run are counted as such. Results of earlier code are counted, too; the
    last sentence says how many.
    """
    judged_claims = [(claim.is_papers, verdict) for _, claim, verdict in _judged(results)]
    of_claims, of_ours = (
        Counter(verdict for is_papers, verdict in judged_claims if is_papers == wanted) for wanted in (True, False)
    )
    tables = [table for result in results.values() for table in result.found.tables]
    judged = [judge_figure(outcome, table) for table in tables for outcome in table.outcomes]
    of_figures = Counter(verdict for verdict in judged if verdict is not None)
    parts = []
    kinds = {
        "claims of the papers": of_claims,
        "claims of ours": of_ours,
        "figures of the papers that have a row": of_figures,
    }
    for kind, of_kind in kinds.items():
        listed = ", ".join(f"{of_kind[verdict]} {verdict}" for verdict in VERDICTS if of_kind[verdict])
        parts.append(f"Of {of_kind.total()} {kind}: {listed}.")
    if old := [name for name, result in results.items() if _is_old(result)]:
        parts.append(f"Counted among them are {len(old)} of {len(results)} stored results that are {OUTDATED}.")
    return " ".join(parts)


def _judged(results: Results) -> Iterator[tuple[Experiment, Claim, str]]:
    """All claims with their verdicts; "not run" where there is no result, or one without the rows."""
    for name, experiment in EXPERIMENTS.items():
        tables = results[name].found.tables if name in results else ()
        for claim in experiment.claims:
            yield experiment, claim, judge_claim(claim, tables, experiment.has_independent_runs)[0]


def source_of_figures(result: Result, page: Path) -> str:
    """A link to the stored result, the command that makes it, and a mark if it is of earlier code."""
    above = "../" * (len(page.parts) - 2)  # of a page of the documentation, whose folder is one of its parts
    link = f"{RESULTS / result.name}.json" if page == README else f"{above}reproductions.md#{result.name}"
    mark = f", {OUTDATED}" if _is_old(result) else ""
    return f"[{result.name}]({link}), `{command_of(result)}`{mark}"


def _is_old(result: Result) -> bool:
    """Whether the code has changed since a result was found."""
    return result.fingerprint != _present(result.name, result.runs, result.seed or 0)


@cache
def _present(name: str, runs: int, seed: int) -> str:
    """The fingerprint of an experiment's present code; many rows quote the same result."""
    return fingerprint(EXPERIMENTS[name], runs, seed, is_quick=False)


def _row(quoted: Quotation, results: Results, page: Path) -> list[str]:
    if quoted.result not in results:
        raise ValueError(f"the result {quoted.result!r} is quoted but not stored. Run python -m experiments for it.")
    result = results[quoted.result]
    table = _find_table(quoted, result)
    rows = {outcome.method: outcome for outcome in table.outcomes}
    ours = [rows[name] for name in quoted.ours if name in rows]
    against = (*quoted.peers, *quoted.ablations)
    others = [rows[name] for name in against if name in rows]
    if not ours or not others:
        wanted = against if ours else quoted.ours
        raise ValueError(f"{quoted.result}, '{table.title}' has none of the rows {wanted}; it has: {', '.join(rows)}.")
    best = (min if table.better == "lower" else max)(others, key=lambda outcome: outcome.mean)
    kind = "ablation, " if best.method in quoted.ablations else ""
    return [
        quoted.task,
        "; ".join((*(_quote(outcome, table) for outcome in ours), *_not_run(quoted.ours, rows))),
        "; ".join((f"{kind}{_quote(best, table)}", *_not_run(against, rows))),
        _lead(ours[0], best, table, EXPERIMENTS[quoted.result]),
        source_of_figures(result, page),
    ]


def _not_run(names: Sequence[str], rows: Mapping[str, Outcome]) -> list[str]:
    """What is said of quoted rows that the stored result does not have."""
    return [f"{name}: {NOT_RUN}" for name in names if name not in rows]


def _find_table(quoted: Quotation, result: Result) -> Table:
    found = [table for table in result.found.tables if table.title == quoted.table]
    if not found:
        titles = ", ".join(repr(table.title) for table in result.found.tables)
        raise ValueError(f"the stored result {result.name!r} has no table {quoted.table!r}; it has: {titles}.")
    return found[0]


def _quote(outcome: Outcome, table: Table) -> str:
    paper = f" (paper {_figure(outcome.paper)} %)" if outcome.paper is not None and table.is_papers_task else ""
    return f"{outcome.method}: {_figure(outcome.mean)} %{paper}"


def _lead(first: Outcome, second: Outcome, table: Table, experiment: Experiment) -> str:
    """The lead with its interval, in points, and what it shows by the rule of the verdicts."""
    lead = lead_of(first.figures, second.figures, table.better)
    n_runs = count(lead.n_runs, experiment.unit_of(table.title))
    if lead.n_runs < MIN_RUNS or not experiment.has_independent_runs:
        why = "" if experiment.has_independent_runs else ", not independent"
        return f"{_figure(lead.mean)}, {UNDECIDED} ({n_runs}{why})"
    shown = "better" if lead.low > 0 else "worse" if lead.high < 0 else UNDECIDED
    return f"{_bounded(lead)}, {shown} in {n_runs}"


def _compared(claim: Claim, result: Result) -> tuple[Outcome, Outcome, Interval]:
    """Both rows of a claim, and the lead of the first."""
    table = next(table for table in result.found.tables if table.title == claim.table)
    rows = {row.method: row for row in table.outcomes}
    first, second = rows[claim.first], rows[claim.second]
    return first, second, lead_of(first.figures, second.figures, table.better)


def _seen(claim: Claim, experiment: Experiment, result: Result) -> list[str]:
    """The figures of both methods of a claim, and the lead of the first."""
    first, second, lead = _compared(claim, result)
    n_runs = count(lead.n_runs, experiment.unit_of(claim.table))
    return [f"{row.method}: {_figure(row.mean)}" for row in (first, second)] + [f"{_bounded(lead)}, {n_runs}"]


def _bounded(lead: Interval) -> str:
    """A lead with its interval; a single run has none."""
    bounds = f" ({_figure(lead.low)} to {_figure(lead.high)})" if lead.n_runs > 1 else ""
    return f"{_figure(lead.mean)}{bounds}"


def _figure(value: float) -> str:
    return f"{round(value + 1e-9, 1) + 0.0:.1f}"  # 82.55 is 82.6 although it is stored as 82.549...; no negative zero


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def write_figures(root: Path = ROOT) -> list[Path]:
    """Write the blocks of all pages; the pages that changed."""
    results, changed = read_results(root), []
    for page in PAGES:
        text = (root / page).read_text(encoding="utf-8")
        new = rewrite(text, results, page)
        if new != text:
            with atomic_path(root / page) as neighbour:
                neighbour.write_text(new, encoding="utf-8")
            changed.append(page)
    return changed


def main() -> int:
    """Write all blocks and say which pages changed."""
    try:
        changed = write_figures()
    except ValueError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    print("\n".join(f"Written: {page}" for page in changed) or "All figures are up to date.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
