"""`invariance advise`: which invariances help on the images of a folder."""

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from invariance.cli.cluster import ImagesSchedulerOption, WorkersOption, open_client
from invariance.cli.console import make_console, say
from invariance.cli.options import FolderArgument, JobsOption, JsonOption, SeedOption, StrictOption, read_folder
from invariance.cli.output import FIGURE, REPORT, OverwriteOption, claim_file

if TYPE_CHECKING:
    from rich.console import Console

    from invariance.methods import Advice, Finding

BUDGET = 120.0  # seconds
EXAMPLES = """Examples:

  invariance advise flowers/

  invariance advise digits/ -o advice.html --figure advice.png

  invariance advise digits/ --json --budget 30"""
COLOURS = {"helps": "green", "hurts": "red", "no difference": "blue", "unclear": "dim"}


def run(
    folder: FolderArgument,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Also write a report, a file ending in .html.")
    ] = None,
    figure: Annotated[
        Path | None, typer.Option("--figure", help="Also write the figure: .png, .svg, .pdf or .jpg.")
    ] = None,
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
    budget: Annotated[
        float,
        typer.Option(min=1, help=f"Time in seconds; what exceeds it is listed as not tried. Default: {BUDGET:g}."),
    ] = BUDGET,
    strict: StrictOption = False,
    workers: WorkersOption = 1,
    scheduler: ImagesSchedulerOption = None,
    jobs: JobsOption = -1,
    seed: SeedOption = 0,
) -> None:
    """Find out which invariances help on your images, which hurt, and which make no difference."""
    report_path = None if output is None else claim_file(output, REPORT, overwrite, [folder])
    figure_path = None if figure is None else claim_file(figure, FIGURE, overwrite, [folder])

    from invariance.methods import advise

    found = read_folder(folder, strict)
    with open_client(workers, scheduler) as client:
        advice = advise(found.images, found.labels, budget, random_state=seed, client=client)
    commands = _next_commands(folder, advice)
    if figure_path is not None:
        from invariance.report import save_figure
        from invariance.report.advice_figures import advice_figure

        save_figure(advice_figure(advice), figure_path)
    if report_path is not None:
        from invariance.report.advice_page import advice_report

        settings = {"folder": str(folder), "budget": f"{budget:g} seconds", "seed": seed}
        advice_report(advice, found.images, commands, settings).save(report_path)
    if as_json:
        say(json.dumps(_as_dict(advice, commands[0]), indent=2))
        return
    _print_advice(advice, commands)
    for path in (figure_path, report_path):
        if path is not None:
            say(f"Written: {path.resolve()}")


def _next_commands(folder: Path, advice: "Advice") -> list[str]:
    """The commands that fit a model as advised, and that try the advice with all methods."""
    source = shlex.quote(str(folder))
    option = f" --invariant-to {advice.text}" if advice.advised.parts else ""
    return [f"invariance fit {source} -o model.inv{option}", f"invariance compare {source}{option}"]


def _print_advice(advice: "Advice", commands: list[str]) -> None:
    from rich.markup import escape

    console = make_console()
    for view in sorted(advice.plain, key=lambda view: view != advice.view):
        accuracy = f"accuracy {advice.plain[view].accuracy:.1%} ignoring nothing"
        _print_table(console, f"{view.capitalize()}: {accuracy}", advice.of_view(view))
    _print_table(console, "Combinations, compared with ignoring nothing", advice.best_combinations())
    is_piped = not console.is_terminal
    for line in advice.reasons:
        console.print(escape(line), soft_wrap=is_piped)
    console.print(f"\n[bold]{escape(advice.sentence)}[/bold]", soft_wrap=is_piped)
    console.print(f"In {advice.seconds:.0f} s. Next:", soft_wrap=is_piped)
    for line in commands:
        console.print(f"  {escape(line)}", soft_wrap=True)


def _print_table(console: "Console", title: str, findings: "list[Finding]") -> None:
    from rich.table import Table

    from invariance.report.advice_page import format_p

    if not findings:
        return
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column("ignored", overflow="fold")
    for column in ("accuracy", "points", "95 % interval", "p"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for f in findings:
        share, low, high = (100 * value for value in f.difference[:3])
        verdict = f"[{COLOURS[f.verdict]}]{f.verdict}[/]"
        # The names of combinations are long.
        name = f.name if len(f.parts) == 1 else f.text.replace(",", ", ")
        interval = f"{low:+.1f} to {high:+.1f}"
        table.add_row(name, f"{f.accuracy:.1%}", f"{share:+.1f}", interval, format_p(f.p), verdict)
    console.print(table)
    console.print()


def _as_dict(advice: "Advice", command: str) -> dict[str, Any]:
    """Return the advice for JSON; accuracies are from 0 to 1."""
    return {
        "invariant_to": advice.text,
        "command": command,
        "sentence": advice.sentence,
        "reasons": advice.reasons,
        "view": advice.view,
        "plain": {view: plain.accuracy for view, plain in advice.plain.items()},
        "findings": [_finding_as_dict(finding) for finding in (*advice.findings, *advice.combinations)],
        "untried": advice.untried,
        "images": advice.facts.n_images,
        "compared": len(advice.rows),
        "classes": [str(name) for name in advice.classes],
        "seconds": round(advice.seconds, 2),
    }


def _finding_as_dict(finding: "Finding") -> dict[str, Any]:
    difference = finding.difference
    return {
        "name": finding.name,
        "invariant_to": finding.text,
        "view": finding.view,
        "verdict": finding.verdict,
        "accuracy": finding.accuracy,
        "difference": difference.share,
        "low": difference.low,
        "high": difference.high,
        "p": finding.p,
        "gained": difference.n_gained,
        "lost": difference.n_lost,
        "members": finding.n_members,
    }
