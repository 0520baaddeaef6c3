"""`invariance studio`: open a web page to paint labels and to label images."""

from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = """Examples:

  invariance studio cells/

  invariance studio --samples"""


def run(
    folder: Annotated[Path | None, typer.Argument(help="The folder of the images.")] = None,
    samples: Annotated[bool, typer.Option("--samples", help="Open sample images.")] = False,
) -> None:
    """Open a web page to paint labels and to label images."""
