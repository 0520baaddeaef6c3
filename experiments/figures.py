"""`python -m experiments.figures`: write the tables of figures in README and the documentation from stored results.

A block begins with a line `<!-- figures: NAME -->` and ends with `<!-- end of figures -->`; what is between them is
replaced. Names are those of the rooms in `quotations`, "measured" for all rooms, and "failed" for what the papers say
and our runs do not show.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from experiments.catalogue import EXPERIMENTS
from experiments.experiment import Experiment
from experiments.outcome import Outcome, Table
from experiments.quotations import PAPERS, QUOTATIONS, Quotation
from experiments.results import Result, command_of, read_result
from experiments.verdicts import (
    MIN_RUNS,
    NOT_REACHED,
    NOT_RUN,
    TOLERANCE,
    UNDECIDED,
    VERDICTS,
    Claim,
    Interval,
    judge_claim,
    judge_figure,
    lead_of,
)
from invariance._core.files import atomic_path

ROOT = Path(__file__).parents[1]
PAGES = (Path("README.md"), *(Path("docs", "methods", f"{room}.md") for room in QUOTATIONS))
RESULTS = Path("docs", "reproductions", "results")
BLOCK = re.compile(
    r"^<!-- figures: (?P<name>.*?) -->\n(?P<text>.*?)^<!-- end of figures -->$", re.DOTALL | re.MULTILINE
)
HEAD = ("task", "this library", "strongest peer", "lead of the first over the peer", "stored result and command")
CLAIMS_HEAD = ("claim", "first method", "second method", "lead of the first", "verdict", "stored result and command")

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
        return f"<!-- figures: {block['name']} -->\n\n{content}\n\n<!-- end of figures -->"

    return BLOCK.sub(write, text)


def block_of(name: str, results: Results, page: Path) -> str:
    """The content of a block: a room's figures and its paper's claims, or all figures, or all that failed."""
    if name == "measured":
        return measured([quoted for room in QUOTATIONS.values() for quoted in room], results, page)
    if name == "failed":
        return f"{claims(results, page, tuple(PAPERS.values()), only_failed=True)}\n\n{counts(results)}"
    if name not in QUOTATIONS:
        known = ", ".join(("measured", "failed", *QUOTATIONS))
        raise ValueError(f"'{page}' has a block of figures named {name!r}. Try one of: {known}.")
    parts = [measured(QUOTATIONS[name], results, page)]
    if name in PAPERS:
        parts += ["What the paper says, and what was seen:", claims(results, page, (PAPERS[name],))]
    return "\n\n".join(parts)


def measured(quotations: Sequence[Quotation], results: Results, page: Path) -> str:
    """A table of quoted figures."""
    return _table(HEAD, [_row(quoted, results, page) for quoted in quotations])


def claims(results: Results, page: Path, papers: Sequence[str], only_failed: bool = False) -> str:
    """A table of the papers' claims with their verdicts, from all stored results."""
    rows = []
    for experiment, claim, verdict in _judged(results):
        result = results[experiment.name]
        is_wanted = not only_failed or _has_failed(experiment, claim, verdict, result)
        if experiment.paper not in papers or not is_wanted:
            continue
        sentence = f"{claim.sentence} [{experiment.paper}]" if len(papers) > 1 else claim.sentence
        rows.append([sentence, *_seen(claim, result), verdict, source_of_figures(result, page)])
    return _table(CLAIMS_HEAD, rows)


def counts(results: Results) -> str:
    """How many claims and figures of the papers have each verdict, in a sentence each."""
    of_claims = Counter(verdict for *_, verdict in _judged(results))
    tables = [table for result in results.values() for table in result.found.tables]
    judged = [judge_figure(outcome, table) for table in tables for outcome in table.outcomes]
    of_figures = Counter(verdict for verdict in judged if verdict is not None)
    parts = []
    for kind, of_kind in (("claims", of_claims), ("figures", of_figures)):
        listed = ", ".join(f"{of_kind[verdict]} {verdict}" for verdict in VERDICTS if of_kind[verdict])
        parts.append(f"Of {of_kind.total()} {kind} of the papers: {listed}.")
    return " ".join(parts)


def _judged(results: Results) -> Iterator[tuple[Experiment, Claim, str]]:
    """All claims about methods that were run, with their verdicts."""
    for name, experiment in EXPERIMENTS.items():
        for claim in experiment.claims if name in results else ():
            verdict, _ = judge_claim(claim, results[name].found.tables, experiment.has_independent_runs)
            if verdict != NOT_RUN:
                yield experiment, claim, verdict


