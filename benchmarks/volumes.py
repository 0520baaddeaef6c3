"""Volumes in blocks: throughput beside loops in memory, memory of workers, and the cost of a block.

Usage, from the repository: python -m benchmarks.volumes [throughput [GIGABYTES]] [blocks]
`throughput` labels a volume of tiled ISBI sections, or generated membranes, with two workers, region by region; between
regions two independent processes label some sections that they hold in memory; each on one thread. The model is a fast
one: the cost of reading, writing and giving out blocks weighs most for it. `blocks` gives out 10^5 and 10^6 blocks
that do nothing, to workers that answer at once.
"""

import math
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import zarr
from distributed import Client

from benchmarks.segmentation import load_sections, tile_sections
from invariance._core.records import Records
from invariance._core.running import Ended, Progress, run_stage
from invariance.cli.cluster import open_client
from invariance.models import load, save
from invariance.segmentation import JungleSegmenter
from invariance.transformations import Rotations
from invariance.volumes import segment_volume, work

SIDE, N_WORKERS = 2048, 2
RATIO, OVERHEAD = 0.85, 0.05  # required of the throughput, at least, and of the overhead per block, at most
MEMORY = 3 * 10**9
N_COMPARED = 6  # sections per worker that the loops in memory label
N_PER_TURN = 120  # sections per region
FAST = {"n_rounds": 1, "n_trees": 50, "max_depth": 2, "patch_size": 15, "rank": 16}


class Turn(NamedTuple):
    """Seconds per section of a turn, and what of the workers' time is not the model's.

    Attributes
    ----------
    before, workers, after : float
        Of the loops before the turn, of the workers with all stages of a job, and of the loops after it.
    overhead : float
        Share of the time of all workers, from the first labelled block to the last, in which they neither compute
        probabilities nor choose classes, which the loops do too: reading, writing, recording, waiting.
    """

    before: float
    workers: float
    after: float
    overhead: float

    @property
    def ratio(self) -> float:
        """Throughput of the workers as a share of that of the loops."""
        return (self.before + self.after) / 2 / self.workers


def measure_throughput(gigabytes: float) -> None:
    """Label a volume with two workers, region by region; in between, some sections with two loops."""
    images, masks = load_sections()
    model = JungleSegmenter(Rotations(4), n_jobs=1, random_state=0, **FAST)
    model.fit(images[:1], masks[:1].astype(np.uint8))
    n_sections = max(N_COMPARED * N_WORKERS, math.ceil(gigabytes * 1e9 / (4 * SIDE**2)))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save(model, folder / "m.inv")
        source = write_volume(folder / "source.zarr", tile_sections(images, SIDE), n_sections)
        print(f"volume: {n_sections} x {SIDE} x {SIDE}, {source.nbytes / 1e9:.2f} GB raw", flush=True)
        with open_client(N_WORKERS, None, MEMORY) as client:
            client.wait_for_workers(N_WORKERS)
            segment_volume(model, folder / "source.zarr", folder / "warm.zarr", client=client, roi=warm_roi())
            client.run(time_the_model)
            turns = list(take_turns(model, folder, client, n_sections))
            peaks = client.run(lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024).values()
        found = zarr.open_array(folder / "out.zarr", path="0", mode="r")
        is_equal = np.array_equal(found[-1], model.predict(source[-1]))
    ratio, overhead = (
        float(np.median(one)) for one in zip(*((turn.ratio, turn.overhead) for turn in turns), strict=True)
    )
    least, most = min(turn.ratio for turn in turns), max(turn.ratio for turn in turns)
    print(
        f"throughput with pyramid: {ratio:.2f} of the loops, median of {len(turns)} turns, {least:.2f} to {most:.2f} "
        f"(at least {RATIO}): {'met' if ratio >= RATIO else 'MISSED'}"
    )
    print(
        f"overhead per block, a worker's time that is not the model's: {overhead:.1%} (at most {OVERHEAD:.0%}): "
        f"{'met' if overhead <= OVERHEAD else 'MISSED'}"
    )
    print(
        f"peak memory per worker: {max(peaks) / 1e9:.2f} GB (limit {MEMORY / 1e9:.1f} GB); equal in memory: {is_equal}"
    )


def write_volume(path: Path, base: np.ndarray, n_sections: int) -> zarr.Array:
    """Write sections of one image, each at another place, orientation and brightness."""
    source = zarr.create_array(path, shape=(n_sections, SIDE, SIDE), dtype="float32", chunks=(1, 512, 512))
    for number in range(n_sections):
        turned = np.rot90(np.roll(base, 131 * number, axis=(0, 1)), number)
        source[number] = np.clip(turned * ((0.8 + 0.02 * (number % 20)) / 255), 0, 1)
    return source


