"""The page of all experiments, from the stored results: tables, verdicts and plots."""

import textwrap
from base64 import b64decode
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from experiments.catalogue import EXPERIMENTS
from experiments.experiment import Experiment, explain_few_runs, explain_not_run
from experiments.outcome import Outcome, Plot, Table
from experiments.results import Result, command_of, is_outdated
from experiments.verdicts import NOT_RUN, RULE, RUN, Claim, count, judge_claim, judge_figure, summarize
from invariance._core.files import atomic_path
from invariance.report import save_figure
from invariance.report.figures import BLUE, INK, ORANGE

QUICK_NOTE = "A rehearsal with very little data: its figures mean nothing, and there are no verdicts."
OUTDATED = "outdated"
LABEL_WIDTH = 45  # characters below the axis of a figure
OUTDATED_NOTE = (
    "Outdated: the code that this experiment runs through, or its settings, have changed since this run. Its figures "
    "are those of the earlier code; rows that were added since are not run."
)


def verdict_on(experiment: Experiment, result: Result | None) -> str:
    """The verdict in a few words."""
    if result is not None:
        return "a rehearsal, no verdict" if result.is_quick else _summary(experiment, result)
    return explain_not_run(experiment)


def _summary(experiment: Experiment, result: Result) -> str:
    return summarize(result.found.tables, experiment.claims, experiment.has_independent_runs)


def rows_of(table: Table, is_quick: bool, unit: str = RUN) -> list[list[str]]:
    """The cells of a table: method, the paper's figure, ours, deviation, runs, verdict, seconds per run.

    `unit` is what one figure stands for, where it is not a run.
    """
    return [_row(outcome, table, is_quick, unit) for outcome in table.outcomes]


HEAD = ("method", "paper", "ours", "deviation", "runs", "verdict", "seconds per run")


def _row(outcome: Outcome, table: Table, is_quick: bool, unit: str) -> list[str]:
    verdict, n = None if is_quick else judge_figure(outcome, table), len(outcome.figures)
    shown = "" if verdict is None else f"{verdict} ({count(n, unit)})"
    paper = "" if outcome.paper is None else f"{outcome.paper:.4g}"
    return [outcome.method, paper, _number(outcome.mean, ".2f"), _number(outcome.deviation, ".2f"),
            str(n) if unit == RUN else count(n, unit), shown, _number(outcome.seconds, ".1f")]  # fmt: skip


def _number(value: float, form: str) -> str:
    return f"{value:{form}}" if np.isfinite(value) else "-"


def judge(claim: Claim, experiment: Experiment, result: Result) -> tuple[str, str]:
    """The verdict on a claim of an experiment by its result, and the observed difference in words."""
    unit = experiment.unit_of(claim.table)
    return judge_claim(claim, result.found.tables, experiment.has_independent_runs, unit)


def claims_of(experiment: Experiment, result: Result) -> list[str]:
    """The paper's claims with their verdicts, one sentence per claim."""
    judged = [(claim, *judge(claim, experiment, result)) for claim in experiment.claims]
    return [
        f"{claim.sentence[0].upper()}{claim.sentence[1:]}: {verdict} ({seen}; {claim.table})."
        for claim, verdict, seen in judged
    ]


def write_page(results: Mapping[str, Result], output: Path, stem: str = "reproductions") -> Path:
    """Write `stem`.md into the folder `output`, and its plots into the folder `stem` beside it; the page's path."""
    folder = output / stem
    folder.mkdir(exist_ok=True)
    images: dict[str, list[str]] = {}
    for name, result in results.items():
        for number, (title, figure) in enumerate(_figures(result)):
            file = folder / f"{name}{f'-{number + 1}' if number else ''}.png"
            save_figure(figure, file)
            images.setdefault(name, []).append(f"![{title}]({stem}/{file.name})")
        for number, drawing in enumerate(result.found.drawings, start=1):
            file = folder / f"{name}-drawing-{number}.png"
            file.write_bytes(b64decode(drawing.png))
            images.setdefault(name, []).append(f"![{drawing.title}]({stem}/{file.name})")
    page = output / f"{stem}.md"
    with atomic_path(page) as neighbour:
        neighbour.write_text(page_text(results, images), encoding="utf-8")
    return page


def page_text(results: Mapping[str, Result], images: Mapping[str, list[str]]) -> str:
    """The page in Markdown; `images` holds the links to the plots by experiment."""
    sections = [
        _section(experiment, results.get(name), images.get(name, [])) for name, experiment in EXPERIMENTS.items()
    ]
    return "\n\n".join([_opening(results), *sections]) + "\n"


def _opening(results: Mapping[str, Result]) -> str:
    lines = [
        "# The papers' tables and figures, run again",
        "",
        "Written by `python -m experiments --all` from the stored results of real runs; do not edit it. Keys such as "
        "Laptev15 are those of `references.bib`.",
        "",
        RULE,
        "",
        f'A result is marked "{OUTDATED}" if the code that it ran through, of the experiment or of the library, has '
        "changed since the run; comments, docstrings and layout do not count. It is confirmed, and no longer outdated, "
        "if its first two runs, repeated with the changed code, have the same figures (`--confirm`).",
        "",
        "| experiment | source | verdicts | runs | seconds | CPU seconds |",
        "|---|---|---|---|---|---|",
    ]
    if any(result.is_quick for result in results.values()):
        lines[2] = f"**{QUICK_NOTE}**"
    for experiment in EXPERIMENTS.values():
        result = results.get(experiment.name)
        sizes = (
            ["", "", ""] if result is None else [f"{x:.0f}" for x in (result.runs, result.seconds, result.cpu_seconds)]
        )
        verdict = verdict_on(experiment, result)
        if result is not None and is_outdated(result, experiment):
            verdict = f"{verdict} ({OUTDATED})"
        cells = (f"[{experiment.name}](#{experiment.name})", f"{experiment.paper}, {experiment.place}", verdict)
        lines.append(f"| {' | '.join((*cells, *sizes))} |")
    return "\n".join(lines)


