"""`invariance demo`: the library on data that are generated or installed with its dependencies, and a report."""

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from invariance.cli.console import say, say_aside
from invariance.cli.output import REPORT, OverwriteOption, claim_file

FILE_NAME = "invariance-demo.html"
EXAMPLES = """Examples:

  invariance demo

  invariance demo -o results/ --seed 7

  invariance demo -o first.html"""


def run(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The report: a file ending in .html, or an existing folder.")
    ] = Path(FILE_NAME),
    overwrite: OverwriteOption = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random draws.")] = 0,
) -> None:
    """Label pixels from strokes, find out which invariance helps on images, and report both.

    Every result stands beside that of a simple baseline. It takes less than a minute.
    """
    path = claim_file(output / FILE_NAME if output.is_dir() else output, REPORT, overwrite)
    say_aside("This takes less than a minute; the first time, inner loops are compiled and kept on disk.")

    from invariance.report.demo.images import run_images
    from invariance.report.demo.page import demo_report
    from invariance.report.demo.pixels import run_pixels

    pixels = run_pixels(seed)
    say(pixels.sentence)
    images = run_images(seed)
    say(images.sentence)
    demo_report(pixels, images, seed).save(path)
    say(f"What the models saw is in the report: {path.resolve()}")
    command = shlex.quote(_command())
    say(f"Next: `{command} studio --samples` to paint strokes yourself, `{command} fit FOLDER -o model.inv` to learn.")


def _command() -> str:
    """What to type for this program: its name, or its path where a shell would not find it."""
    started = Path(sys.argv[0])
    if shutil.which("invariance") or started.name != "invariance":
        return "invariance"
    return os.path.relpath(started)
