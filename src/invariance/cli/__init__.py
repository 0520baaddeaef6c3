"""The command `invariance`. Each file with a function `run` is a command; it imports what it needs when it runs."""

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from invariance._core.files import FULL_DISK
from invariance._core.progress import logging_progress
from invariance._version import __version__
from invariance.cli.commands import COMMANDS as COMMANDS
from invariance.cli.commands import CommandGroup
from invariance.cli.console import LINE_SECONDS, discard_output, prepare_streams, say, say_aside
from invariance.cli.interruption import Interrupted, Interruption, interruptible
from invariance.cli.one_line_warnings import one_line_warnings
from invariance.cli.output import describe_kept, forget_claims

BROKEN_PIPE = 13  # the number of SIGPIPE, which Windows lacks; it ends other programs whose reader has gone

app = typer.Typer(
    cls=CommandGroup,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: importing rich takes longer than all commands together
    context_settings={"help_option_names": ["-h", "--help"]},
)

# Unknown options, missing arguments and the like; typer exports no name for it, only for its child.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]
MISTAKES = (ValueError, OSError, MemoryError, UsageError)


@app.callback()
def begin(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Learn from few labelled images, by saying what does not matter."""
    if version:
        say(f"invariance {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        say(context.get_help())


@one_line_warnings()
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    0: done; 2: a user's mistake, one line on standard error; 130: Ctrl-C; 141: nobody reads standard output any more;
    143: SIGTERM.
    """
    # OpenCV warns about damaged files; our own errors name the file.
    os.environ.setdefault("OPENCV_LOG_LEVEL", "SILENT")
    prepare_streams()
    forget_claims()
    with interruptible(describe_kept) as interruption:
        try:
            return _run(arguments, interruption)
        except (KeyboardInterrupt, Interrupted, typer.Abort):
            say_aside(interruption.sentence)
            return interruption.exit_code


def _run(arguments: Sequence[str] | None, interruption: Interruption) -> int:
    """Run the command line; return the exit code of all that is no interruption."""
    try:
        with logging_progress(say_aside, LINE_SECONDS[1]):
            code = app(arguments, prog_name="invariance", standalone_mode=False) or 0
        sys.stdout.flush()
        return code
    except (BrokenPipeError, SystemExit):  # typer exits where a pipe is broken
        discard_output()
        return 128 + BROKEN_PIPE
    except Exception as error:
        if interruption.is_asked:
            raise Interrupted from error
        if not isinstance(error, MISTAKES) or os.environ.get("INVARIANCE_DEBUG"):
            raise
        say_aside(f"Error: {_message(error)}")
        try:
            sys.stdout.flush()
        except OSError:
            discard_output()
        return 2


def _message(error: Exception) -> str:
    if isinstance(error, UsageError):
        return error.format_message()  # type: ignore[attr-defined]
    if isinstance(error, OSError) and error.errno in FULL_DISK:
        # All files name themselves.
        where = "standard output" if error.filename is None else f"'{error.filename}'"
        return f"cannot write {where}: {error.strerror}. Free some space, or write elsewhere."
    if isinstance(error, OSError) and error.strerror and error.filename:
        cure = ". Check its permissions." if isinstance(error, PermissionError) else ""
        return f"{error.strerror}: '{error.filename}'{cure}"
    if isinstance(error, MemoryError):
        return f"out of memory ({error}). Use fewer or smaller images, or smaller settings."
    return str(error) or type(error).__name__
