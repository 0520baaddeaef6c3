"""`predict` of many small images: images per second, memory while the table grows, and one kill with its resumption.

Beside it, a loop that reads the same files with OpenCV and resizes them to the squares that methods see.

Usage, from the repository: python -m benchmarks.many_images [N_IMAGES] [WORKERS]
Generates N_IMAGES (100,000) images of 16 x 16 pixels and a model of one small tree, so that what is measured is reading
and giving out, not the model. Memory is that of the process that gives out the blocks, without workers.
"""

import csv
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

from invariance._core.records import RECORDS, job_folder
from invariance.images import encode_labels, watch_range
from invariance.jungles import TreeClassifier
from invariance.methods import ImageClassifier, learn_facts
from invariance.models import save

SIDE, PER_FOLDER = 16, 10_000
N_TOGETHER = 64  # images per block of `predict`


def make_model(path: Path) -> None:
    """Save a classifier of dark and light images that has one small tree."""
    rng = np.random.default_rng(0)
    labels = ["dark", "light"] * 10
    images = [rng.random((SIDE, SIDE), np.float32) * (0.4 if label == "dark" else 1) for label in labels]
    classifier = ImageClassifier("jungle", random_state=0)
    classifier.classes_, codes = encode_labels(labels)
    classifier.facts_, classifier.n_learned_ = learn_facts(images, codes), len(images)
    watch_range(classifier, images, reset=True)
    classifier.model_ = TreeClassifier(max_depth=2, random_state=0).fit(classifier.prepare(images), labels)
    save(classifier, path)


def make_images(folder: Path, n_images: int) -> None:
    rng = np.random.default_rng(1)
    for number in range(n_images):
        place = folder / f"{number // PER_FOLDER:04}"
        if number % PER_FOLDER == 0:
            place.mkdir(parents=True)
        pixels = rng.integers(0, 256 if number % 2 else 100, (SIDE, SIDE), dtype=np.uint8)
        Image.fromarray(pixels).save(place / f"{number:08}.png", compress_level=1)


def start(folder: Path, table: str, n_workers: int) -> subprocess.Popen:
    command = [sys.executable, "-m", "invariance", "predict", "m.inv", "images", "-o", table, "--jobs", "1"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen([*command, "--workers", str(n_workers)], cwd=folder, start_new_session=True, **quiet)


def count_recorded(table: Path) -> int:
    """The number of blocks that are recorded as finished: the database is locked, but it grows with them."""
    try:
        with sqlite3.connect(f"file:{job_folder(table) / RECORDS}?mode=ro&immutable=1", uri=True) as database:
            return database.execute("SELECT count(*) FROM finished").fetchone()[0]
    except sqlite3.Error:
        return 0


def megabytes(process: subprocess.Popen) -> float:
    """The peak memory of a process so far."""
    try:
        status = Path(f"/proc/{process.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) / 1024
    except (OSError, IndexError, ValueError):
        return 0.0


def watch(process: subprocess.Popen, table: Path, n_blocks: int) -> tuple[float, float]:
    """Wait for the end; return the peak memory after a quarter of the blocks and the last that was seen."""
    quarter = last = 0.0
    while process.poll() is None:
        last = megabytes(process) or last
        if not quarter and count_recorded(table) >= n_blocks / 4:
            quarter = last
        time.sleep(0.2)
    assert process.returncode == 0
    return quarter, last


def read_plainly(folder: Path) -> float:
    """Read and resize all images with OpenCV, one after the other, and return the seconds."""
    started = time.perf_counter()
    for path in sorted(folder.rglob("*.png")):
        cv2.resize(cv2.imread(str(path), cv2.IMREAD_GRAYSCALE), (32, 32))
    return time.perf_counter() - started


def main() -> None:
    """Measure a whole run, then kill another at about half and go on."""
    n_images = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    n_workers = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    n_blocks = -(-n_images // N_TOGETHER)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_model(folder / "m.inv")
        make_images(folder / "images", n_images)
        started = time.perf_counter()
        quarter, last = watch(start(folder, "whole.csv", n_workers), folder / "whole.csv", n_blocks)
        seconds = time.perf_counter() - started
        print(f"{n_images} images, workers: {n_workers}: {n_images / seconds:.0f} images per second, {seconds:.0f} s")
        plain = read_plainly(folder / "images")
        print(f"OpenCV reads and resizes {n_images / plain:.0f} images per second: {seconds / plain:.1f} times as fast")
        print(f"peak memory: {quarter:.0f} MB at a quarter, {last:.0f} MB at the end", flush=True)

        process, table = start(folder, "killed.csv", n_workers), folder / "killed.csv"
        while count_recorded(table) < n_blocks / 2 and process.poll() is None:
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        n_kept = count_recorded(table)
        started = time.perf_counter()
        watch(start(folder, "killed.csv", n_workers), table, n_blocks)
        seconds = time.perf_counter() - started
        with open(table, newline="") as one, open(folder / "whole.csv", newline="") as other:
            is_equal = list(csv.reader(one)) == list(csv.reader(other))
        print(f"killed after {n_kept} of {n_blocks} blocks, resumed in {seconds:.0f} s; equal tables: {is_equal}")


if __name__ == "__main__":
    main()
