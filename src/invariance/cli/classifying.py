"""What `predict` and `evaluate` share: blocks of files are classified, and what goes wrong is reported."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from invariance.cli.cluster import ProgressLine
from invariance.cli.console import say_aside

if TYPE_CHECKING:
    from invariance._core.records import Records
    from invariance.images.file_list import FileList
    from invariance.methods import ImageClassifier
    from invariance.volumes.classification import Block, Found, Settings

MAX_FAILURES_SHOWN = 5


class Classified(NamedTuple):
    """A block of files, and what was found."""

    files: list[Path]
    found: "Found"


def iterate_blocks(
    files: "FileList",
    classifier: "ImageClassifier",
    settings: "Settings",
    model: Path,
    client: Any,
    records: "Records | None",
    skipped: list[tuple[Path, str]],
) -> Iterator[Classified]:
    """Classify block by block; unreadable files are appended to `skipped`, or an error if all are.

    If blocks are recorded, those that fail although they were tried again are listed after all others are finished.
    """
    from invariance._core.progress import track
    from invariance.images import ImageError, RangeWarning
    from invariance.volumes.classification import classify_files

    n_read, n_left_out = 0, len(skipped)
    failures: list[Block] = []
    on_progress = None if client is None else ProgressLine()
    blocks = classify_files(files, classifier, settings, model, client, records, on_progress)
    for block in track(blocks, f"classifying {len(files)} images", files.n_blocks) if client is None else blocks:
        if block.error is not None and (records is None or isinstance(block.error, ValueError)):
            raise block.error
        if block.found is None:
            failures.append(block)
            continue
        skipped += [(block.files[place], reason) for place, reason in block.found.skipped]
        if block.found.warning is not None and n_read == 0:  # one warning of another range of intensities
            warnings.warn(block.found.warning, RangeWarning, stacklevel=2)
        n_read += len(block.found.places)
        yield Classified(block.files, block.found)
    if failures:
        _report_failures(failures)
        raise typer.Exit(1)
    if n_read == 0:
        more = f" Neither could {len(files) - 1} more." if len(files) > 1 else ""
        raise ImageError(f"no image could be read: {skipped[n_left_out][1]}{more}")


def _report_failures(failures: "list[Block]") -> None:
    for block in failures[:MAX_FAILURES_SHOWN]:
        error = f"{type(block.error).__name__}: {block.error}"
        say_aside(f"Failed: '{block.files[0]}' to '{block.files[-1]}': {error}")
    say_aside(
        f"{sum(len(block.files) for block in failures)} images could not be classified, all others are finished. Run "
        f"the same command again to try these once more."
    )
