"""Full disks, read-only folders and homes, unreadable inputs, and a full standard output.

A command says in one line what it could not write or read and where; what was there before stays, and nothing is left.
"""

import os
from collections.abc import Callable
from pathlib import Path

from campaign.commands import MISTAKE, OK, Ended, limit_file_size, run_command
from campaign.part import Case, Findings, Part
from campaign.rights import can_mount, mount_read_only, mount_small_disk, obey_permissions, unmount
from campaign.victims import VICTIMS, arguments_of, has_all_new, place, prepare_victims, wrong_files

PAGE = 4096  # bytes; what a file takes of a small disk is a multiple of it
N_PER_REAL = 50  # a new interpreter that can cache nothing compiles everything, which takes half a minute
REAL_SECONDS = 400.0


def run(case: Case) -> Findings:
    """Draw a victim and something wrong with its disk."""
    name = list(VICTIMS)[case.number % len(VICTIMS)]
    if case.number % N_PER_REAL == N_PER_REAL - 1:
        kind: Callable[[Case, str], tuple[str, list[str]]] = read_only_home
    else:
        kind = KINDS[case.number // len(VICTIMS) % len(KINDS)]
    findings = Findings()
    findings.add(*kind(case, name))
    return findings


def full_disk(case: Case, name: str) -> tuple[str, list[str]]:
    """A disk of its own for the results, with room for the old ones and not much more."""
    has_old = bool(case.rng.random() < 0.7)
    world = place(case, name, has_old=False)
    old = world / f"{name}-old"
    used = sum(-(-path.stat().st_size // PAGE) for path in old.iterdir()) if has_old else 0
    n_pages = used + int(case.rng.choice([1, 1, 2, 3, 8, 16]))
    before = None
    if can_mount():
        mount_small_disk(world / "out", n_pages * PAGE)
    else:
        before = limit_file_size(n_pages * PAGE)
    try:
        for path in old.iterdir() if has_old else ():
            (world / "out" / path.name).write_bytes(path.read_bytes())
        ended = run_command(arguments_of(name), world, before=before)
        faults = _judge(ended, world, name, has_old)
    finally:
        unmount(world / "out")
    return ("full disk: enough" if ended.code == OK else "full disk"), faults


def read_only_folder(case: Case, name: str) -> tuple[str, list[str]]:
    """A folder for the results without the permission to write."""
    has_old = bool(case.rng.random() < 0.7)
    world = place(case, name, has_old)
    (world / "out").chmod(0o555)
    ended = run_command(arguments_of(name), world, before=obey_permissions)
    faults = _judge(ended, world, name, has_old)
    if ended.code == OK:
        faults.append(ended.blamed("exit code 0, although nothing could be written"))
    return "read-only folder", faults


def unreadable_input(case: Case, name: str) -> tuple[str, list[str]]:
    """An input without the permission to read: the message names it, whether it is skipped or refused."""
    world = place(case, name, has_old=False)
    inputs = {"fit": "photos/level", "predict": "photos/level", "fit-pixels": "masks", "segment": "cells"}
    folder = world / inputs[name]
    is_whole_folder = case.rng.random() < 0.5 and name in ("fit", "predict")
    hidden = folder if is_whole_folder else sorted(folder.iterdir())[0]
    hidden.chmod(0)
    ended = run_command(arguments_of(name), world, before=obey_permissions)
    hidden.chmod(0o755)
    faults = ended.faults()
    if not faults and str(hidden.relative_to(world)) not in ended.err:
        faults.append(ended.blamed(f"does not name '{hidden.relative_to(world)}', which it could not read"))
    return "unreadable input", faults


def full_output(case: Case, name: str) -> tuple[str, list[str]]:
    """Standard output on a full disk."""
    world = place(case, name, has_old=False)
    commands = (
        ["methods"],
        ["predict", "m.inv", "photos"],
        ["predict", "m.inv", "photos", "--json"],
        arguments_of(name),
    )
    ended = run_command(commands[case.rng.integers(len(commands))], world, stdout="/dev/full")
    return "full standard output", ended.faults([MISTAKE])


def read_only_home(case: Case, name: str) -> tuple[str, list[str]]:
    """A new interpreter with a home and an installation that cannot be written to."""
    world = place(case, name, has_old=False)
    home = case.folder / "home"
    home.mkdir(mode=0o555)

    def give_up_rights() -> None:
        os.environ["HOME"] = str(home)
        for variable in ("NUMBA_CACHE_DIR", "MPLCONFIGDIR", "XDG_CACHE_HOME"):
            os.environ.pop(variable, None)
        obey_permissions()

    if not can_mount():
        return "read-only home: cannot be tried here", []
    import invariance

    package = Path(invariance.__file__).parent
    mount_read_only(package)
    try:
        ended = run_command(arguments_of(name), world, REAL_SECONDS, before=give_up_rights, is_real=True)
    finally:
        unmount(package)
    faults = ended.faults([OK])
    if not faults and not has_all_new(world, name):
        faults.append(ended.blamed("gave another result"))
    return "read-only home", faults


KINDS: tuple[Callable[[Case, str], tuple[str, list[str]]], ...] = (
    full_disk,
    read_only_folder,
    unreadable_input,
    full_output,
)


def _judge(ended: Ended, world: Path, name: str, has_old: bool) -> list[str]:
    """Either all results are new, or the error names the place and the old ones are there."""
    faults = ended.faults() + [ended.blamed(wrong) for wrong in wrong_files(world, name, has_old, ended)]
    if not faults and ended.code == MISTAKE and "out" not in ended.err.splitlines()[-1]:
        faults.append(ended.blamed("the error does not name the file or folder that could not be written"))
    return faults


PART = Part("disks", 100, lambda number: 2400.0, prepare_victims, run, n_together=4)