def take_turns(model: JungleSegmenter, folder: Path, client: Client, n_sections: int) -> Iterator[Turn]:
    """Label regions of the volume that together are all of it, with loops before and after each: machines slow down."""
    target = folder / "out.zarr"
    before = loop_seconds(folder)
    for start in range(0, n_sections, N_PER_TURN):
        stop = min(start + N_PER_TURN, n_sections)
        client.run(model_seconds)  # forget what was counted
        started = time.perf_counter()
        stages: dict[str, Progress] = {}
        segment_volume(
            model,
            folder / "source.zarr",
            target,
            client=client,
            roi=[slice(start, stop), slice(None), slice(None)],
            restart=target.exists(),
            on_progress=partial(note_stage, stages),
        )
        seconds = time.perf_counter() - started
        overhead = 1 - sum(client.run(model_seconds).values()) / (N_WORKERS * stages["label"].seconds)
        after = loop_seconds(folder)
        turn = Turn(before, seconds / (stop - start), after, overhead)
        listed = ", ".join(f"{name} {last.seconds / seconds:.1%}" for name, last in stages.items())
        print(
            f"sections {start} to {stop}: workers {turn.workers:.2f} s per section, loops {before:.2f} before and "
            f"{after:.2f} after; {turn.ratio:.2f}; overhead {overhead:.1%}; shares of the time: {listed}",
            flush=True,
        )
        yield turn
        before = after


def note_stage(stages: dict[str, Progress], progress: Progress) -> None:
    """Keep the last progress of a stage."""
    stages[progress.stage] = progress


def time_the_model() -> None:
    """In a worker: count the seconds of `predict_part`, and of choosing the most probable classes."""

    def timed(plain):
        def call(*arguments):
            started = time.perf_counter()
            try:
                return plain(*arguments)
            finally:
                JungleSegmenter.seconds += time.perf_counter() - started

        return call

    JungleSegmenter.seconds, JungleSegmenter.predict_part = 0.0, timed(JungleSegmenter.predict_part)
    work.most_probable = timed(work.most_probable)


def model_seconds() -> float:
    """In a worker: return the seconds that were counted since the last call."""
    seconds, JungleSegmenter.seconds = JungleSegmenter.seconds, 0.0
    return seconds


def warm_roi() -> list[slice]:
    """A small part, so that all workers have compiled and opened their files."""
    return [slice(0, N_WORKERS * 3), slice(0, 256), slice(0, 256)]


def loop_seconds(folder: Path) -> float:
    """Seconds per section of two independent processes that have their sections in memory."""
    context = multiprocessing.get_context("spawn")
    barrier, answers = context.Barrier(N_WORKERS), context.Queue()
    processes = [context.Process(target=loop, args=(folder, number, barrier, answers)) for number in range(N_WORKERS)]
    for process in processes:
        process.start()
    seconds = [answers.get() for _ in processes]
    for process in processes:
        process.join()
    return max(seconds) / (N_WORKERS * N_COMPARED)


def loop(folder: Path, number: int, barrier, answers) -> None:
    """Label some sections in memory, all processes at the same time."""
    model = load(folder / "m.inv").set_params(n_jobs=1)
    source = zarr.open_array(folder / "source.zarr", mode="r")
    sections = [source[number * N_COMPARED + one] for one in range(N_COMPARED)]
    model.predict(sections[0][:512, :512])
    barrier.wait()
    started = time.perf_counter()
    for section in sections:
        model.predict(section)
    answers.put(time.perf_counter() - started)


class AtOnce:
    """Workers that have finished a block as soon as it is given out."""

    def __init__(self, n_slots: int = 300):
        self._n_slots, self._ended = n_slots, []

    def capacity(self):
        """Return a number that does not change."""
        return self._n_slots

    def submit(self, work, number):
        """Compute a block."""
        self._ended.append(Ended(number, work(), None))

    def wait(self):
        """Return all blocks since the last call."""
        ended, self._ended = self._ended, []
        return ended


def measure_blocks() -> None:
    """Time and memory per block of many blocks that do nothing."""
    for n_blocks in (10**5, 10**6):
        with tempfile.TemporaryDirectory() as folder:
            records = Records(Path(folder) / "records.sqlite", {"model": "none"})
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            started = time.perf_counter()
            run_stage("label", n_blocks, lambda number: lambda: [number], AtOnce(), records)
            seconds = time.perf_counter() - started
            grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
            records.close()
        print(f"{n_blocks} blocks: {1e6 * seconds / n_blocks:.0f} µs and {grown / n_blocks:.1f} bytes per block")


def main() -> None:
    """Run the parts that are named, or both."""
    parts = sys.argv[1:] or ["blocks", "throughput"]
    if "blocks" in parts:
        measure_blocks()
    if "throughput" in parts:
        rest = parts[parts.index("throughput") + 1 :]
        measure_throughput(float(rest[0]) if rest else 8.0)


if __name__ == "__main__":
    main()
