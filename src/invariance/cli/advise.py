"""`invariance advise`: which invariances help on the images of a folder."""

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from invariance.cli.options import FolderArgument, JobsOption, JsonOption, SeedOption, StrictOption, read_folder
from invariance.cli.output import check_output

if TYPE_CHECKING:
    from rich.console import Console

    from invariance.methods import Advice, Finding

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
    as_json: JsonOption = False,
    budget: Annotated[
        float, typer.Option(min=1, help="Seconds; what does not fit is listed as not tried. Default: 120.")
    ] = 120.0,
    strict: StrictOption = False,
    jobs: JobsOption = -1,
    seed: SeedOption = 0,
) -> None:
    """Find out which invariances help on your images, which hurt, and which make no difference."""
    report_path = None if output is None else check_output(output, (".html", ".htm"))
    figure_path = None if figure is None else check_output(figure, (".png", ".svg", ".pdf", ".jpg", ".jpeg"))

    from invariance.methods import advise

    found = read_folder(folder, strict)
    advice = advise(found.images, found.labels, budget, random_state=seed)
    option = f" --invariant-to {advice.text}" if advice.advised.parts else ""
    command = f"invariance fit {shlex.quote(str(folder))} -o model.inv{option}"
    if figure_path is not None:
        from invariance.report import save_figure
        from invariance.report.advice_figures import advice_figure

        save_figure(advice_figure(advice), figure_path)
    if report_path is not None:
        from invariance.report.advice_page import advice_report

        settings = {"folder": str(folder), "budget": f"{budget:g} seconds", "seed": seed}
        advice_report(advice, found.images, command, settings).save(report_path)
    if as_json:
        print(json.dumps(_as_dict(advice, command), indent=2))
        return
    _print_advice(advice, command)
    for path in (figure_path, report_path):
        if path is not None:
            print(f"Written: {path.resolve()}")


def _print_advice(advice: "Advice", command: str) -> None:
    from rich.console import Console
    from rich.markup import escape

    from invariance.report.advice_page import command_to_compare

    console = Console(highlight=False)
    for view in sorted(advice.plain, key=lambda view: view != advice.view):
        share = f"accuracy {advice.plain[view].accuracy:.1%} ignoring nothing"
        _print_table(console, f"{view.capitalize()}: {share}", advice.of_view(view))
    _print_table(console, "Combinations, against ignoring nothing", advice.best_combinations())
    is_piped = not console.is_terminal
    for line in advice.reasons:
        console.print(escape(line), soft_wrap=is_piped)
    console.print(f"\n[bold]{escape(advice.sentence)}[/bold]", soft_wrap=is_piped)
    console.print(f"In {advice.seconds:.0f} s. Next:", soft_wrap=is_piped)
    for line in (command, command_to_compare(command)):
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
        # A combination is long in words.
        name = f.name if len(f.parts) == 1 else f.text.replace(",", ", ")
        interval = f"{low:+.1f} to {high:+.1f}"
        table.add_row(name, f"{f.accuracy:.1%}", f"{share:+.1f}", interval, format_p(f.p), verdict)
    console.print(table)
    console.print()


def _as_dict(advice: "Advice", command: str) -> dict[str, Any]:
    """Return the advice for JSON; shares are of 1."""
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