def _has_failed(experiment: Experiment, claim: Claim, verdict: str, result: Result) -> bool:
    """Whether a claim is not reached, or not seen in enough runs, or our means do not even point its way."""
    *_, lead = _compared(claim, result)
    is_seen = abs(lead.mean) <= TOLERANCE if claim.relation == "level" else lead.mean > 0
    has_enough_runs = lead.n_runs >= MIN_RUNS and experiment.has_independent_runs
    return verdict == NOT_REACHED or not is_seen or (verdict == UNDECIDED and has_enough_runs)


def source_of_figures(result: Result, page: Path) -> str:
    """A link to the stored result, and the command that makes it."""
    above = "../" * (len(page.parts) - 1)
    link = f"{above}{RESULTS / result.name}.json" if page.name == "README.md" else f"../reproductions.md#{result.name}"
    return f"[{result.name}]({link}), `{command_of(result)}`"


def _row(quoted: Quotation, results: Results, page: Path) -> list[str]:
    if quoted.result not in results:
        raise ValueError(f"the result {quoted.result!r} is quoted but not stored. Run python -m experiments for it.")
    result = results[quoted.result]
    table = _find_table(quoted, result)
    rows = {outcome.method: outcome for outcome in table.outcomes}
    ours = [rows[name] for name in quoted.ours if name in rows]
    peers = [rows[name] for name in quoted.peers if name in rows]
    if not ours or not peers:
        wanted = quoted.peers if ours else quoted.ours
        raise ValueError(f"{quoted.result}, '{table.title}' has none of the rows {wanted}; it has: {', '.join(rows)}.")
    peer = (min if table.better == "lower" else max)(peers, key=lambda outcome: outcome.mean)
    return [
        quoted.task,
        "; ".join(_quote(outcome, table) for outcome in ours),
        _quote(peer, table),
        _lead(ours[0], peer, table, EXPERIMENTS[quoted.result].has_independent_runs),
        source_of_figures(result, page),
    ]


def _find_table(quoted: Quotation, result: Result) -> Table:
    found = [table for table in result.found.tables if table.title == quoted.table]
    if not found:
        titles = ", ".join(repr(table.title) for table in result.found.tables)
        raise ValueError(f"the stored result {result.name!r} has no table {quoted.table!r}; it has: {titles}.")
    return found[0]


def _quote(outcome: Outcome, table: Table) -> str:
    paper = f" (paper {_figure(outcome.paper)} %)" if outcome.paper is not None and table.is_papers_task else ""
    return f"{outcome.method}: {_figure(outcome.mean)} %{paper}"


def _lead(first: Outcome, second: Outcome, table: Table, has_independent_runs: bool) -> str:
    """The lead with its interval, in points, and what it shows by the rule of the verdicts."""
    lead = lead_of(first.figures, second.figures, table.better)
    if lead.n_runs < MIN_RUNS or not has_independent_runs:
        return f"{_figure(lead.mean)}, undecided ({_runs(lead) if has_independent_runs else 'shared training data'})"
    shown = "better" if lead.low > 0 else "worse" if lead.high < 0 else "undecided"
    return f"{_bounded(lead)}, {shown} in {_runs(lead)}"


def _compared(claim: Claim, result: Result) -> tuple[Outcome, Outcome, Interval]:
    """Both rows of a claim, and the lead of the first."""
    table = next(table for table in result.found.tables if table.title == claim.table)
    rows = {row.method: row for row in table.outcomes}
    first, second = rows[claim.first], rows[claim.second]
    return first, second, lead_of(first.figures, second.figures, table.better)


def _seen(claim: Claim, result: Result) -> list[str]:
    """The figures of both methods of a claim, and the lead of the first."""
    first, second, lead = _compared(claim, result)
    return [f"{row.method}: {_figure(row.mean)}" for row in (first, second)] + [f"{_bounded(lead)}, {_runs(lead)}"]


def _bounded(lead: Interval) -> str:
    return f"{_figure(lead.mean)} ({_figure(lead.low)} to {_figure(lead.high)})" if lead.n_runs > 1 else "one run"


def _figure(value: float) -> str:
    return f"{round(value, 1) + 0.0:.1f}"  # + 0.0: no negative zero


def _runs(lead: Interval) -> str:
    return f"{lead.n_runs} run{'s' * (lead.n_runs > 1)}"


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
