"""`invariance reproduce`: the tables and figures of the papers, run again."""

import json
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from invariance.cli.folder_options import JsonOption

if TYPE_CHECKING:
    from experiments.experiment import Experiment
    from experiments.results import Result

EXAMPLES = """Examples:

  invariance reproduce --list

  invariance reproduce yale_faces --runs 50

  invariance reproduce --all -o docs

  invariance reproduce rotated_images --quick --json"""


def run(
    name: Annotated[str | None, typer.Argument(help="An experiment; --list shows their names.")] = None,
    show_list: Annotated[bool, typer.Option("--list", help="List all, with the data they need. The default.")] = False,
    run_all: Annotated[
        bool, typer.Option("--all", help="Run all that are missing or changed, cheapest first, and write the page.")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="A rehearsal in under a minute each; its figures mean nothing.")
    ] = False,
    runs: Annotated[int | None, typer.Option(min=1, help="Runs of each. Default: its own number, see --list.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first run; those after it take the next ones.")] = 0,
    afresh: Annotated[bool, typer.Option("--afresh", help="Run also what is kept from before.")] = False,
    as_json: JsonOption = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Folder for reproductions.md, plots and results. Default: docs with --all, else none.",
        ),
    ] = None,
) -> None:
    """Run the papers' tables and figures again, and say which figures are reached."""
    if (name is not None) + show_list + run_all > 1:
        raise ValueError("name one experiment, or --list, or --all; got more than one of them.")
    if run_all and output is None:
        output = Path("docs")
    if output is not None and not output.is_dir():
        raise FileNotFoundError(f"the folder '{output}' does not exist. Create it, or name another with -o.")

    from experiments.catalogue import EXPERIMENTS, find_experiment

    if name is None and not run_all:
        _print_list(list(EXPERIMENTS.values()), as_json)
        return
    chosen = [find_experiment(name)] if name is not None else list(EXPERIMENTS.values())
    if name is not None:
        _check_runnable(chosen[0], seed)
    stem = "reproductions-quick" if quick else "reproductions"
    folder = None if output is None else output / stem / "results"
    results, failed = _run_missing(chosen, folder, runs, seed, quick, afresh, is_lone=name is not None)
    if output is not None and folder is not None:
        from experiments.reproduction_page import write_page
        from experiments.results import read_result

        kept = {other: read_result(other, folder) for other in EXPERIMENTS}
        page = write_page({other: result for other, result in kept.items() if result is not None}, output, stem)
        print(f"Page: {page.resolve()}", file=sys.stderr)
    if as_json:
        documents = [_document(experiment, results.get(experiment.name)) for experiment in chosen]
        print(json.dumps(documents[0] if name is not None else documents, indent=1))
    elif name is not None:
        _print_tables(chosen[0], results[name])
    else:
        _print_verdicts(chosen, results)
    if failed:
        print(f"Failed, see above: {', '.join(failed)}", file=sys.stderr)
        raise typer.Exit(1)


def _check_runnable(experiment: "Experiment", seed: int) -> None:
    """Refuse what cannot be run, with the reason."""
    from experiments.experiment import absent_data
    from invariance.datasets import DatasetMissing

    if experiment.run is None:
        reason = f"its data are not to be had: {experiment.lacking}" if experiment.lacking else experiment.differs
        raise ValueError(f"{experiment.name} cannot be run: {reason.rstrip('.')}. See --list.")
    if absent_data(experiment):
        raise DatasetMissing(
            f"{experiment.name} needs {', '.join(absent_data(experiment))}: `invariance datasets` says how to get them."
        )
    if seed and not experiment.has_seed:
        raise ValueError(f"{experiment.name} has fixed splits, so that --seed {seed} changes nothing. Leave it out.")


