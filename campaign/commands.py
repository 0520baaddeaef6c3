"""Run a command of the library in a forked child, as a fresh interpreter would, and say what is wrong with its end."""

import atexit
import ctypes
import math
import os
import resource
import shlex
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

SECONDS = 300.0  # on a processor, or idle, after which a command on tiny inputs hangs
SIGN_OF_LIFE = 0.1  # seconds on a processor after which a command is not idle
STDERR_TAIL = 1200  # characters of an error in the report
OK, MISTAKE, INTERRUPTED, TERMINATED = 0, 2, 130, 143
# What Python and the run-time library of C++ print when something ends that must not end so.
OUTCRIES = ("Traceback (most recent call last)", "terminate called", "Fatal Python error", "Exception ignored")


class Ended(NamedTuple):
    """How a command ended.

    Attributes
    ----------
    arguments : tuple of str
    code : int
        The exit code; negative for a signal.
    out, err : str
        What it printed.
    peak : int
        The largest resident memory, in bytes.
    hung : bool
        Whether it was killed because it exceeded its time.
    seconds : float
    """

    arguments: tuple[str, ...]
    code: int
    out: str
    err: str
    peak: int
    hung: bool
    seconds: float

    def faults(self, allowed: Sequence[int] = (OK, MISTAKE)) -> list[str]:
        """List what no command may do, however it was called: at most one entry, with all that is known."""
        wrong = []
        if self.hung:
            wrong.append(f"hangs: no end after {self.seconds:.0f} s")
        elif self.code < 0 and self.code not in allowed:
            wrong.append(f"killed by {signal.Signals(-self.code).name}")
        elif self.code not in allowed:
            wrong.append(f"ended with exit code {self.code} instead of {' or '.join(map(str, allowed))}")
        wrong += [f"printed {outcry!r}" for outcry in OUTCRIES if outcry in self.err]
        if self.code == MISTAKE and not wrong and not self.has_error_line:
            wrong.append("ended with exit code 2, but its last line is no 'Error: ...'")
        return [self.blamed("; ".join(wrong))] if wrong else []

    @property
    def has_error_line(self) -> bool:
        """Whether standard error ends in one printable line 'Error: ...'."""
        last = self.err.rstrip("\n").rpartition("\n")[2]
        return last.startswith("Error: ") and last.isprintable()

    def blamed(self, fault: str) -> str:
        """Return a fault with the command and the end of what it printed."""
        return f"invariance {shlex.join(self.arguments)}\n{fault}\n{self.err[-STDERR_TAIL:].strip()}".strip()


class Running:
    """A command that runs; its process has what it prints in files beside its folder."""

    def __init__(self, pid: int, arguments: Sequence[str], printed: Path):
        self.pid, self.arguments, self.printed = pid, tuple(arguments), printed
        self.started = time.monotonic()
        self._status: int | None = None
        self._peak = 0
        self._last_sign = (self.started, 0.0)  # of life: when, and after how many seconds on a processor

    def is_alive(self, seconds: float = math.inf) -> bool:
        """Whether the command has not ended, and so many seconds have not passed."""
        if self._status is None:
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
            if pid:
                self._status, self._peak = status, 1024 * usage.ru_maxrss
        return self._status is None and time.monotonic() - self.started < seconds

    def out(self) -> str:
        """Return what the command has printed so far."""
        return self.printed.with_suffix(".out").read_text(encoding="utf-8", errors="backslashreplace")

    def send(self, number: int) -> None:
        """Send a signal, unless the command has ended."""
        if self.is_alive():
            os.kill(self.pid, number)

    def is_stuck(self, seconds: float) -> bool:
        """Whether the command has been on a processor for so many seconds, or idle for as many.

        How long it waits for a processor is the business of the machine, which may be busy.
        """
        now, used = time.monotonic(), _processor_seconds(self.pid)
        if used - self._last_sign[1] > SIGN_OF_LIFE:
            self._last_sign = (now, used)
        return used > seconds or now - self._last_sign[0] > seconds

    def wait(self, seconds: float = SECONDS) -> Ended:
        """Wait for the end; kill the command once it is stuck."""
        pause, hung = 0.001, False
        while self.is_alive():
            if not hung and self.is_stuck(seconds):
                hung = True
                self.send(signal.SIGKILL)
            time.sleep(pause)
            pause = min(1.5 * pause, 0.05)
        out, err = (
            self.printed.with_suffix(suffix).read_bytes().decode("utf-8", "backslashreplace")
            for suffix in (".out", ".err")
        )
        taken = time.monotonic() - self.started
        assert self._status is not None
        return Ended(self.arguments, os.waitstatus_to_exitcode(self._status), out, err, self._peak, hung, taken)


