"""`python -m experiments`: run the papers' tables and figures again, and say which figures are reached."""

import argparse
import json
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from rich.console import Console
from rich.table import Table

from experiments import catalogue
from experiments.confirmation import confirm
from experiments.data_digests import check_data
from experiments.experiment import Experiment, can_run, missing_data, missing_packages
from experiments.reproduction_page import HEAD, claims_of, judge, rows_of, verdict_on, write_page
from experiments.results import Result, as_json, check_runs, is_current, is_outdated, perform, read_result, write_result
from experiments.verdicts import judge_figure
from invariance._core.escaping import in_one_line

EXAMPLES = """examples:
  python -m experiments --list
  python -m experiments yale_faces --runs 50
  python -m experiments --all -o docs
  python -m experiments --all --confirm -o docs
  python -m experiments rotated_images --quick --json"""


class Parser(argparse.ArgumentParser):
    """Raises a mistake instead of printing the usage and ending."""

    def error(self, message: str) -> NoReturn:
        """Raise the message."""
        raise ValueError(message)


def make_parser() -> Parser:
    """The parser of the command line."""
    parser = Parser(
        prog="python -m experiments",
        description="Run the papers' tables and figures again, and say which figures are reached.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("name", nargs="?", metavar="NAME", help="an experiment; --list shows the names")
    add("--list", action="store_true", help="list all experiments and the data they need (default)")
    add("--all", action="store_true", help="run all experiments without a current result, cheapest first; write a page")
    add("--page", action="store_true", help="write the page from the stored results without running anything")
    add("--quick", action="store_true", help="rehearse in under a minute per experiment; its figures mean nothing")
    add("--runs", type=_number_from(1), help="number of runs; default: the experiment's own, see --list")
    add("--seed", type=_number_from(0), default=0, help="seed of the first run; later runs take the next ones")
    add("--confirm", action="store_true", help="repeat two runs of outdated results; current if figures are equal")
    add("--force", action="store_true", help="run again even if a current result is stored")
    add("--json", action="store_true", help="print JSON on standard output")
    add(
        "-o",
        "--output",
        type=Path,
        help="existing folder for reproductions.md, plots and results; default with --all: docs",
    )
    return parser


def _number_from(low: int) -> Callable[[str], int]:
    """A whole number that is at least `low`, for argparse."""

    def parse(text: str) -> int:
        if not text.isdecimal() or int(text) < low:
            raise argparse.ArgumentTypeError(f"must be a whole number from {low} on; got {text!r}.")
        return int(text)

    return parse


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 2 after a user's mistake, 1 if an experiment failed."""
    try:
        return run(make_parser().parse_args(arguments))
    except KeyboardInterrupt:
        return 130
    except (ValueError, OSError) as error:
        if os.environ.get("INVARIANCE_DEBUG"):
            raise
        print(f"Error: {in_one_line(str(error))}", file=sys.stderr)
        return 2


def run(asked: argparse.Namespace) -> int:
    """Do what was asked for; 1 if an experiment failed, else 0."""
    if (asked.name is not None) + asked.list + asked.all + asked.page > 1:
        raise ValueError("name one experiment, or give one of --list, --all and --page; got more than one of them.")
    if asked.confirm and (asked.quick or asked.force or asked.json or asked.runs or asked.list or asked.page):
        raise ValueError(
            "--confirm repeats the first two runs of stored results. Give a name or --all, and -o, nothing else."
        )
    needs_output = asked.all or asked.page or asked.confirm
    output = Path("docs") if asked.output is None and needs_output else asked.output
    if output is not None and not output.is_dir():
        raise FileNotFoundError(f"the folder '{output}' does not exist. Create it, or name another with -o.")
    stem = "reproductions-quick" if asked.quick else "reproductions"
    if asked.page:
        _write_page(output, stem)
        return 0
    if asked.name is None and not asked.all:
        _print_list(list(catalogue.EXPERIMENTS.values()), asked.json)
        return 0
    chosen = list(catalogue.EXPERIMENTS.values()) if asked.all else [catalogue.find_experiment(asked.name)]
    if not asked.all:
        _check_runnable(chosen[0], asked.seed)
    folder = None if output is None else output / stem / "results"
    if asked.confirm and output is not None and folder is not None:
        failed = _confirm_outdated(chosen, folder)
        _write_page(output, stem)
        return 1 if failed else 0
    results, failed = _run_missing(chosen, folder, asked)
    if output is not None:
        _write_page(output, stem)
    if asked.json:
        documents = [_document(experiment, results.get(experiment.name)) for experiment in chosen]
        print(json.dumps(documents if asked.all else documents[0], indent=1))
    elif asked.all:
        _print_verdicts(chosen, results)
    else:
        _print_tables(chosen[0], results[asked.name])
    if failed:
        print(f"Failed, see above: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def _check_runnable(experiment: Experiment, seed: int) -> None:
    """Refuse what cannot be run, with the reason."""
    if experiment.run is None:
        reason = f"data not available: {experiment.unavailable}" if experiment.unavailable else experiment.differs
        raise ValueError(f"{experiment.name} cannot be run: {reason.rstrip('.')}. See --list.")
    if missing_data(experiment):
        names = ", ".join(missing_data(experiment))
        raise FileNotFoundError(f"{experiment.name} needs {names}: `invariance datasets` says how to get them.")
    if missing_packages(experiment):
        names = ", ".join(missing_packages(experiment))
        raise ValueError(f"{experiment.name} needs {names}. Try: pip install '.[bench]'")
    if seed and not experiment.has_seed:
        raise ValueError(f"{experiment.name} has fixed splits, so that --seed {seed} changes nothing. Omit it.")


def _run_missing(
    experiments: list[Experiment], folder: Path | None, asked: argparse.Namespace
) -> tuple[dict[str, Result], list[str]]:
    """Results by name, from the folder where they are current, and the names of experiments that failed.

    The error of an experiment that was asked for by name is raised.
    """
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    results: dict[str, Result] = {}
    failed = []
    runnable = [experiment for experiment in experiments if can_run(experiment)]
    for number, experiment in enumerate(sorted(runnable, key=lambda experiment: experiment.minutes), start=1):
        stored = None if folder is None or asked.force else read_result(experiment.name, folder)
        n_runs = check_runs(experiment, asked.runs, asked.quick)
        if stored is not None and is_current(stored, experiment, n_runs, asked.seed, asked.quick):
            results[experiment.name] = stored
            continue
        minutes = max(1, round(experiment.minutes * n_runs / experiment.runs))
        size = "a rehearsal" if asked.quick else f"runs: {n_runs}, about {minutes} min"
        print(f"{number} of {len(runnable)}: {experiment.name}, {size} ...", file=sys.stderr, flush=True)
        try:
            if not asked.quick:
                check_data(experiment.data)
            result = perform(experiment, asked.runs, asked.seed, asked.quick)
        except Exception:
            if asked.name is not None:
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


def _confirm_outdated(experiments: list[Experiment], folder: Path) -> list[str]:
    """Confirm the outdated results of a folder, and return the names of those that could not be confirmed."""
    failed = []
    for experiment in sorted(filter(can_run, experiments), key=lambda experiment: experiment.minutes):
        stored = read_result(experiment.name, folder)
        if stored is None or not is_outdated(stored, experiment):
            continue
        try:
            check_data(experiment.data)
            write_result(confirm(stored, experiment), folder)
            print(f"Confirmed: {experiment.name}", file=sys.stderr, flush=True)
        except ValueError as error:
            print(f"Not confirmed: {in_one_line(str(error))}", file=sys.stderr, flush=True)
            failed.append(experiment.name)
    return failed


def _write_page(output: Path, stem: str) -> None:
    """Write the page of all stored results."""
    stored = {name: read_result(name, output / stem / "results") for name in catalogue.EXPERIMENTS}
    page = write_page({name: result for name, result in stored.items() if result is not None}, output, stem)
    print(f"Page: {page.resolve()}", file=sys.stderr)


def _document(experiment: Experiment, result: Result | None) -> dict[str, Any]:
    """An experiment with its result and verdicts, as JSON."""
    document = {**_entry(experiment), "verdict": verdict_on(experiment, result), "result": None}
    if result is None:
        return document
    document["result"] = stored = as_json(result)
    if not result.is_quick:
        for table, plain in zip(result.found.tables, stored["found"]["tables"], strict=True):
            for outcome, row in zip(table.outcomes, plain["outcomes"], strict=True):
                row["verdict"] = judge_figure(outcome, table)
        judged = [(claim.sentence, *judge(claim, experiment, result)) for claim in experiment.claims]
        document["claims"] = [dict(zip(("claim", "verdict", "seen"), found, strict=True)) for found in judged]
    return document


def _entry(experiment: Experiment) -> dict[str, Any]:
    """What the list says about an experiment."""
    fields = ("name", "paper", "place", "protocol", "data", "runs", "minutes", "unavailable", "differs", "packages")
    return {
        **{field: getattr(experiment, field) for field in fields},
        "data_missing": missing_data(experiment),
        "packages_missing": missing_packages(experiment),
        "can_run": can_run(experiment),
    }


def _print_list(experiments: list[Experiment], as_json: bool) -> None:
    if as_json:
        print(json.dumps([_entry(experiment) for experiment in experiments], indent=1))
        return
    rows = []
    for experiment in experiments:
        size = f"{experiment.runs} in {experiment.minutes:g} min" if experiment.run else ""
        source = f"{experiment.paper}, {experiment.place}"
        rows.append([experiment.name, source, ", ".join(experiment.data), _state(experiment), size])
    _print_table("", ("name", "source", "data", "state", "runs"), rows)


def _state(experiment: Experiment) -> str:
    """Whether an experiment can be run here, in words."""
    if experiment.run is None:
        return f"not available: {experiment.unavailable}" if experiment.unavailable else "nothing to run"
    missing = [*missing_data(experiment), *missing_packages(experiment)]
    state = f"missing: {', '.join(missing)}" if missing else "ready"
    return f"{state}, with other data than the paper's" if experiment.unavailable else state


def _print_tables(experiment: Experiment, result: Result) -> None:
    print(f"{experiment.paper}, {experiment.place}. {experiment.protocol}")
    if experiment.unavailable:
        print(f"Not available: {experiment.unavailable}.")
    if experiment.differs:
        print(experiment.differs)
    for table in result.found.tables:
        unit = experiment.unit_of(table.title)
        _print_table(f"\n{table.title} ({table.direction})", HEAD, rows_of(table, result.is_quick, unit))
    for line in [] if result.is_quick else claims_of(experiment, result):
        print(line)
    print(f"{result.seconds:.0f} s. {verdict_on(experiment, result)}")


def _print_verdicts(experiments: list[Experiment], results: dict[str, Result]) -> None:
    rows = []
    for experiment in experiments:
        result = results.get(experiment.name)
        runs, seconds = ("", "") if result is None else (str(result.runs), f"{result.seconds:.0f}")
        rows.append([experiment.name, verdict_on(experiment, result), runs, seconds])
    _print_table("", ("name", "verdicts", "runs", "seconds"), rows)


def _print_table(title: str, head: tuple[str, ...], rows: list[list[str]]) -> None:
    table = Table(title=title or None, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for number, column in enumerate(head):
        table.add_column(column, overflow="fold", no_wrap=number == 0 and len(rows) > 20)
    for row in rows:
        table.add_row(*row)
    Console().print(table, markup=False)


if __name__ == "__main__":
    sys.exit(main())
