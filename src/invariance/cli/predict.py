"""`invariance predict`: classify images and write a table."""

import json
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from invariance.cli.classifying import Classified, iterate_blocks
from invariance.cli.cluster import SchedulerOption, WorkersOption, open_client
from invariance.cli.console import say
from invariance.cli.options import (
    JobsOption,
    JsonOption,
    ModelArgument,
    ScaleOption,
    StrictOption,
    iterate_files,
    list_skipped,
    load_classifier,
    report_skipped,
)
from invariance.cli.output import TABLE, OverwriteOption, claim_file, forget_kept_blocks, keep_blocks
from invariance.cli.table import Prediction, check_parquet, open_table

N_TOGETHER = 64  # images in memory at a time
MAX_UNRECORDED = 1024  # images of a run that leaves no records, since it is soon begun again
DIGITS = 6  # of probabilities
EXAMPLES = """Examples:

  invariance predict leaves.inv photo.jpg

  invariance predict leaves.inv new/ more/ -o labels.csv

  invariance predict leaves.inv millions/ -o labels.parquet --workers 4

  invariance predict leaves.inv new/ --strict --json"""


def run(
    model: ModelArgument,
    sources: Annotated[list[Path], typer.Argument(help="Images, or folders, including their sub-folders.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The table, a file ending in .csv or .parquet. Default: print it. After an interruption, the same "
            "command goes on.",
        ),
    ] = None,
    overwrite: OverwriteOption = False,
    scale: ScaleOption = None,
    strict: StrictOption = False,
    as_json: JsonOption = False,
    workers: WorkersOption = 1,
    scheduler: SchedulerOption = None,
    restart: Annotated[
        bool, typer.Option("--restart", help="Forget what an earlier run for this table has finished.")
    ] = False,
    jobs: JobsOption = -1,
) -> None:
    """Classify images; the table has the path, the label, and the probability of each class.

    The column of a class called path or label is called class:path or class:label.
    """
    path = None if output is None else claim_file(output, TABLE, overwrite, [model, *sources])
    check_parquet(path)

    from invariance.images.file_list import FileList
    from invariance.volumes.classification import Settings, has_records, recording

    skipped: list[tuple[Path, str]] = []
    files = FileList(N_TOGETHER)
    files.add(iterate_files(sources, skipped, recursive=True, strict=strict))
    classifier = load_classifier(model, scale)
    settings = Settings(None if scale is None else str(scale), strict, DIGITS)
    classes = [str(name) for name in classifier.classes_]
    started = time.perf_counter()
    recorded = path if path is not None and (len(files) > MAX_UNRECORDED or has_records(path)) else None
    with (
        recording(recorded, model, files, settings, restart) if recorded else nullcontext() as records,
        open_client(workers, scheduler) as client,
    ):
        if recorded is not None:
            keep_blocks(recorded)
        blocks = iterate_blocks(files, classifier, settings, model, client, records, skipped)
        predictions, counts = _write(blocks, path, classes, waits=strict, keeps=as_json)
    forget_kept_blocks()
    seconds = time.perf_counter() - started
    report_skipped(skipped)
    if as_json:
        listed: list[dict[str, Any]] = [
            {"path": str(file), "label": label, "probabilities": dict(zip(classes, values, strict=True))}
            for file, label, values in predictions
        ]
        say(json.dumps({"predictions": listed, "skipped": list_skipped(skipped)}, indent=2))
    elif path is not None:
        n = counts.total()
        shares = ", ".join(f"{label} {count}" for label, count in counts.most_common())
        say(f"Classified {n} images in {seconds:.1f} s ({1000 * seconds / n:.1f} ms per image): {shares}.")
        say(f"Table: {path.resolve()}")


def _write(
    blocks: Iterator[Classified], path: Path | None, classes: list[str], waits: bool, keeps: bool
) -> tuple[list[Prediction], Counter[str]]:
    """Write a table; return the predictions if `keeps`, and how often each label was predicted.

    With JSON there is no table on standard output; with --strict nothing is printed until all images have been read.
    """
    kept: list[Prediction] = []
    counts: Counter[str] = Counter()
    with nullcontext() if keeps and path is None else open_table(path, classes, waits) as table:
        for block in blocks:
            predictions = _predictions(block, classes)
            counts.update(prediction.label for prediction in predictions)
            if table is not None:
                table.write(predictions)
            if keeps:
                kept += predictions
    return kept, counts


def _predictions(block: Classified, classes: list[str]) -> list[Prediction]:
    found = zip(block.found.places, block.found.codes, block.found.probabilities, strict=True)
    return [Prediction(block.files[place], classes[code], values) for place, code, values in found]
