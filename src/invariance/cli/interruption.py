"""Ctrl-C and SIGTERM: a command ends within seconds, its threads have ended, and a line says what was kept.

A thread of a pool that still runs compiled C++ code when the interpreter ends is unwound by force, which aborts the
process ("terminate called without an active exception"). So the threads are waited for; if that takes too long, the
process ends without unwinding anything.
"""

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

from invariance._core.escaping import in_one_line

PATIENCE_SECONDS = 10.0  # for the work to end after a signal, and then for its threads
# Threads of zarr and Dask that serve an event loop for as long as the process lives: they compute nothing.
SERVING_THREADS = ("zarr_io", "asyncio_", "IO loop", "Dask-")
NAMES = {signal.SIGINT: "Interrupted", signal.SIGTERM: "Terminated"}


class Interrupted(BaseException):
    """A signal asked the command to end; unlike KeyboardInterrupt, typer prints nothing about it."""


class Interruption:
    """The signal that asked a command to end, if any.

    Parameters
    ----------
    describe : callable
        Returns what was kept, for the line that is printed.

    Attributes
    ----------
    number : signal.Signals
    is_asked : bool
        Whether a signal has come. Any error after that may be its consequence: compiled modules that are being
        imported turn every exception into an ImportError.
    """

    def __init__(self, describe: Callable[[], str]):
        self.number = signal.SIGINT
        self.is_asked = False
        self._describe = describe

    @property
    def exit_code(self) -> int:
        """What shells report for a process that a signal ended."""
        return 128 + self.number

    @property
    def sentence(self) -> str:
        """What happened, and what was kept."""
        return f"{NAMES[self.number]}: {self._describe()}"


@contextmanager
def interruptible(describe: Callable[[], str]) -> Iterator[Interruption]:
    """Raise `Interrupted` at the first SIGINT or SIGTERM inside; end the process if that does not end the work.

    Only the main thread of a process receives signals; elsewhere nothing changes. A signal that the caller of the
    command ignores stays ignored.

    Parameters
    ----------
    describe : callable
        Returns what was kept, for the line that is printed.

    Yields
    ------
    interruption : Interruption
    """
    interruption = Interruption(describe)
    watched = [number for number in NAMES if signal.getsignal(number) not in (signal.SIG_IGN, None)]
    if threading.current_thread() is not threading.main_thread() or not watched:
        yield interruption
        return
    has_ended = threading.Event()

    def ask(number: int, frame: FrameType | None) -> None:
        if not (interruption.is_asked or has_ended.is_set()):  # the end is near, and must not be disturbed
            interruption.is_asked = True
            interruption.number = signal.Signals(number)
            raise Interrupted

    def show_ignored(ignored: "sys.UnraisableHookArgs") -> None:
        if not issubclass(ignored.exc_type, Interrupted):  # otherwise the guard ends the process
            old_hook(ignored)

    receiver, sender = socket.socketpair()
    sender.setblocking(False)
    guard = threading.Thread(target=_guard, args=(receiver, watched, has_ended, interruption), daemon=True)
    guard.start()
    old_hook, sys.unraisablehook = sys.unraisablehook, show_ignored
    old_handlers = {number: signal.signal(number, ask) for number in watched}
    old_wakeup = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
    try:
        yield interruption
    finally:
        has_ended.set()  # from here on `ask` ignores signals, until the old handlers are back
        sys.unraisablehook = old_hook
        signal.set_wakeup_fd(old_wakeup)
        sender.close()
        guard.join()
        receiver.close()
        for number, handler in old_handlers.items():
            signal.signal(number, handler)


def _guard(
    receiver: socket.socket, watched: list[signal.Signals], has_ended: threading.Event, interruption: Interruption
) -> None:
    """End the process if a signal has not ended the work in time: the main thread may be in compiled code."""
    while received := receiver.recv(1):
        if received[0] in watched:
            if not has_ended.wait(PATIENCE_SECONDS):
                interruption.number = signal.Signals(received[0])
                os.write(2, f"{in_one_line(interruption.sentence)}\n".encode())
                os._exit(interruption.exit_code)
            return


def end_process(code: int) -> NoReturn:
    """End the process with an exit code, if a signal asked for it after its threads; nothing interrupts that."""
    if threading.current_thread() is threading.main_thread():
        for number in NAMES:
            signal.signal(number, signal.SIG_IGN)
    if code > 128 and not end_threads():
        with suppress(OSError):
            sys.stdout.flush()
        os._exit(code)
    sys.exit(code)


def end_threads() -> bool:
    """Wait for all other threads that compute for a while; return whether they have ended."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    others = computing_threads()
    for thread in others:
        thread.join(max(0.0, deadline - time.monotonic()))
    return not any(thread.is_alive() for thread in others)


def computing_threads() -> list[threading.Thread]:
    """List all threads but this one and those that serve an event loop."""
    others = (thread for thread in threading.enumerate() if thread is not threading.current_thread())
    return [thread for thread in others if not thread.name.startswith(SERVING_THREADS)]
