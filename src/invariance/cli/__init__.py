"""The command `invariance`: one file a command, each of which imports what it needs only when it runs."""

import io
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Annotated

import typer

from invariance._version import __version__
from invariance.cli import (
    advise,
    compare,
    datasets,
    demo,
    evaluate,
    explain,
    fit,
    fit_pixels,
    predict,
    segment,
    transformations,
)
from invariance.cli.output import in_one_line

EXAMPLES = """Examples:

  invariance demo

  invariance datasets

  invariance fit leaves/ -o leaves.inv

  invariance predict leaves.inv new/ -o labels.csv

  invariance evaluate leaves.inv other-leaves/

  invariance explain leaves.inv --on other-leaves/ -o report.html

  invariance advise images/

  invariance compare images/

  invariance fit-pixels cells/ masks/ -o cells.inv

  invariance segment cells.inv new/ -o results

  invariance transformations photo.png --set rotations:8 -o orbit.png

Set INVARIANCE_DEBUG=1 to see where an error comes from."""

app = typer.Typer(
    help="Learn from few labelled images, by saying what does not matter.",
    epilog=EXAMPLES,
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("advise", epilog=advise.EXAMPLES)(advise.run)
app.command("compare", epilog=compare.EXAMPLES)(compare.run)
app.command("demo", epilog=demo.EXAMPLES)(demo.run)
app.command("datasets", epilog=datasets.EXAMPLES)(datasets.run)
app.command("fit", epilog=fit.EXAMPLES)(fit.run)
app.command("predict", epilog=predict.EXAMPLES)(predict.run)
app.command("evaluate", epilog=evaluate.EXAMPLES)(evaluate.run)
app.command("explain", epilog=explain.EXAMPLES)(explain.run)
app.command("fit-pixels", epilog=fit_pixels.EXAMPLES)(fit_pixels.run)
app.command("segment", epilog=segment.EXAMPLES)(segment.run)
app.command("transformations", epilog=transformations.EXAMPLES)(transformations.run)

# Unknown options, missing arguments and the like; typer exports no name for it, only for its child.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]


@app.callback()
def begin(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    """Learn from few labelled images, by saying what does not matter."""
    if version:
        print(f"invariance {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    A user's mistake is one line on standard error and exit code 2; Ctrl-C is exit code 130.
    """
    # Pillow and OpenCV warn of damaged files, of which our errors speak.
    warnings.filterwarnings("ignore", module=r"PIL\.")
    os.environ.setdefault("OPENCV_LOG_LEVEL", "SILENT")
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")  # names of files and classes can be any bytes
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
        return f"there is too little memory ({error}). Take fewer or smaller images, or smaller settings."
    return str(error) or type(error).__name__