def _processor_seconds(pid: int) -> float:
    """Return how long a process, with all its threads, has been on a processor."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")  # in user mode, and in the kernel


_n_started = 0


def start_command(
    arguments: Sequence[str],
    folder: Path,
    before: Callable[[], None] | None = None,
    stdout: str | None = None,
    is_real: bool = False,
    target: Callable[[], int] | None = None,
) -> Running:
    """Start a command in a folder.

    Parameters
    ----------
    arguments : sequence of str
    folder : Path
        The working directory. What the command prints goes to files beside it.
    before : callable, default=None
        Called in the child before the command, for example to give up rights.
    stdout : str, default=None
        A file for standard output, for example /dev/full.
    is_real : bool, default=False
        Whether to start a new interpreter, which takes seconds, instead of a fork of this one.
    target : callable, default=None
        Called in the fork instead of the command; returns the exit code. `arguments` then only describe it.
    """
    global _n_started
    _n_started += 1
    printed = Path(os.environ["HOME"]) / f"{os.getpid()}-{_n_started}"
    for suffix in (".out", ".err"):
        printed.with_suffix(suffix).touch()  # the child may be killed before it can open them
    if is_real:
        with open(stdout or printed.with_suffix(".out"), "wb") as out, open(printed.with_suffix(".err"), "wb") as err:
            process = subprocess.Popen(
                [sys.executable, "-m", "invariance", *arguments],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                preexec_fn=before,
            )
        process.returncode = 0  # waited for by `Running`, not by Popen
        return Running(process.pid, arguments, printed)
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        _become(target, list(arguments), folder, before, stdout, printed)
    return Running(pid, arguments, printed)


def run_command(
    arguments: Sequence[str],
    folder: Path,
    seconds: float = SECONDS,
    before: Callable[[], None] | None = None,
    stdout: str | None = None,
    is_real: bool = False,
    target: Callable[[], int] | None = None,
) -> Ended:
    """Run a command to its end; the parameters are those of `start_command`."""
    return start_command(arguments, folder, before, stdout, is_real, target).wait(seconds)


def limit_file_size(n_bytes: int) -> Callable[[], None]:
    """Return what makes a write beyond `n_bytes` of any file fail in a child, as on a full disk."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))

    return limit


def _become(target, arguments, folder, before, stdout, printed) -> None:
    """Run the command, or `target`, and end as the interpreter ends."""
    code, has_begun = 1, False
    try:
        atexit._clear()  # what the parent has registered is its own business
        os.chdir(folder)
        for stream, path in ((1, stdout or printed.with_suffix(".out")), (2, printed.with_suffix(".err"))):
            handle = os.open(path, os.O_WRONLY | os.O_CREAT, 0o666)
            os.dup2(handle, stream)
            os.close(handle)
        sys.stdout = sys.__stdout__ = open(1, "w", encoding="utf-8")  # type: ignore[misc] # noqa: SIM115
        sys.stderr = sys.__stderr__ = open(2, "w", encoding="utf-8", errors="backslashreplace")  # type: ignore[misc] # noqa: SIM115
        sys.argv = ["invariance", *arguments]
        if before is not None:
            before()
        from invariance.__main__ import main

        has_begun = True
        code = main() if target is None else target()
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and not has_begun:
            code = INTERRUPTED
        else:
            traceback.print_exc()
    finally:
        _end(code)


def _end(code: int) -> None:
    """End the process. To unload everything takes most of a second, and matters only if threads still run."""
    if len(threading.enumerate()) > 1:
        ctypes.pythonapi.Py_Exit(ctypes.c_int(code))
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError as error:
        print(f"Exception ignored while flushing: {error}", file=sys.stderr)
        code = 120  # as the interpreter does
    finally:
        os._exit(code)
