"""`invariance segment ... -o OUT.zarr`: a volume in blocks, on this machine or on a Dask cluster."""

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from invariance.cli.cluster import ProgressLine, check_installed, in_words, open_client
from invariance.cli.console import list_shares, say, say_aside

if TYPE_CHECKING:
    from invariance.segmentation import JungleSegmenter
    from invariance.volumes.planning import Plan

NEEDED = ("zarr", "dask", "distributed", "cryptography")
UNITS = {"": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12, "kib": 2**10, "mib": 2**20, "gib": 2**30}
SAMPLE_SIDE = 512  # pixels per side of the part that is labelled to forecast the time
MAX_FAILURES_SHOWN = 5


class VolumeOptions(NamedTuple):
    """The options of `segment` that concern volumes, as they were given."""

    level: int
    channel: int | None
    roi: str | None
    workers: int
    memory: str | None
    scheduler: str | None
    probabilities: bool
    ome_version: str
    restart: bool
    dry_run: bool


def segment_volume_to(segmenter: "JungleSegmenter", source: Path, target: Path, options: VolumeOptions) -> None:
    """Label a volume and write it as OME-Zarr; with `--dry-run`, say what would be done."""
    check_installed(NEEDED, "volumes")

    from invariance.volumes.planning import plan_segmentation
    from invariance.volumes.segmentation import segment_volume

    max_bytes = None if options.memory is None else parse_bytes(options.memory)
    roi = None if options.roi is None else parse_roi(options.roi)
    settings: dict[str, Any] = {
        "level": options.level, "channel": options.channel, "roi": roi, "probabilities": options.probabilities,
        "version": options.ome_version, "max_bytes": max_bytes,
    }  # fmt: skip
    plan = plan_segmentation(segmenter, source, **settings)
    if options.dry_run:
        _describe(plan, segmenter, options)
        return
    with open_client(options.workers, options.scheduler, max_bytes) as client:
        outcome = segment_volume(
            segmenter, source, target, client=client, restart=options.restart, on_progress=ProgressLine(), **settings
        )
    for failure in outcome.failures[:MAX_FAILURES_SHOWN]:
        say_aside(f"Failed: {failure.stage}, block {failure.number}: {failure.error}")
    if outcome.failures:
        say_aside(
            f"{len(outcome.failures)} of {outcome.n_blocks} blocks failed, all others are finished. "
            f"Run the same command again to try these once more."
        )
        raise typer.Exit(1)
    if outcome.n_found:
        say_aside(f"{outcome.n_found} of {outcome.n_blocks} blocks were finished by an earlier run.")
    say(f"{target}: {list_shares(segmenter.classes_, outcome.shares)}")


def parse_bytes(text: str) -> int:
    """Return a number of bytes such as 4GB, 512MiB or 1000000."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", text.strip().lower())
    if found is None or found[2] not in UNITS:
        raise ValueError(f"--memory must be a number of bytes such as 4GB or 500MiB; got {text!r}.")
    return int(float(found[1]) * UNITS[found[2]])


def parse_roi(text: str) -> list[slice]:
    """Return the region of a text such as 0:10,:,200:800, one range per axis."""
    ranges = []
    for part in text.split(","):
        found = re.fullmatch(r"\s*(\d*):(\d*)\s*|\s*(\d+)\s*", part)
        if found is None:
            raise ValueError(f"--roi must be one range per axis, such as 0:10,:,200:800; got {text!r}.")
        start, stop, single = found.groups()
        if single is not None:
            start, stop = single, str(int(single) + 1)
        ranges.append(slice(int(start) if start else None, int(stop) if stop else None))
    return ranges


def _describe(plan: "Plan", segmenter: "JungleSegmenter", options: VolumeOptions) -> None:
    """Print the blocks, the memory of a worker and, from a labelled part, the expected time."""
    from invariance.volumes.memory import block_bytes

    shape, block = plan.grid.shape, plan.grid.block
    section = plan.volume.section(tuple(part.start for part in plan.roi[:-2]))
    rows, cols = (slice(part.start, min(part.stop, part.start + SAMPLE_SIDE)) for part in plan.roi[-2:])
    measured = segmenter.measure(section)
    segmenter.predict_part(section, rows, cols, measured)  # compiled now
    started = time.perf_counter()
    n_pixels = segmenter.predict_part(section, rows, cols, measured)[..., 0].size
    per_pixel = (time.perf_counter() - started) / n_pixels
    total = per_pixel * shape[-1] * shape[-2]
    for length in shape[:-2]:
        total *= length
    say(f"volume: {' x '.join(map(str, shape))} ({plan.volume.axes}), {plan.volume.dtype}")
    say(f"blocks: {plan.grid.n_blocks} of {' x '.join(map(str, block))}")
    say(f"memory per worker: at most {block_bytes(segmenter, block) / 1e9:.1f} GB")
    n_workers = options.workers
    machine = f"{n_workers} worker{'s' * (n_workers != 1)} of this machine"
    shared = "; a cluster divides it among its workers" if options.scheduler is not None else ""
    say(f"expected time: about {in_words(total / n_workers)} with {machine}{shared}")
