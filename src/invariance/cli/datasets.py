"""`invariance datasets`: which data sets are available, which are missing, and how to get them."""

import json
from textwrap import fill
from typing import TYPE_CHECKING

from invariance.cli.console import make_console, say
from invariance.cli.options import JsonOption

if TYPE_CHECKING:
    from invariance.datasets import DatasetStatus

EXAMPLES = """Examples:

  invariance datasets

  INVARIANCE_DATA=~/images invariance datasets

  invariance datasets --json"""


def run(as_json: JsonOption = False) -> None:
    """List the data sets: which are available, which are missing, and how to get them."""
    from invariance.datasets import list_datasets

    statuses = list_datasets()
    if as_json:
        say(json.dumps([status._asdict() for status in statuses], indent=2))
        return
    _print_present([status for status in statuses if status.present])
    _print_missing([status for status in statuses if not status.present])


def _print_present(statuses: "list[DatasetStatus]") -> None:
    from rich.table import Table

    table = Table(title="Available", title_justify="left", title_style="bold", box=None, pad_edge=False)
    for column in ("name", "what", "where", "load with"):
        table.add_column(column, overflow="fold")
    for status in statuses:
        table.add_row(status.name, status.what, status.where, status.how)
    make_console().print(table, markup=False)


def _print_missing(statuses: "list[DatasetStatus]") -> None:
    """Print lines instead of a table, so that URLs and paths are not broken and can be copied."""
    console = make_console()
    if statuses:
        console.print("\n[bold]Missing[/bold]")
    for status in statuses:
        console.print(status.name, style="bold")
        for line in (status.what, status.how):
            indented = fill(
                line,
                console.width,
                initial_indent="  ",
                subsequent_indent="  ",
                break_long_words=False,
                break_on_hyphens=False,
            )
            console.print(indented, markup=False, soft_wrap=True)
