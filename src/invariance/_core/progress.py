"""A progress bar for anything that takes more than two seconds, and silence for anything that does not.

A program that has no terminal, such as a page in a browser, shows the progress itself: see `observing`. A command whose
output goes to a file writes a line now and then: see `logging_progress`.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from invariance._core.escaping import in_one_line

PATIENCE_SECONDS = 2.0  # a shorter wait needs no explanation

# Held by the bar that is shown: a loop inside a tracked loop shows none of its own.
_screen = threading.Lock()

T = TypeVar("T")
Observer = Callable[[str, int, int | None], None]
_observer: ContextVar[Observer | None] = ContextVar("observer", default=None)


@contextmanager
def observing(observer: Observer) -> Iterator[None]:
    """Call an observer before every item of a tracked loop in this thread, instead of showing a bar.

    Parameters
    ----------
    observer : callable (label, number of items done, total or None)
        What it raises ends the loop: this is how long work is cancelled.
    """
    token = _observer.set(observer)
    try:
        yield
    finally:
        _observer.reset(token)


class ProgressLog:
    """Lines that say now and then how far the loop is that work is in, and the loop inside it.

    Parameters
    ----------
    write : callable
        Takes a line.
    seconds : float
        Between two lines, and before the first.
    """

    def __init__(self, write: Callable[[str], None], seconds: float):
        self._write, self._seconds = write, seconds
        self._last = time.monotonic()
        self._loops: list[tuple[str, int, int | None]] = []

    def follow(self, items: Iterable[T], label: str, total: int | None) -> Iterator[T]:
        """Yield items, and write a line where one is due."""
        depth = len(self._loops)
        try:
            for done, item in enumerate(items):
                self._loops[depth:] = [(label, done, total)]
                self._write_if_due()
                yield item
        finally:
            del self._loops[depth:]

    def _write_if_due(self) -> None:
        now = time.monotonic()
        if now - self._last < self._seconds:
            return
        self._last = now
        self._write("; ".join(_state(*loop) for loop in self._loops[:2]))


def _state(label: str, done: int, total: int | None) -> str:
    return f"{label}, step {done + 1}" if total is None else f"{label}: {done} of {total}"


_log: ContextVar[ProgressLog | None] = ContextVar("log", default=None)


@contextmanager
def logging_progress(write: Callable[[str], None], seconds: float) -> Iterator[None]:
    """Write a line of progress every so many seconds, where tracked loops of this thread show no bar."""
    token = _log.set(ProgressLog(write, seconds))
    try:
        yield
    finally:
        _log.reset(token)


def track(items: Iterable[T], label: str, total: int | None = None, shown: bool | None = None) -> Iterator[T]:
    """Yield items; once that has taken more than two seconds, show the progress on standard error.

    Parameters
    ----------
    items : iterable
    label : str
    total : int, default=None
        The number of items, if it cannot be found by `len`.
    shown : bool, default=None
        Whether a bar may be shown; None shows it on a terminal only; elsewhere see `logging_progress`.

    Yields
    ------
    item : object
    """
    if total is None and isinstance(items, Sized):
        total = len(items)
    observer = _observer.get()
    if observer is not None:
        for done, item in enumerate(items):
            observer(label, done, total)
            yield item
        return
    if not (sys.stderr.isatty() if shown is None else shown):
        log = _log.get()
        yield from items if log is None else log.follow(items, label, total)
        return
    started, bar, task = time.monotonic(), None, None
    try:
        for done, item in enumerate(items, start=1):
            yield item
            if bar is None and time.monotonic() - started > PATIENCE_SECONDS and _screen.acquire(blocking=False):
                bar = _make_bar()
                bar.start()
                task = bar.add_task(in_one_line(label), total=total, completed=done)
            elif bar is not None and task is not None:
                bar.update(task, completed=done)
    finally:
        if bar is not None:
            bar.stop()
            _screen.release()


def _make_bar():
    """Make a bar on standard error; rich is imported only when something is slow enough to need it."""
    from rich import progress
    from rich.console import Console

    return progress.Progress(
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
        progress.TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
