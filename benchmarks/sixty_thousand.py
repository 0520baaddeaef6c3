"""`fit` on 15,000, 30,000 and 60,000 digits: seconds, peak memory, error on the 10,000 test digits, and the growth.

Usage, from the repository: python -m benchmarks.sixty_thousand [OPTION ...]
Options are those of `fit`, by default --budget 600; --method landmarks or --method jungle, for example, fit one.
Digits are the first of the training part of MNIST, written as PNG files into one folder per class, and read from there.
Every size has an empty cache, so that nothing is known from another.
Growth is the quotient of the times of two sizes by that of the sizes: 1 is linear.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from invariance.datasets import load_mnist

SIZES = (15_000, 30_000, 60_000)


class Ran(NamedTuple):
    """What a command printed, its seconds and its peak memory."""

    output: str
    seconds: float
    megabytes: float


def write_digits(folder: Path, part: str, n_digits: int | None = None) -> None:
    """Write digits of a part of MNIST as `folder/<digit>/<number>.png`."""
    data = load_mnist(part)
    for number, (image, label) in enumerate(zip(np.asarray(data.images)[:n_digits], data.labels, strict=False)):
        place = folder / str(label)
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(place / f"{number:05}.png", compress_level=1)


def run(cache: Path, *arguments: object) -> Ran:
    """Run a command of the library in a process of its own, with a folder as its cache."""
    started = time.perf_counter()
    command = [sys.executable, "-m", "invariance", *map(str, arguments)]
    environment = {**os.environ, "INVARIANCE_CACHE": str(cache)}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, output
    return Ran(output, time.perf_counter() - started, usage.ru_maxrss / 1024)


def main() -> None:
    """Fit and evaluate for every size."""
    options = sys.argv[1:] or ["--budget", "600"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_digits(folder / "test", "test")
        before = None
        for size in SIZES:
            write_digits(folder / str(size), "train", size)
            cache = folder / f"cache {size}"
            fitted = run(cache, "fit", folder / str(size), "-o", folder / f"{size}.inv", "--json", *options)
            judged = run(cache, "evaluate", folder / f"{size}.inv", folder / "test", "--json")
            method = json.loads(fitted.output)["method"]
            error = 100 * (1 - json.loads(judged.output)["accuracy"])
            growth = f", growth {fitted.seconds / before[1] / (size / before[0]):.2f}" if before else ""
            print(
                f"{size} digits, {method}: {fitted.seconds:.0f} s, {fitted.megabytes:.0f} MB, error {error:.2f} %"
                f"{growth}; 10,000 digits evaluated in {judged.seconds:.0f} s, {judged.megabytes:.0f} MB",
                flush=True,
            )
            before = size, fitted.seconds


if __name__ == "__main__":
    main()
