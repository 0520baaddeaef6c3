"""Volumes in blocks: throughput beside loops in memory, memory of workers, and the cost of a block.

Usage, from the repository: python -m benchmarks.volumes [throughput [GIGABYTES]] [blocks]
`throughput` labels a volume of tiled ISBI sections, or generated membranes, with two workers; beside it, some of its
sections with two independent processes that hold them in memory; each on one thread. `blocks` gives out 10^5 and 10^6
blocks that do nothing, to workers that answer at once.
"""

import multiprocessing
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import zarr
from distributed import Client, LocalCluster

from benchmarks.segmentation import load_sections, tile_sections
from invariance.models import load, save
from invariance.segmentation import JungleSegmenter
from invariance.volumes import segment_volume
from invariance.volumes.records import Records
from invariance.volumes.running import Ended, run_stage

SIDE, N_WORKERS = 2048, 2
RATIO, OVERHEAD = 0.85, 0.05  # required of the throughput, at least, and of the overhead per block, at most
MEMORY = 3 * 10**9
N_COMPARED = 2  # sections per worker that the loops in memory label


def measure_throughput(gigabytes: float) -> None:
    """Label a volume with two workers; beside it, a part of it with two loops."""
    images, masks = load_sections()
    model = JungleSegmenter(n_jobs=1, random_state=0).fit(images[:1], masks[:1].astype(np.uint8))
    n_sections = max(2 * N_WORKERS, round(gigabytes * 1e9 / SIDE**2))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save(model, folder / "m.inv")
        base = tile_sections(images, SIDE)
        source = zarr.create_array(
            folder / "source.zarr", shape=(n_sections, SIDE, SIDE), dtype="uint8", chunks=(1, 512, 512)
        )
        for number in range(n_sections):  # another place, orientation and brightness each
            turned = np.rot90(np.roll(base, 131 * number, axis=(0, 1)), number)
            source[number] = np.clip(np.rint(turned * (0.8 + 0.02 * (number % 20))), 0, 255)
        print(f"volume: {n_sections} x {SIDE} x {SIDE}, {n_sections * SIDE**2 / 1e9:.2f} GB raw", flush=True)
        in_memory = loop_seconds(folder)
        with (
            LocalCluster(
                n_workers=N_WORKERS, threads_per_worker=1, memory_limit=MEMORY, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            segment_volume(model, folder / "source.zarr", folder / "warm.zarr", client=client, roi=warm_roi())
            started = time.perf_counter()
            segment_volume(model, folder / "source.zarr", folder / "out.zarr", client=client)
            seconds = (time.perf_counter() - started) / n_sections
            peaks = client.run(lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024).values()
        found = zarr.open_array(folder / "out.zarr", path="0", mode="r")
        chosen = n_sections // 2
        is_equal = np.array_equal(found[chosen], model.predict(source[chosen]))
    ratio = in_memory / seconds
    print(f"two loops in memory: {in_memory:.2f} s per section; two workers: {seconds:.2f} s per section, with pyramid")
    print(f"throughput: {ratio:.2f} of the loops (at least {RATIO}): {'met' if ratio >= RATIO else 'MISSED'}")
    print(f"overhead per block: {max(0.0, 1 / ratio - 1):.1%} (at most {OVERHEAD:.0%})")
    print(
        f"peak memory per worker: {max(peaks) / 1e9:.2f} GB (limit {MEMORY / 1e9:.1f} GB); equal in memory: {is_equal}"
    )


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
