"""Commands killed at random moments: the file that they replace must be the old one or a complete new one.

Usage, from the repository: python -m benchmarks.sudden_death 50
Half of the kills hit `invariance fit`, half `invariance segment`. Every second kill comes at a random moment of the
whole run, the others while the file is being written, because that takes only a small part of a run.
"""

import io
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np

from benchmarks.timing import timed
from tests.cli.sudden_death import BROKEN, NEW, OLD, Victim, prepare_fit, prepare_segment, wait_until_it_writes

WRITING_SECONDS = {"fit": 0.005, "segment": 0.1}  # within which a command that writes is killed


def start(victim: Victim) -> subprocess.Popen:
    command = shutil.which("invariance", path=os.path.dirname(sys.executable)) or "invariance"
    return subprocess.Popen([command, *victim.arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def time_whole_run(victim: Victim) -> float:
    return timed(lambda: start(victim).wait())[0]


def kill_one(name: str, victim: Victim, seconds: float, is_writing: bool, rng: np.random.Generator) -> str:
    """The state of the file after the command was killed; a command that ended before the kill is run again."""
    while True:
        victim.restore()
        process = start(victim)
        if is_writing:
            wait_until_it_writes(victim, lambda running=process: running.poll() is None)
        time.sleep(rng.uniform(0, WRITING_SECONDS[name] if is_writing else seconds))
        process.send_signal(signal.SIGKILL)
        if process.wait() == -signal.SIGKILL:
            return victim.state


def kill_many(name: str, victim: Victim, n_kills: int, rng: np.random.Generator) -> bool:
    """Kill a command `n_kills` times and print what was left; True if no file was broken."""
    seconds = min(time_whole_run(victim) for _ in range(2))
    found: dict[bool, Counter[str]] = {False: Counter(), True: Counter()}
    max_left = 0
    for number in range(n_kills):
        is_writing = number % 2 == 1
        found[is_writing][kill_one(name, victim, seconds, is_writing, rng)] += 1
        max_left = max(max_left, len(victim.unfinished))
    for is_writing, counts in found.items():
        moment = "while the file was written" if is_writing else f"within the {seconds:.1f} s of a run"
        listed = ", ".join(f"{state} {counts[state]}" for state in (OLD, NEW, BROKEN))
        print(f"{name:8} {counts.total():3} kills {moment:28} {listed}", flush=True)
    time_whole_run(victim)
    print(
        f"{name:8} At most {max_left} unfinished files at a time; {len(victim.unfinished)} after a complete run, "
        f"whose file is {victim.state}.",
        flush=True,
    )
    return found[False][BROKEN] + found[True][BROKEN] == 0 and victim.state == NEW and not victim.unfinished


def main() -> int:
    n_kills = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        results = []
        for name, prepare, n in (("fit", prepare_fit, n_kills // 2), ("segment", prepare_segment, -(-n_kills // 2))):
            (Path(folder) / name).mkdir()
            with redirect_stdout(io.StringIO()):
                victim = prepare(Path(folder) / name)
            results.append(kill_many(name, victim, n, rng))
    print("All files are complete." if all(results) else "A file was broken, or unfinished files remained.")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
