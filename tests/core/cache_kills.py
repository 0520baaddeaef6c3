"""Processes that fill a store of arrays and are killed at random moments; afterwards every array read must be right.

Usage, from the repository: python -m tests.core.cache_kills 200
"""

import hashlib
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from invariance._core.array_store import ArrayStore

N_KEYS, MAX_BYTES = 300, 2_000_000  # of up to 40,000 bytes each: more than fit, so that some are removed all the time
N_WRITERS = 2


def key_of(number: int) -> str:
    """The key of an array."""
    return hashlib.sha256(f"{number}".encode()).hexdigest()


def make_array(number: int) -> np.ndarray:
    """The array of a key, which nothing else than the number decides."""
    rng = np.random.default_rng(number)
    return rng.integers(0, 255, (int(rng.integers(1, 400)), 100), dtype=np.uint8)


def fill(folder: Path, seed: int) -> None:
    """Store and read arrays in random order until the end."""
    store, rng = ArrayStore(folder, MAX_BYTES), np.random.default_rng(seed)
    while True:
        number = int(rng.integers(N_KEYS))
        if store.get(key_of(number)) is None:
            store.put(key_of(number), make_array(number))


def count_wrong(folder: Path) -> tuple[int, int]:
    """How many arrays can be read, and how many of them are wrong."""
    store = ArrayStore(folder, MAX_BYTES)
    found = {number: stored.array for number in range(N_KEYS) if (stored := store.get(key_of(number))) is not None}
    store.close()
    return len(found), sum(not np.array_equal(array, make_array(number)) for number, array in found.items())


def kill_writers(folder: Path, n_kills: int, seed: int) -> tuple[int, int]:
    """Kill pairs of processes that write at the same time; the numbers of arrays read afterwards, and of wrong ones."""
    context, rng = multiprocessing.get_context("forkserver"), np.random.default_rng(seed)
    context.set_forkserver_preload(["invariance._core.array_store"])
    n_read = n_wrong = n_done = 0
    while n_done < n_kills:
        writers = [context.Process(target=fill, args=(folder, int(rng.integers(2**31)))) for _ in range(N_WRITERS)]
        for writer in writers:
            writer.start()
        for writer in writers:
            time.sleep(rng.uniform(0.02, 0.3))
            os.kill(writer.pid, signal.SIGKILL)
            writer.join()
        n_done += N_WRITERS
        read, wrong = count_wrong(folder)
        n_read, n_wrong = n_read + read, n_wrong + wrong
    return n_read, n_wrong


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        n_kills = int(sys.argv[1]) if len(sys.argv) > 1 else 200
        n_read, n_wrong = kill_writers(Path(scratch) / "cache", n_kills, seed=0)
        print(f"{n_kills} kills: {n_read:,} arrays read afterwards, {n_wrong} of them wrong")
    sys.exit(n_wrong > 0)
