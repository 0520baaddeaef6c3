"""Labelling every pixel of a volume in blocks: planned, resumed, never half-written."""

import hashlib
import math
import os
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from invariance._core.records import RECORDS, Records, RecordsError, job_folder
from invariance._core.running import Failure, InThisProcess, OnDask, Progress, Workers, run_stage
from invariance._version import __version__
from invariance.models import save
from invariance.segmentation import JungleSegmenter
from invariance.volumes import ome
from invariance.volumes.blocks import Grid
from invariance.volumes.planning import PROBABILITIES, Plan, plan_segmentation
from invariance.volumes.targets import Levels, make_arrays, make_group
from invariance.volumes.work import Job, LabelBlock, MeasureSection, ShrinkBlock

MODEL = "model.inv"  # for the workers, in the folder of the job


class Outcome(NamedTuple):
    """What `segment_volume` did.

    Attributes
    ----------
    target : Path
    n_blocks : int
        Number of blocks at full resolution.
    n_found : int
        How many of them an earlier run had finished.
    shares : ndarray of shape (n_classes,)
        The share of every class in the pixels of finished blocks.
    failures : list of Failure
        Blocks that failed in all tries; all others are finished.
    """

    target: Path
    n_blocks: int
    n_found: int
    shares: np.ndarray
    failures: list[Failure]


def segment_volume(
    model: JungleSegmenter,
    source: str | os.PathLike,
    target: str | os.PathLike,
    *,
    client: Any = None,
    level: int = 0,
    channel: int | None = None,
    roi: Sequence[slice] | None = None,
    labels: bool = True,
    probabilities: bool = False,
    chunks: Sequence[int] | None = None,
    version: str = "0.4",
    max_bytes: int | None = None,
    restart: bool = False,
    n_jobs: int | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Outcome:
    """Label every pixel of a volume that may be larger than memory, and write the result as OME-Zarr.

    Every block of the result is computed from the source by itself and written once. Finished blocks are recorded in
    the folder `TARGET.job` beside the result: called again after an interruption, the function goes on with the others.

    Parameters
    ----------
    model : JungleSegmenter
        The fitted segmenter.
    source : path-like
        What `open_volume` opens.
    target : path-like
        The store to write: labels at its root, probabilities in its group "probabilities".
    client : distributed.Client or None, default=None
        Computes the blocks on its workers, which must see the same files; None computes them in this process.
    level, channel : int, default=0 and None
        As in `open_volume`.
    roi : sequence of slices or None, default=None
        The region to label, one slice per axis; None means all. The result has its size.
    labels, probabilities : bool, default=True and False
        What to write: the values of classes, and probabilities of all classes as uint8, 255 for 1.
    chunks : sequence of int or None, default=None
        Shape of the chunks of the result; None means squares of 512 pixels of one section.
    version : {"0.4", "0.5"}, default="0.4"
        Of OME-Zarr. 0.4 is what Fiji, ilastik and QuPath read; in 0.5 a block is one shard.
    max_bytes : int or None, default=None
        Memory of a worker; blocks are made small enough for it. None does not limit it.
    restart : bool, default=False
        Whether to delete an unfinished or finished result and begin again.
    n_jobs : int or None, default=None
        Threads per block; None means all processors without a client, and 1 with one.
    on_progress : callable or None, default=None
        Called with a `Progress` whenever blocks have ended.

    Returns
    -------
    outcome : Outcome
        Labels are bit for bit those of `model.predict` for whole sections.
    """
    target = Path(target)
    plan = plan_segmentation(model, source, level, channel, roi, labels, probabilities, chunks, version, max_bytes)
    folder = _prepare_folder(target, restart)
    records = Records(folder / RECORDS, _describe_job(model, plan))
    try:
        job = _begin(model, plan, target, folder, n_jobs, client)
        n_found = len(records.numbers("label"))
        workers: Workers = InThisProcess() if client is None else OnDask(client)
        failures = _run(job, plan, workers, records, on_progress)
        if not failures:
            failures = _write_pyramids(plan, target, workers, records, on_progress)
        counted = (
            np.array(list(records.results("label").values()), np.int64).reshape(-1, len(model.classes_)).sum(axis=0)
        )
        return Outcome(target, plan.grid.n_blocks, n_found, counted / max(1, counted.sum()), failures)
    finally:
        records.close()


def _prepare_folder(target: Path, restart: bool) -> Path:
    """Make the folder of the job; refuse a result that is not of a job, and delete one with `restart`."""
    folder = job_folder(target)
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"cannot write '{target}': the folder '{target.parent}' does not exist. Create it first."
        )
    is_ours = (folder / RECORDS).is_file()
    if target.exists() and not is_ours:
        raise FileExistsError(
            f"'{target}' exists, but '{folder.name}', by which this command knows its own results, does not. Delete "
            f"'{target}' yourself if it may go, or name another output."
        )
    if restart and is_ours:
        # The store first: records without it are refused, a store without records would be a stranger's.
        shutil.rmtree(target, ignore_errors=True)
        shutil.rmtree(folder)
    if is_ours and not restart and not target.exists():
        raise RecordsError(f"'{target}' is gone, but its records '{folder}' are there. Begin again with --restart.")
    folder.mkdir(exist_ok=True)
    return folder


