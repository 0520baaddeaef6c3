"""`invariance demo`: classify textures that are installed with the dependencies, and write a report."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from invariance._core.progress import PATIENCE_SECONDS
from invariance.cli.console import say, say_aside
from invariance.cli.output import REPORT, OverwriteOption, claim_file

FILE_NAME = "invariance-demo.html"
EXAMPLES = """Examples:

  invariance demo

  invariance demo -o results/ --seed 7

  invariance demo -o textures.html"""


def run(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The report: a file ending in .html, or an existing folder.")
    ] = Path(FILE_NAME),
    overwrite: OverwriteOption = False,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of all random draws; the same seed gives the same report.")
    ] = 0,
) -> None:
    """Classify textures at random rotations from few labels, and report what invariance gains."""
    path = claim_file(output / FILE_NAME if output.is_dir() else output, REPORT, overwrite)

    from invariance.report.demo_experiment import SHOWN_COUNT, compile_loops, run_demo
    from invariance.report.demo_page import compare_with_peers, demo_report

    say_aside("Fitting five classifiers to textures with few labels; this takes about half a minute ...")
    with _notice("Compiling the inner loops, only once; they are cached on disk ..."):
        compile_loops()
    demo = run_demo(random_state=seed)
    demo_report(demo, seed).save(path)
    for name, accuracies in demo.accuracies(SHOWN_COUNT).items():
        say(f"{name:<32}{accuracies.mean():6.1%} accuracy with {SHOWN_COUNT} labelled windows per class")
    say(compare_with_peers(demo))
    say(f"Report: {path.resolve()}")


@contextmanager
def _notice(text: str) -> Iterator[None]:
    """Print a line on standard error if the work inside takes more than a moment."""
    timer = threading.Timer(PATIENCE_SECONDS, say_aside, [text])
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
