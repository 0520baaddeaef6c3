"""The command `invariance`. Each file with a function `run` is a command; it imports what it needs when it runs."""

import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Annotated

import typer

from invariance._version import __version__
from invariance.cli.one_line_warnings import one_line_warnings
from invariance.cli.output import in_one_line

HELP = "Learn from few labelled images, by saying what does not matter."
FOOTER = "Set INVARIANCE_DEBUG=1 to see the traceback of an error."


def _commands() -> dict[str, ModuleType]:
    """The modules of this folder that have a function `run`, by the name of the command."""
    modules = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
    return {
        module.__name__.rpartition(".")[2].replace("_", "-"): module for module in modules if hasattr(module, "run")
    }


def _first_examples(commands: dict[str, ModuleType]) -> str:
    """The first example of every command."""
    return "\n\n".join(["Examples:", *(module.EXAMPLES.split("\n\n")[1] for module in commands.values()), FOOTER])


COMMANDS = _commands()
app = typer.Typer(
    help=HELP,
    epilog=_first_examples(COMMANDS),
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _name, _module in COMMANDS.items():
    app.command(_name, epilog=_module.EXAMPLES)(_module.run)

# Unknown options, missing arguments and the like; typer exports no name for it, only for its child.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]


@app.callback()
def begin(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Learn from few labelled images, by saying what does not matter."""
    if version:
        print(f"invariance {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())


@one_line_warnings()
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    A user's mistake is one line on standard error and exit code 2; Ctrl-C is exit code 130.
    """
    # OpenCV warns about damaged files; our own errors name the file.
    os.environ.setdefault("OPENCV_LOG_LEVEL", "SILENT")
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")  # file and class names may not be valid text
    try:
        return app(arguments, prog_name="invariance", standalone_mode=False) or 0
    except (KeyboardInterrupt, typer.Abort):
        return 130
    except (ValueError, OSError, MemoryError, UsageError) as error:
        if os.environ.get("INVARIANCE_DEBUG"):
            raise
        print(f"Error: {in_one_line(_message(error))}", file=sys.stderr)
        return 2


def _message(error: Exception) -> str:
    if isinstance(error, UsageError):
        return error.format_message()  # type: ignore[attr-defined]
    if isinstance(error, OSError) and error.strerror and error.filename:
        cure = ". Check its permissions." if isinstance(error, PermissionError) else ""
        return f"{error.strerror}: '{error.filename}'{cure}"
    if isinstance(error, MemoryError):
        return f"out of memory ({error}). Use fewer or smaller images, or smaller settings."
    return str(error) or type(error).__name__
