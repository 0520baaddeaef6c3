"""What a command prints: safe on every terminal and in every encoding, also after the reader of a pipe has gone."""

import codecs
import io
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TextIO, cast

from invariance._core.escaping import escape_controls, in_one_line

if TYPE_CHECKING:
    from rich.console import Console

LINE_SECONDS = 0.5, 30.0  # between two lines of progress, on a terminal and elsewhere
PIPE_WIDTH = 200  # characters per line of a table if the output is not a terminal
NAMES = "invariance.names"  # how characters are encoded that the encoding of a stream does not have


def _encode_name(error: UnicodeError) -> tuple[str | bytes, int]:
    """Return a byte of a file name that is not valid text as it is, and any other character as an escape."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    character = error.object[error.start]
    is_byte = "\udc80" <= character <= "\udcff"
    return (
        character.encode("utf-8", "surrogateescape") if is_byte else character.encode("ascii", "backslashreplace")
    ), error.start + 1


codecs.register_error(NAMES, _encode_name)


def prepare_streams() -> None:
    """Make standard output take any character, and standard streams that the caller has closed take anything."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r+", encoding="utf-8"))  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors in ("strict", "surrogateescape"):
        sys.stdout.reconfigure(errors=NAMES)


def say(text: str) -> None:
    """Print text on standard output; control characters, for example of file names, are escaped."""
    print(escape_controls(text))


def say_aside(text: str) -> None:
    """Print one line on standard error."""
    with suppress(OSError):  # nobody may be reading
        print(in_one_line(text), file=sys.stderr)


def say_in_place(text: str) -> None:
    """Write one line on standard error over the last one that was written so; for terminals only."""
    with suppress(OSError):
        print(f"\r\x1b[2K{in_one_line(text)}", end="", file=sys.stderr, flush=True)


def discard_output() -> None:
    """Forget what is buffered for standard output, which cannot be written; otherwise Python tries again at its end."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, (sys.__stdout__ or sys.stdout).fileno())
        os.close(nowhere)


def open_output() -> TextIO:
    """Return standard output for a table: names are written as they are, but on a terminal they are escaped."""
    return cast(TextIO, _TerminalOutput()) if sys.stdout.isatty() else sys.stdout


class _TerminalOutput(io.TextIOBase):
    """Standard output on which control characters are escaped."""

    def write(self, text: str) -> int:
        return sys.stdout.write(escape_controls(text))


def make_console(**settings: Any) -> "Console":
    """Return a console of rich on standard output, on which control characters in texts are escaped."""
    from rich.console import Console
    from rich.segment import Segment

    class EscapingConsole(Console):
        def render(self, *arguments: Any, **named: Any) -> Any:
            for text, style, control in super().render(*arguments, **named):
                yield Segment(text if control else escape_controls(text), style, control)

    return EscapingConsole(highlight=False, **settings)


def print_table(title: str, columns: list[str], rows: list[list[str]]) -> None:
    """Print a table with text in the first column and numbers in the others."""
    from rich.table import Table
    from rich.text import Text

    console = make_console()
    if not console.is_terminal:
        console = make_console(width=PIPE_WIDTH)
    table = Table(box=None, pad_edge=False)
    for place, column in enumerate(columns):
        table.add_column(Text(escape_controls(column)), justify="right" if place else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(escape_controls(cell)) for cell in row))
    console.print()
    console.print(Text(title, style="bold"))
    console.print(table)


def list_shares(classes: Iterable[object], shares: Iterable[float]) -> str:
    """Return the classes of pixels and their shares, in one line."""
    return ", ".join(f"class {label} {share:.1%}" for label, share in zip(classes, shares, strict=True))


def percent(share: float | None) -> str:
    """Return a share in per cent for a table; None is not defined."""
    return "-" if share is None else f"{share:.1%}"
