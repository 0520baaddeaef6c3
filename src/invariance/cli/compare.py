"""`invariance compare`: rank all methods, with and without invariances, on a folder of images."""

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from invariance.cli.cluster import ImagesSchedulerOption, WorkersOption, open_client
from invariance.cli.console import make_console, say
from invariance.cli.options import (
    EncoderOption,
    FolderArgument,
    JobsOption,
    JsonOption,
    SeedOption,
    StrictOption,
    find_encoder,
    read_folder,
)

if TYPE_CHECKING:
    from invariance.methods import Comparison
    from invariance.methods.comparison import Contestant

BUDGET = 300.0  # seconds
EXAMPLES = """Examples:

  invariance compare flowers/

  invariance compare digits/ --invariant-to rotations:5:15 --invariant-to shifts:1

  invariance compare digits/ --invariant-to shifts:1 --budget 60 --json

  invariance compare flowers/ --scheduler tcp://host:8786"""


def run(
    folder: FolderArgument,
    invariant_to: Annotated[
        list[str] | None,
        typer.Option(help="What may not matter, as in `invariance transformations`; can be repeated."),
    ] = None,
    methods: Annotated[
        str | None, typer.Option(help="Methods to compare, separated by commas. Default: all that suit the images.")
    ] = None,
    as_json: JsonOption = False,
    budget: Annotated[
        float,
        typer.Option(min=1, help=f"Time in seconds; what exceeds it is listed as not tried. Default: {BUDGET:g}."),
    ] = BUDGET,
    encoder: EncoderOption = None,
    strict: StrictOption = False,
    workers: WorkersOption = 1,
    scheduler: ImagesSchedulerOption = None,
    jobs: JobsOption = -1,
    seed: SeedOption = 0,
) -> None:
    """Rank all methods, with and without invariances, by cross-validation on your images."""
    from invariance.methods.comparison import STANDARD, compare

    chosen = None if methods is None else [name.strip() for name in methods.split(",")]
    found = read_folder(folder, strict)
    invariances = invariant_to or STANDARD
    network = find_encoder(encoder)
    with open_client(workers, scheduler) as client:
        comparison = compare(
            found.images, found.labels, invariances, chosen, budget, random_state=seed, client=client, encoder=network
        )
    command = _command(folder, comparison.winner)
    if as_json:
        say(json.dumps(_as_dict(comparison, command), indent=2))
    else:
        _print_comparison(comparison, command)


def _command(folder: Path, winner: "Contestant | None") -> str | None:
    if winner is None:
        return None
    option = f" --invariant-to {winner.invariance}" if winner.invariance else ""
    return f"invariance fit {shlex.quote(str(folder))} -o model.inv --method {winner.method}{option}"


def _print_comparison(comparison: "Comparison", command: str | None) -> None:
    from rich.markup import escape
    from rich.table import Table

    console = make_console()
    n, facts = comparison.n_drawn, comparison.facts
    drawn = f"; {n} of them, drawn at random, were used" if n < facts.n_images else ""
    console.print(f"{facts.sentence}{drawn}; {comparison.n_folds} folds.\n", soft_wrap=not console.is_terminal)
    table = Table(box=None, pad_edge=False)
    table.add_column("method", no_wrap=True)
    table.add_column("ignores", overflow="fold")
    for column in ("accuracy", "±", "fit, s", "ms per image"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("compared with best")
    for place, contestant in enumerate(comparison.contestants):
        table.add_row(*_cells(contestant, place, comparison.n_compared))
    console.print(table)
    if comparison.untried:
        console.print("\nNot tried:")
    for name, why in comparison.untried.items():
        console.print(f"  {escape(name)}: {escape(why)}", soft_wrap=True)
    for line in _last_lines(comparison, command):
        console.print(escape(line), soft_wrap=True)


def _cells(contestant: "Contestant", place: int, n_compared: int) -> tuple[str, ...]:
    trial = contestant.trial
    remark = "best" if place == 0 else "not distinguishable" if contestant.is_among_the_best else "worse"
    if trial.n_judged < n_compared:
        remark += f", on {trial.n_judged} images"
    ignored = "(baseline)" if contestant.is_peer else (contestant.invariance or "its default").replace(",", ", ")
    return (
        contestant.method,
        ignored,
        f"{trial.accuracy:.1%}",
        f"{100 * trial.error_of_accuracy:.1f}",
        f"{trial.fit_seconds:.1f}",
        f"{1000 * trial.image_seconds:.1f}",
        remark,
    )


def _last_lines(comparison: "Comparison", command: str | None) -> list[str]:
    """The conclusion; the last line is the command that fits the best method."""
    if command is None or comparison.winner is None:
        return ["\nNo method of this library was tried. Increase --budget."]
    best = comparison.contestants[0]
    lines = [
        f"\nIn {comparison.seconds:.0f} s. ± is one standard error. On new images the best of many is usually a little "
        f"less accurate than here."
    ]
    if best.is_peer:
        lines.append(f"The best is a baseline, {best.method}: no method of this library is more accurate here.")
    lines.append("To fit the best method of this library on all images:")
    return [*lines, f"  {command}"]


def _as_dict(comparison: "Comparison", command: str | None) -> dict[str, Any]:
    """Return the comparison for JSON; accuracies are from 0 to 1."""
    return {
        "command": command,
        "contestants": [
            {
                "method": contestant.method,
                "invariant_to": contestant.invariance,
                "peer": contestant.is_peer,
                "accuracy": contestant.trial.accuracy,
                "standard_error": contestant.trial.error_of_accuracy,
                "judged": contestant.trial.n_judged,
                "fit_seconds": contestant.trial.fit_seconds,
                "image_seconds": contestant.trial.image_seconds,
                "p": contestant.p,
                "among_the_best": contestant.is_among_the_best,
            }
            for contestant in comparison.contestants
        ],
        "untried": comparison.untried,
        "images": comparison.facts.n_images,
        "compared": comparison.n_compared,
        "folds": comparison.n_folds,
        "seconds": round(comparison.seconds, 2),
    }
