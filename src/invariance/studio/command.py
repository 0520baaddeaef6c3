"""`invariance studio`: open a web page to paint labels and to label images."""

from pathlib import Path
from typing import Annotated

import typer

from invariance._core.extras import command_for
from invariance.cli.console import say

EXAMPLES = """Examples:

  invariance studio cells/

  invariance studio --samples

  invariance studio cells/ --port 8751 --no-browser"""
NEEDED = ("starlette", "uvicorn", "websockets")


def run(
    folder: Annotated[
        Path | None, typer.Argument(help="The folder of the images. Default: the current folder.", show_default=False)
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="The port. Default: 8750 or, if that is taken, any other.")
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address only.")] = False,
    project: Annotated[
        Path | None,
        typer.Option(
            help="The folder of the strokes and labels. Default: invariance-studio in the folder of the images."
        ),
    ] = None,
    samples: Annotated[bool, typer.Option("--samples", help="Open sample images with a few strokes.")] = False,
) -> None:
    """Open a web page to paint labels and to label images."""
    _check_installed()
    if samples:
        if folder is not None:
            raise ValueError("--samples opens sample images; a folder cannot be given with it. Leave one out.")

        from invariance.studio.samples import make_samples

        folder = make_samples()

    from invariance.studio.server import serve

    serve(folder or Path(), port, project, on_start=lambda address: _greet(address, no_browser))
    say("The studio has ended. Everything is saved.")


def _greet(address: str, no_browser: bool) -> None:
    import sys
    import webbrowser

    say(f"The studio is open at {address}")
    say("Everything is saved as you paint. Ctrl-C ends it.")
    sys.stdout.flush()
    if not no_browser:
        webbrowser.open(address)


def _check_installed() -> None:
    from importlib.util import find_spec

    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise ValueError(f"the studio needs {' and '.join(missing)}. Try: {command_for('studio')}.")