def _describe_job(model: JungleSegmenter, plan: Plan) -> dict[str, Any]:
    """Return what the result depends on, by names that people understand."""
    return {
        "model": fingerprint(model),
        "source": [str(plan.volume.path.resolve()), plan.volume.level, plan.volume.channel, plan.volume.identity],
        "settings": [
            [[part.start, part.stop] for part in plan.roi], plan.labels, plan.probabilities, plan.version, __version__,
        ],
    }  # fmt: skip


def fingerprint(model: JungleSegmenter) -> str:
    """Return a hash of what a fitted segmenter predicts with; the number of jobs does not count."""
    import joblib

    state = {name: value for name, value in model.__getstate__().items() if name not in ("n_jobs", "_sklearn_version")}
    return hashlib.sha256(joblib.hash(_without_jobs(state)).encode()).hexdigest()[:16]


def _without_jobs(value: Any) -> Any:
    """Replace estimators by their states without numbers of jobs, in any nesting."""
    if hasattr(value, "get_params") and hasattr(value, "__getstate__"):
        state = value.__getstate__()
        return type(value).__name__, {name: _without_jobs(one) for name, one in state.items() if name != "n_jobs"}
    if isinstance(value, dict):
        return {name: _without_jobs(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_without_jobs(one) for one in value]
    return value


def _begin(model: JungleSegmenter, plan: Plan, target: Path, folder: Path, n_jobs: int | None, client: Any) -> Job:
    """Write the model for the workers, and the store without pixels; what exists stays."""
    if not (folder / MODEL).exists():
        save(model, folder / MODEL)
    volume = plan.volume
    make_group(target, "", {}, plan.version)
    names = [str(label) for label in model.classes_.tolist()]
    for levels in filter(None, (plan.labels, plan.probabilities)):
        is_label = levels is plan.labels
        axes, units = (volume.axes, volume.units) if is_label else (f"c{volume.axes}", (None, *volume.units))
        metadata = _describe_levels(plan, levels, axes, units, target.name)
        if is_label:
            metadata |= ome.describe_labels([int(label) for label in model.classes_], names, plan.version)
        make_group(target, levels.group, ome.as_attributes(metadata, plan.version), plan.version)
        make_arrays(target, levels, axes, plan.version)
    return Job(
        model=folder.resolve() / MODEL,
        source=volume.path.resolve(),
        level=volume.level,
        channel=volume.channel,
        roi=tuple((part.start, part.stop) for part in plan.roi),
        target=target.resolve(),
        labels=plan.labels,
        probabilities=plan.probabilities,
        n_jobs=n_jobs if n_jobs is not None else -1 if client is None else 1,
    )


def _describe_levels(plan: Plan, levels: Levels, axes: str, units, name: str) -> dict[str, Any]:
    """Return the metadata of the levels of a result: a pixel of level n covers 2^n pixels per side."""
    size = plan.volume.pixel_size
    start = [part.start * one for part, one in zip(plan.roi, size, strict=True)]
    scales, translations = [], []
    for number in range(len(levels.shapes)):
        factors = [*(1 for _ in size[:-2]), 2**number, 2**number]
        # The first pixel of a level lies in the middle of those that it covers.
        middles = [one + 0.5 * (factor - 1) * side for one, factor, side in zip(start, factors, size, strict=True)]
        scales.append([side * factor for side, factor in zip(size, factors, strict=True)])
        translations.append(middles)
    if len(axes) > len(size):
        scales, translations = [[1.0, *one] for one in scales], [[0.0, *one] for one in translations]
    paths = [str(number) for number in range(len(levels.shapes))]
    return ome.describe_levels(axes, units, paths, scales, translations, name, plan.version)


def _run(job: Job, plan: Plan, workers: Workers, records: Records, on_progress) -> list[Failure]:
    """Measure sections if they have several blocks, then label all blocks."""
    measures: dict[int, Any] | None = None
    if plan.measures_first:
        n_sections = math.prod(plan.grid.shape[:-2])
        failures = run_stage("measure", n_sections, partial(MeasureSection, job), workers, records, on_progress)
        if failures:
            return failures
        measures = records.results("measure")

    def label(number: int) -> LabelBlock:
        place = plan.grid.place(number)
        return LabelBlock(job, place, None if measures is None else [measures[one] for one in _sections(plan, place)])

    return run_stage("label", plan.grid.n_blocks, label, workers, records, on_progress)


def _sections(plan: Plan, place: tuple[slice, ...]) -> list[int]:
    """Return the numbers of the sections of a block."""
    lengths = plan.grid.shape[:-2]
    inside = product(*(range(part.start, part.stop) for part in place[:-2]))
    return [int(np.ravel_multi_index(index, lengths)) if lengths else 0 for index in inside]


def _write_pyramids(plan: Plan, target: Path, workers: Workers, records: Records, on_progress) -> list[Failure]:
    """Write the lower resolutions, each from the stored one below."""
    for levels in filter(None, (plan.labels, plan.probabilities)):
        for level, shape in enumerate(levels.shapes[1:], start=1):
            grid = Grid(shape, levels.block)

            def shrink(number: int, levels=levels, grid=grid, level=level) -> ShrinkBlock:
                place = grid.place(number)
                return ShrinkBlock(target.resolve(), levels, place, level, is_label=levels is plan.labels)

            name = f"{'labels' if levels is plan.labels else PROBABILITIES}, level {level}"
            failures = run_stage(name, grid.n_blocks, shrink, workers, records, on_progress)
            if failures:
                return failures
    return []
