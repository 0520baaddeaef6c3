"""Run the cases of a part in forked processes that have imported the library, and survive what happens to them.

This process only imports: threads and OpenMP do not outlive a fork, so all work is done in its children. A child runs
some cases and reports the beginning and the end of each; if it dies or hangs, the case at fault is known, and another
child goes on after it.
"""

import json
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from campaign.part import Case, Failure, Findings, Part, case_rng

MAX_ADDRESS_SPACE = 6 * 2**30  # bytes per process, so that a bomb cannot take the machine
LOG_TAIL = 1500  # characters of what a dead process has printed
PREPARATION = -1  # instead of the number of a case


class Result(NamedTuple):
    """The outcome of a part."""

    n_cases: int
    counts: Counter[str]
    failures: list[Failure]
    seconds: float


@dataclass
class Worker:
    """A child process, the cases that it still has to report, and the one it is at."""

    pid: int
    pipe: int
    log: Path
    folder: Path
    waiting: deque[int]
    deadline: float
    current: int | None = None
    unread: bytes = field(default=b"", repr=False)


def run_part(
    part: Part,
    seed: int,
    numbers: Sequence[int],
    jobs: int,
    scratch: Path,
    is_short: bool = False,
    report: Callable[[int], None] = lambda done: None,
) -> Result:
    """Run the numbered cases of a part on `jobs` processes at a time; `report` is told how many have ended."""
    started = time.monotonic()
    home = Path(tempfile.mkdtemp(prefix=f"{part.name}-", dir=scratch))
    home.chmod(0o755)
    try:
        inputs = scratch / "inputs"
        inputs.mkdir(exist_ok=True)
        pool = _Pool(part, seed, is_short, inputs, home)
        pool.run([[PREPARATION]], 1)
        if not pool.failures:
            n = part.n_together
            chunks = [list(numbers[start : start + n]) for start in range(0, len(numbers), n)]
            pool.run(chunks, part.jobs or jobs, report)
        return Result(pool.n_ended, pool.findings.counts, pool.failures, time.monotonic() - started)
    finally:
        shutil.rmtree(home, ignore_errors=True)