def _section(experiment: Experiment, result: Result | None, images: list[str]) -> str:
    parts = [f"## {experiment.name}", f"{experiment.paper}, {experiment.place.rstrip('.')}. {experiment.protocol}"]
    if experiment.unavailable:
        parts.append(f"Not available: {experiment.unavailable}.")
    if experiment.differs:
        parts.append(experiment.differs)
    if few := explain_few_runs(experiment, None if result is None else result.runs):
        parts.append(few)
    if experiment.dependence:
        parts.append(f"{experiment.dependence}: the runs are not independent.")
    if result is None:
        parts.append(f"**{verdict_on(experiment, None)}**")
    else:
        parts += [_markdown(table, result.is_quick, experiment.unit_of(table.title)) for table in result.found.tables]
        if experiment.claims and not result.is_quick:
            parts.append("\n".join(f"- {line}" for line in claims_of(experiment, result)))
        parts += images
        if is_outdated(result, experiment):
            parts.append(OUTDATED_NOTE)
        elif result.confirmed:
            parts.append(f"The first runs were repeated with later code on {result.confirmed}: the same figures.")
        seed = "fixed splits" if result.seed is None else f"seed {result.seed}"
        parts.append(
            f"{count(result.runs)}, {seed}, {result.seconds:.0f} s on the clock and {result.cpu_seconds:.0f} s of CPU, "
            f"{result.finished}, invariance {result.version}, {result.machine}. "
            f"Stored in [{experiment.name}.json](reproductions/results/{experiment.name}.json). "
            f"Command: `{command_of(result)}`"
        )
    if experiment.others:
        listed = ", ".join(f"{name} {figure:g}" for name, figure in experiment.others.items())
        parts.append(f"Also in the paper, {NOT_RUN} here: {listed}.")
    return "\n\n".join(parts)


def _markdown(table: Table, is_quick: bool, unit: str) -> str:
    rows = [f"| {' | '.join(row)} |" for row in (HEAD, *rows_of(table, is_quick, unit))]
    rows.insert(1, "|---" * len(HEAD) + "|")
    return "\n".join([f"**{table.title}** ({table.direction})", "", *rows])


def _figures(result: Result) -> list[tuple[str, Figure]]:
    """The plots: the experiment's curves if it has any, else its tables with figures of the paper, else all tables."""
    if result.found.plots:
        return [(plot.title, curves_figure(plot)) for plot in result.found.plots]
    tables = [table for table in result.found.tables if any(row.paper is not None for row in table.outcomes)]
    return [(table.title, table_figure(table)) for table in tables or result.found.tables[:1]]


def curves_figure(plot: Plot) -> Figure:
    """Mean rates by places with bars of one standard deviation; methods with a single rate are dashed lines."""
    several = [curve for curve in plot.curves if len(curve.places) > 1]
    single = [curve for curve in plot.curves if len(curve.places) == 1]
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    for curve in several:
        axes.errorbar(curve.places, curve.means, np.nan_to_num(curve.deviations), marker="o", ms=4, capsize=2,
                      label=curve.method)  # fmt: skip
    for number, curve in enumerate(single):
        axes.axhline(curve.means[0], ls="--", lw=1, color=f"C{number}", label=curve.method)
    axes.set(xlabel=plot.places, ylabel=plot.rates)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=8)
    axes.set_title(plot.title, fontsize=10, color=INK)
    if plot.is_log:
        places = sorted({place for curve in several for place in curve.places})
        axes.set_xscale("log")
        axes.set_xticks(places, [f"{place:,}" for place in places])
        axes.minorticks_off()
    return figure


def table_figure(table: Table) -> Figure:
    """Our means with bars of one standard deviation, and the paper's figures, one row per method."""
    rows = table.outcomes[::-1]
    places = np.arange(len(rows))
    figure = Figure(figsize=(7.2, 0.9 + 0.3 * len(rows)), layout="constrained")
    axes = figure.subplots()
    deviations = [np.nan_to_num(row.deviation) for row in rows]
    axes.errorbar([row.mean for row in rows], places, xerr=deviations, fmt="o", color=BLUE, ms=5, capsize=2,
                  label="ours")  # fmt: skip
    if any(row.paper is not None for row in rows):
        label = "paper" if table.is_papers_task else "paper, on its own data"
        papers = [np.nan if row.paper is None else row.paper for row in rows]
        axes.plot(papers, places, "D", color=ORANGE, mfc="none", ms=7, label=label)
    axes.set_yticks(places, [row.method for row in rows])
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.set(xlabel=textwrap.fill(table.title, LABEL_WIDTH))
    axes.grid(axis="x", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper right", ncols=2, frameon=False)
    return figure
