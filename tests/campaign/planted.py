"""Parts of the campaign in which one case of three does what no command may do.

Run by `python -m tests.campaign.planted FILE`, in a process of its own: the campaign forks, and a process that runs
tests has threads.
"""

import os
import sys
import time
from pathlib import Path

import campaign.parts
from campaign.__main__ import main
from campaign.arguments import changes
from campaign.commands import OK, run_command
from campaign.memory import measure
from campaign.part import Case, Findings, Part
from campaign.snapshots import snapshot
from campaign.victims import wrong_files

EVIL = 1  # the number of the case that does it
SECONDS, HANG_SECONDS = 120.0, 4.0  # a busy machine is slow, which is no hang


def raise_error(case: Case) -> Findings:
    raise RuntimeError("planted")


def abort(case: Case) -> Findings:
    os.abort()


def hang(case: Case) -> Findings:
    time.sleep(60)
    return Findings()


def from_command(target, **settings):
    """A case whose command does this instead of its work."""

    def run(case: Case) -> Findings:
        ended = run_command(["planted"], case.folder, target=target, **settings)
        return Findings(faults=ended.faults())

    return run


def work(busy: float, idle: float, n_times: int) -> int:
    """Be busy and idle by turns, as a command is that waits for a processor."""
    for _ in range(n_times):
        start = time.process_time()
        while time.process_time() - start < busy:
            pass
        time.sleep(idle)
    return OK


def fail_in_command() -> int:
    raise KeyError("planted")


def say_nothing() -> int:
    return 2


def say_two_lines() -> int:
    print("Error: one\ntwo", file=sys.stderr)
    return 2


def from_files(out: dict[str, str], code: int = OK, old: str | None = "old"):
    """A case whose command leaves these files where it was to replace `m.txt`, which held `old`."""

    def run(case: Case) -> Findings:
        for folder, files in {"fit-old": {"m.txt": old}, "fit-new": {"m.txt": "new"}, "out": out}.items():
            (case.folder / folder).mkdir()
            for name, content in files.items():
                (case.folder / folder / name).write_text(content or "")
        ended = run_command(["fit"], case.folder, target=lambda: code)
        return Findings(faults=[ended.blamed(what) for what in wrong_files(case.folder, "fit", True, ended)])

    return run


def change_an_input(case: Case) -> Findings:
    path = case.folder / "a.png"
    path.write_text("before")
    before = snapshot(case.folder)
    ended = run_command(["predict", "a.png"], case.folder, target=lambda: len(path.write_text("after")) * 0)
    return Findings(faults=changes(ended, case.folder, before, []))


def need_memory(case: Case) -> Findings:
    findings = Findings()
    ended = run_command(["load"], case.folder, target=lambda: len(b"x" * (300 * 10**6)) * 0)
    measure(findings, "load", ended, limit=200 * 10**6)
    return findings


def need_no_memory(case: Case) -> Findings:
    findings = Findings()
    measure(findings, "load", run_command(["load"], case.folder, target=lambda: OK), limit=200 * 10**6)
    return findings


# name -> (what the case does, what the report says of it); None says nothing, because all is well
PLANTED = {
    "traceback": (raise_error, "RuntimeError: planted"),
    "abort": (abort, "killed by SIGABRT"),
    "hang": (hang, "hangs"),
    "command-traceback": (from_command(fail_in_command), "Traceback"),
    "command-abort": (from_command(os.abort), "killed by SIGABRT"),
    "command-hang": (from_command(lambda: time.sleep(60) or 0, seconds=0.5), "hangs"),
    "command-loop": (from_command(lambda: work(60, 0, 1), seconds=0.5), "hangs"),
    "command-starved": (from_command(lambda: work(0.2, 1.5, 5), seconds=6), None),
    "command-code": (from_command(lambda: 7), "exit code 7"),
    "command-silence": (from_command(say_nothing), "no 'Error: ...'"),
    "command-lines": (from_command(say_two_lines), "no 'Error: ...'"),
    "command-well": (from_command(lambda: OK), None),
    "half-written": (from_files({"m.txt": "ne"}, code=2), "neither the old nor the new"),
    "lost": (from_files({}, code=2), "is lost"),
    "left": (from_files({"m.txt": "old", ".m-12345678.unfinished.txt": "ne"}, code=2), "unfinished"),
    "other-result": (from_files({"m.txt": "old"}), "not all results are new"),
    "replaced-well": (from_files({"m.txt": "new"}), None),
    "kept-well": (from_files({"m.txt": "old"}, code=2), None),
    "changed-input": (change_an_input, "changed"),
    "memory": (need_memory, "200 MB is its limit"),
    "memory-well": (need_no_memory, None),
}


def plant(name: str) -> Part:
    def run(case: Case) -> Findings:
        return PLANTED[name][0](case) if case.number == EVIL else Findings()

    seconds = HANG_SECONDS if name == "hang" else SECONDS
    return Part(name, 3, lambda number: seconds, lambda inputs, is_short: None, run, n_together=3)


if __name__ == "__main__":
    campaign.parts.PARTS = {name: plant(name) for name in PLANTED}
    campaign.parts.preload = lambda: None
    sys.exit(main(["--seed", "5", "--jobs", "2", "-o", str(Path(sys.argv[1]))]))
