"""Many commands at once on the same inputs, outputs, caches and home, and many fits at once in one process.

The same seed gives the same result, whoever works beside.
"""

import os
import shutil
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from campaign.commands import OK, Running, run_command, start_command
from campaign.fingerprints import fingerprint
from campaign.part import Case, Findings, Part
from campaign.snapshots import leftovers
from campaign.victims import VICTIMS, arguments_of, has_all_new, prepare_victims
from campaign.world import FIT

SECONDS = 600.0  # of all together
N_APART, N_TOGETHER, N_COLD, N_THREADS = 50, 24, 4, 4
SHORT = 12  # times fewer


def run(case: Case) -> Findings:
    """Run one of the crowds."""
    return CROWDS[case.number % len(CROWDS)](case)


def apart(case: Case) -> Findings:
    """Commands that read the same inputs at once and write into folders of their own."""
    findings = Findings()
    world = _copied(case)
    started = []
    for number in range(_few(N_APART, case)):
        name = list(VICTIMS)[number % len(VICTIMS)]
        own = case.folder / f"{number}"
        own.mkdir()
        for path in world.iterdir():
            if path.name != "out":
                (own / path.name).symlink_to(path)
        (own / "out").mkdir()
        started.append((name, own, start_command(arguments_of(name), own)))
    _await_same_results(started, "at once", findings)
    return findings


def together(case: Case) -> Findings:
    """Commands that write the same files at once."""
    findings = Findings()
    worlds = {name: _copied(case, name) for name in VICTIMS}
    started = []
    for number in range(_few(N_TOGETHER, case)):
        name = list(VICTIMS)[number % len(VICTIMS)]
        started.append((name, start_command(arguments_of(name), worlds[name])))
    for name, running in started:
        findings.add(f"{name} into one folder", running.wait(SECONDS).faults([OK]))
    for name in {name for name, _ in started}:
        if leftovers(worlds[name]) or not has_all_new(worlds[name], name):
            findings.faults.append(f"{name}, several at once into one folder, gave another result than alone")
    return findings


def cold(case: Case) -> Findings:
    """New interpreters that compile for the first time, with one home and one empty cache for all."""
    findings = Findings()
    home = case.folder / "home"
    home.mkdir()

    def move_in() -> None:
        os.environ.update(HOME=str(home), NUMBA_CACHE_DIR=str(home / "cache"))

    started = []
    for number in range(_few(N_COLD, case)):
        name = ("predict", "segment")[number % 2]
        world = _copied(case, f"{number}")
        started.append((name, world, start_command(arguments_of(name), world, before=move_in, is_real=True)))
    _await_same_results(started, "with a cold cache", findings)
    return findings


def _await_same_results(started: Sequence[tuple[str, Path, Running]], words: str, findings: Findings) -> None:
    """Wait for commands, each in a folder of its own, whose results must be those of the command alone."""
    for name, world, running in started:
        ended = running.wait(SECONDS)
        faults = ended.faults([OK])
        if not faults and not has_all_new(world, name):
            faults.append(ended.blamed("gave another result than alone"))
        findings.add(f"{name} {words}", faults)


def threads(case: Case) -> Findings:
    """Fits in threads of one process; afterwards BLAS has as many threads as before."""
    world, findings = _copied(case), Findings()
    n_threads = _few(N_THREADS, case) + 1
    ended = run_command(["fit", "in threads"], world, SECONDS, target=lambda: _fit_in_threads(world, n_threads))
    faults = ended.faults([OK])
    prints = {fingerprint(path) for path in world.glob("thread-*.inv")}
    if not faults and len(prints) != 1:
        faults.append(f"{n_threads} fits at once with one seed gave {len(prints)} different models")
    findings.add("fits in threads", faults)
    return findings


def _fit_in_threads(world: Path, n_threads: int) -> int:
    from threadpoolctl import threadpool_info

    from invariance.methods import ImageClassifier, read_images
    from invariance.models import save

    data = read_images(world / "photos", strict=True, min_classes=2)

    def fit(number: int) -> None:
        save(ImageClassifier(FIT[1], random_state=1).fit(data.images, data.labels), world / f"thread-{number}.inv")

    before = [library["num_threads"] for library in threadpool_info()]
    workers = [threading.Thread(target=fit, args=(number,)) for number in range(n_threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    after = [library["num_threads"] for library in threadpool_info()][: len(before)]
    if after != before:
        raise AssertionError(f"libraries had {before} threads before, {after} afterwards")
    return OK


def _copied(case: Case, name: str = "world") -> Path:
    """A copy of the inputs with an empty folder for results."""
    folder = case.folder / name
    shutil.copytree(case.inputs / "victims", folder)
    (folder / "out").mkdir()
    return folder


def _few(n: int, case: Case) -> int:
    return max(1, n // SHORT) if case.is_short else n


CROWDS: tuple[Callable[[Case], Findings], ...] = (apart, together, threads, cold)
PART = Part("concurrent", len(CROWDS), lambda number: 2 * SECONDS, prepare_victims, run, jobs=1)