class _Pool:
    """The workers of a part and what they have reported so far."""

    def __init__(self, part: Part, seed: int, is_short: bool, inputs: Path, home: Path):
        self.part, self.seed, self.is_short, self.inputs, self.home = part, seed, is_short, inputs, home
        self.findings, self.n_ended = Findings(), 0
        self.failures: list[Failure] = []
        self.workers: dict[int, Worker] = {}

    def run(self, chunks: list[list[int]], jobs: int, report: Callable[[int], None] = lambda done: None) -> None:
        todo = deque(chunks)
        try:
            while todo or self.workers:
                while todo and len(self.workers) < jobs:
                    self._start(todo.popleft())
                nearest = min(worker.deadline for worker in self.workers.values())
                ready, _, _ = select.select(list(self.workers), [], [], max(0.0, nearest - time.monotonic()))
                for pipe in ready:
                    self._read(self.workers[pipe], todo)
                for worker in [worker for worker in self.workers.values() if worker.deadline < time.monotonic()]:
                    self._end(worker, todo, f"hangs: no end after {self.part.seconds(worker.waiting[0]):g} s")
                report(self.n_ended)
        finally:
            for worker in list(self.workers.values()):  # Ctrl-C
                self._reap(worker)

    def _start(self, numbers: list[int]) -> None:
        folder = Path(tempfile.mkdtemp(dir=self.home))
        folder.chmod(0o755)  # commands that run as an ordinary user come here too
        log = folder / "log.txt"
        reading, writing = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            _work(self.part, self.seed, self.is_short, numbers, self.inputs, folder, log, writing)
        os.close(writing)
        deadline = time.monotonic() + self.part.seconds(numbers[0])
        self.workers[reading] = Worker(pid, reading, log, folder, deque(numbers), deadline)

    def _read(self, worker: Worker, todo: deque[list[int]]) -> None:
        content = os.read(worker.pipe, 2**16)
        if not content:
            self._end(worker, todo, None)
            return
        *lines, worker.unread = (worker.unread + content).split(b"\n")
        for line in lines:
            message = json.loads(line)
            worker.deadline = time.monotonic() + self.part.seconds(message["case"])
            worker.current = message["case"]
            if "faults" in message:
                worker.waiting.popleft()
                worker.current = None
                self.n_ended += message["case"] != PREPARATION
                self.findings.counts.update(message["counts"])
                self._fail(message["case"], *message["faults"])

    def _end(self, worker: Worker, todo: deque[list[int]], reason: str | None) -> None:
        """Take leave of a worker that has ended or hangs; blame its current case, and leave the others to the next."""
        status = self._reap(worker, keep_log=True)
        if worker.waiting:
            said = worker.log.read_text(errors="replace")[-LOG_TAIL:].strip() if worker.log.exists() else ""
            number = worker.waiting.popleft()
            self.n_ended += number != PREPARATION
            self._fail(number, f"{reason or describe_status(status)}\n{said}".strip())
            if worker.waiting:
                todo.append(list(worker.waiting))
        shutil.rmtree(worker.folder, ignore_errors=True)

    def _reap(self, worker: Worker, keep_log: bool = False) -> int:
        """Kill what is left of a worker and its commands; return its status."""
        del self.workers[worker.pipe]
        os.close(worker.pipe)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(worker.pid, signal.SIGKILL)
        with suppress(ProcessLookupError):
            os.kill(worker.pid, signal.SIGKILL)
        _, status = os.waitpid(worker.pid, 0)
        if not keep_log:
            shutil.rmtree(worker.folder, ignore_errors=True)
        return status

    def _fail(self, number: int, *faults: str) -> None:
        self.failures += [Failure(self.part.name, number, self.seed, self.is_short, fault) for fault in faults]


def describe_status(status: int) -> str:
    """Say how a process ended."""
    code = os.waitstatus_to_exitcode(status)
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


def _work(
    part: Part, seed: int, is_short: bool, numbers: list[int], inputs: Path, folder: Path, log: Path, pipe: int
) -> None:
    """Run cases and report on them; this is a child process, which ends here."""
    try:
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_AS, (MAX_ADDRESS_SPACE, MAX_ADDRESS_SPACE))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.environ["HOME"] = str(_made(folder / "home"))
        _redirect(log)
        for number in numbers:
            _send(pipe, {"case": number})
            findings = _run_case(part, seed, is_short, number, inputs, folder)
            _send(pipe, {"case": number, "counts": findings.counts, "faults": findings.faults})
    finally:
        os._exit(0)


def _run_case(part: Part, seed: int, is_short: bool, number: int, inputs: Path, folder: Path) -> Findings:
    try:
        if number == PREPARATION:
            part.prepare(inputs, is_short)
            return Findings()
        with _emptied(_made(folder / "case")) as own:
            return part.run(Case(number, seed, case_rng(part.name, seed, number), inputs, own, is_short))
    except Exception:
        return Findings(faults=[traceback.format_exc()])


@contextmanager
def _emptied(folder: Path) -> Iterator[Path]:
    """A folder that is removed afterwards; the working directory is another one by then."""
    back = os.getcwd()
    try:
        yield folder
    finally:
        os.chdir(back)
        shutil.rmtree(folder, ignore_errors=True)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _redirect(log: Path) -> None:
    """Send all that the process prints to a file, also what compiled code prints."""
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    for stream in (1, 2):
        os.dup2(handle, stream)
    os.close(handle)
    sys.stdout = open(1, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115


def _send(pipe: int, message: dict) -> None:
    content = json.dumps(message).encode() + b"\n"
    while content:
        content = content[os.write(pipe, content) :]