def _run_missing(
    experiments: "list[Experiment]",
    folder: Path | None,
    runs: int | None,
    seed: int,
    quick: bool,
    afresh: bool,
    is_lone: bool,
) -> "tuple[dict[str, Result], list[str]]":
    """Results by name, from the folder where they are current; and what failed. A lone experiment's error is raised."""
    from experiments.experiment import absent_data
    from experiments.reproduction_page import verdict_on
    from experiments.results import check_runs, is_current, perform, read_result, write_result

    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    results, failed = {}, []
    runnable = [experiment for experiment in experiments if experiment.run and not absent_data(experiment)]
    for number, experiment in enumerate(sorted(runnable, key=lambda experiment: experiment.minutes), start=1):
        kept = None if folder is None or afresh else read_result(experiment.name, folder)
        n_runs = check_runs(experiment, runs, quick)
        if kept is not None and is_current(kept, experiment, n_runs, seed, quick):
            results[experiment.name] = kept
            continue
        minutes = experiment.minutes * n_runs / experiment.runs
        size = (
            "a rehearsal"
            if quick
            else f"about {max(1, round(minutes))} min with {n_runs} {'run' if n_runs == 1 else 'runs'}"
        )
        print(f"{number} of {len(runnable)}: {experiment.name}, {size} ...", file=sys.stderr, flush=True)
        try:
            result = perform(experiment, runs, seed, quick)
        except Exception:
            if is_lone:
                raise
            traceback.print_exc()
            failed.append(experiment.name)
            continue
        results[experiment.name] = result
        if folder is not None:
            write_result(result, folder)
        verdict = verdict_on(experiment, result)
        print(f"{experiment.name}: {result.seconds:.0f} s, {verdict}", file=sys.stderr, flush=True)
    return results, failed


def _document(experiment: "Experiment", result: "Result | None") -> dict[str, Any]:
    """An experiment with its result and verdicts for other programs."""
    from experiments.reproduction_page import verdict_on
    from experiments.results import as_json
    from experiments.verdicts import judge_claim, judge_figure

    document = {**_entry(experiment), "verdict": verdict_on(experiment, result), "result": None}
    if result is None:
        return document
    document["result"] = stored = as_json(result)
    if not result.is_quick:
        for table, plain in zip(result.found.tables, stored["found"]["tables"], strict=True):
            for outcome, row in zip(table.outcomes, plain["outcomes"], strict=True):
                row["verdict"] = judge_figure(outcome, table)
        judged = [(claim.sentence, *judge_claim(claim, result.found.tables)) for claim in experiment.claims]
        document["claims"] = [dict(zip(("claim", "verdict", "seen"), found, strict=True)) for found in judged]
    return document


def _entry(experiment: "Experiment") -> dict[str, Any]:
    """What the list says of an experiment."""
    from experiments.experiment import absent_data

    told = ("name", "paper", "place", "protocol", "data", "runs", "minutes", "lacking", "differs")
    entry = {field: getattr(experiment, field) for field in told}
    return {**entry, "data_missing": absent_data(experiment), "can_run": experiment.run is not None}


def _print_list(experiments: "list[Experiment]", as_json: bool) -> None:
    entries = [_entry(experiment) for experiment in experiments]
    if as_json:
        print(json.dumps(entries, indent=1))
        return
    rows = []
    for entry in entries:
        state = "here" if not entry["data_missing"] else f"missing: {', '.join(entry['data_missing'])}"
        if not entry["can_run"]:
            state = f"not to be had: {entry['lacking']}" if entry["lacking"] else "not run"
        elif entry["lacking"]:
            state += "; stands in for what is not to be had"
        size = f"{entry['runs']} in {entry['minutes']:g} min" if entry["can_run"] else ""
        rows.append([entry["name"], f"{entry['paper']}, {entry['place']}", ", ".join(entry["data"]), state, size])
    _print_table("", ("name", "of", "data", "which is", "runs"), rows)


def _print_tables(experiment: "Experiment", result: "Result") -> None:
    from experiments.reproduction_page import HEAD, claims_of, rows_of, verdict_on

    print(f"{experiment.paper}, {experiment.place}. {experiment.protocol}")
    if experiment.lacking:
        print(f"Not to be had: {experiment.lacking}.")
    if experiment.differs:
        print(experiment.differs)
    for table in result.found.tables:
        _print_table(f"\n{table.title} ({table.direction})", HEAD, rows_of(table, result.is_quick))
    for line in [] if result.is_quick else claims_of(experiment, result):
        print(line)
    print(f"{result.seconds:.0f} s. {verdict_on(experiment, result)}")


def _print_verdicts(experiments: "list[Experiment]", results: "dict[str, Result]") -> None:
    from experiments.reproduction_page import verdict_on

    rows = []
    for experiment in experiments:
        result = results.get(experiment.name)
        runs, seconds = ("", "") if result is None else (str(result.runs), f"{result.seconds:.0f}")
        rows.append([experiment.name, verdict_on(experiment, result), runs, seconds])
    _print_table("", ("name", "verdicts", "runs", "seconds"), rows)


def _print_table(title: str, head: tuple[str, ...], rows: list[list[str]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title or None, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for number, column in enumerate(head):
        table.add_column(column, overflow="fold", no_wrap=number == 0 and len(rows) > 20)
    for row in rows:
        table.add_row(*row)
    Console().print(table, markup=False)
