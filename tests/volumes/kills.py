"""Kill workers, the scheduler or everything while a volume is labelled, go on, and compare the result.

Usage, from the repository: python -m tests.volumes.kills [workers|scheduler|everything] [RUNS] [SEED]
Prints how many blocks were computed, and fails if a result differs, or if a block that was recorded is computed again.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import zarr

from invariance._core.running import BLOCKS_PER_WORKER, WorkersLost
from invariance.datasets import make_membranes
from invariance.models import load, save
from invariance.segmentation import JungleSegmenter
from invariance.transformations import Rotations
from invariance.volumes import segment_volume
from invariance.volumes import segmentation as stages
from invariance.volumes.work import LabelBlock

N_SECTIONS, SIDE, N_WORKERS = 24, 96, 2
REPOSITORY = Path(__file__).parents[2]
QUICK = {
    "patch_size": 7, "max_pixels": 400, "n_trees": 20, "max_depth": 2, "rank": 12, "n_pseudo_labels": 0,
    "random_state": 0,
}  # fmt: skip


class LoggedBlock(LabelBlock):
    """A block that writes down that it begins, and takes at least a moment."""

    def __call__(self):
        with open(f"{self.job.target}.log", "a") as log:
            log.write(f"{self.place[0].start}\n")
        time.sleep(0.05)
        return super().__call__()


def prepare(folder: Path) -> np.ndarray:
    """Write a model and a volume; return the labels of its sections in memory."""
    made = make_membranes(4, (SIDE, SIDE), cell_size=24, random_state=0)
    images = np.rint(255 * np.concatenate([np.asarray(made.images)] * (N_SECTIONS // 4))).astype(np.uint8)
    model = JungleSegmenter(Rotations(4), n_rounds=2, **QUICK).fit(
        images[:1], np.asarray(made.masks)[:1].astype(np.uint8)
    )
    save(model, folder / "m.inv")
    zarr.create_array(folder / "source.zarr", shape=images.shape, dtype="uint8", chunks=(3, 50, 50))[:] = images
    return model.predict(images)


def label(folder: Path, target: Path, client=None):
    """Label the volume, with a log of the blocks."""
    stages.LabelBlock = LoggedBlock
    return segment_volume(load(folder / "m.inv"), folder / "source.zarr", target, client=client, n_jobs=1)


def check(folder: Path, target: Path, expected: np.ndarray, n_kills: int) -> int:
    """Compare a result; return the number of blocks that were computed more than once."""
    np.testing.assert_array_equal(zarr.open_array(target, path="0", mode="r")[:], expected)
    begun = Path(f"{target}.log").read_text().split()
    assert len(set(begun)) == N_SECTIONS
    n_repeated = len(begun) - N_SECTIONS
    assert n_repeated <= n_kills * BLOCKS_PER_WORKER * N_WORKERS
    return n_repeated


def kill_workers(folder: Path, target: Path, rng: random.Random, cluster, client) -> int:
    """Kill workers of a local cluster at random moments while it works; return how many."""
    killed, over = [], threading.Event()

    def kill() -> None:
        while not over.wait(rng.uniform(0.1, 0.8)) and len(killed) < 2:
            pids = [nanny.pid for nanny in cluster.workers.values() if nanny.pid is not None]
            if pids:
                killed.append(pids[rng.randrange(len(pids))])
                os.kill(killed[-1], signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    outcome = label(folder, target, client)
    over.set()
    thread.join()
    if outcome.failures:  # a block may have been on three workers that were killed
        assert not label(folder, target, client).failures
    return len(killed)


def run_workers(folder: Path, expected: np.ndarray, n_runs: int, rng: random.Random) -> tuple[int, int]:
    """Return the number of kills and of blocks computed again."""
    from distributed import Client, LocalCluster

    n_kills = n_repeated = 0
    with (
        LocalCluster(n_workers=N_WORKERS, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        for number in range(n_runs):
            target = folder / f"workers{number}.zarr"
            killed = kill_workers(folder, target, rng, cluster, client)
            n_kills, n_repeated = n_kills + killed, n_repeated + check(folder, target, expected, killed)
    return n_kills, n_repeated


def run_scheduler(folder: Path, expected: np.ndarray, n_runs: int, rng: random.Random) -> tuple[int, int]:
    """Kill the scheduler, start another, and go on."""
    from distributed import Client

    n_kills = n_repeated = 0
    for number in range(n_runs):
        target, killed = folder / f"scheduler{number}.zarr", 0
        while True:
            file = folder / f"scheduler{number}-{killed}.json"
            cluster = start_cluster(file)
            # Half of the runs are killed a second time, the last time never.
            timer = threading.Timer(rng.uniform(0.2, 1.5), cluster[0].kill)
            try:
                with Client(scheduler_file=str(file), timeout=20) as client:
                    client.wait_for_workers(N_WORKERS, timeout=60)
                    if killed < 1 + number % 2:
                        timer.start()
                    label(folder, target, client)
                break
            except (WorkersLost, OSError, TimeoutError):
                killed += 1
            finally:
                timer.cancel()
                for process in cluster:
                    process.kill()
                    process.wait()
        n_kills, n_repeated = n_kills + killed, n_repeated + check(folder, target, expected, max(1, killed))
    return n_kills, n_repeated


def start_cluster(file: Path) -> list[subprocess.Popen]:
    """Start a scheduler and workers as processes of their own."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(REPOSITORY / "src"), str(REPOSITORY)])}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": environment}
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    scheduler = subprocess.Popen(
        [*dask, "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)], **quiet
    )
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", str(file), "--nthreads", "1"]
    workers = [
        subprocess.Popen([*worker, "--no-dashboard", "--no-nanny", "--host", "127.0.0.1"], **quiet)
        for _ in range(N_WORKERS)
    ]
    return [scheduler, *workers]


def run_everything(folder: Path, expected: np.ndarray, n_runs: int, rng: random.Random) -> tuple[int, int]:
    """Kill the process that gives out blocks and all its workers, and go on in another."""
    n_repeated = 0
    for number in range(n_runs):
        target = folder / f"everything{number}.zarr"
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.volumes.kills", "child", str(folder), str(target)],
            cwd=REPOSITORY, start_new_session=True, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        log = Path(f"{target}.log")
        while not log.exists() and process.poll() is None:
            time.sleep(0.01)
        time.sleep(rng.uniform(0.0, 1.5))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        time.sleep(0.2)
        recorded, begun = count_recorded(target), len(log.read_text().split())
        label(folder, target)
        n_again = len(log.read_text().split()) - begun
        assert n_again == N_SECTIONS - recorded, "no recorded block is computed again"
        n_repeated += check(folder, target, expected, 1)
    return n_runs, n_repeated


def count_recorded(target: Path) -> int:
    """The number of blocks that are recorded as finished."""
    import sqlite3

    file = stages.job_folder(target) / stages.RECORDS
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as database:
        return database.execute("SELECT count(*) FROM finished WHERE stage = 'label'").fetchone()[0]


def main() -> None:
    """Run what is asked for."""
    if sys.argv[1] == "child":
        from distributed import Client, LocalCluster

        with (
            LocalCluster(n_workers=N_WORKERS, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            label(Path(sys.argv[2]), Path(sys.argv[3]), client)
        return
    kind, n_runs, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0
    run = {"workers": run_workers, "scheduler": run_scheduler, "everything": run_everything}[kind]
    with tempfile.TemporaryDirectory() as folder:
        expected = prepare(Path(folder))
        started = time.monotonic()
        n_kills, n_repeated = run(Path(folder), expected, n_runs, random.Random(seed))
    print(
        f"{kind}: {n_runs} runs, {n_kills} kills, all results equal; {n_repeated} of {n_runs * N_SECTIONS} blocks "
        f"computed again, in {time.monotonic() - started:.0f} s"
    )


if __name__ == "__main__":
    main()
