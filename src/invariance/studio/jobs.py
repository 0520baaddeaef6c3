"""Long work, one job at a time in a thread: with progress, cancellation, and errors that say what to do."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from invariance._core.progress import observing

Progress = Callable[[float | None, str], None]
Cancelling = Callable[[], bool]
Job = Callable[[dict[str, Any], Progress, Cancelling], dict[str, Any]]

MAX_WAITING = 8  # jobs; a person who starts more has probably pressed a key by accident
MAX_KEPT = 50  # finished jobs whose results stay on the page
SECONDS_BETWEEN = 0.1  # two messages about the progress of a job
SECONDS_TO_CLOSE = 5.0  # a job that does not look whether it is cancelled is left to the end of the process

logger = logging.getLogger(__name__)


class Cancelled(Exception):
    """A job was cancelled."""


@contextmanager
def reporting(progress: Progress, cancelled: Cancelling) -> Iterator[None]:
    """Report the progress of the loops inside that the library tracks; they end if the job is cancelled."""

    def observe(label: str, done: int, total: int | None) -> None:
        if cancelled():
            raise Cancelled
        progress(done / total if total else None, f"{label[:1].upper()}{label[1:]}")

    with observing(observe):
        yield


@dataclass
class _Entry:
    """A job and what is known of it."""

    number: int
    kind: str
    fields: dict[str, Any]
    event: dict[str, Any] = field(default_factory=dict)
    is_cancelled: threading.Event = field(default_factory=threading.Event)
    file: Path | None = None
    sent: float = 0.0

    @property
    def is_over(self) -> bool:
        return self.event["state"] != "running"


class Jobs:
    """Runs jobs one after another; all methods may be called from any thread.

    Parameters
    ----------
    send : callable
        Called with every event, from any thread.
    kinds : mapping of str to callable (fields, progress, cancelled) -> dict
        What a job of each kind does. `progress(share or None, text)` reports, `cancelled()` tells whether to end. The
        result is data for the page; `path` in it names what was written.
    """

    def __init__(self, send: Callable[[dict[str, Any]], None], kinds: Mapping[str, Job]):
        self._send, self._kinds = send, dict(kinds)
        self._entries: dict[int, _Entry] = {}
        self._waiting: deque[_Entry] = deque()
        self._n_started = 0
        self._thread: threading.Thread | None = None
        self._is_closed = False
        self._lock = threading.RLock()

    def start(self, kind: str, fields: dict[str, Any]) -> int:
        """Start a job, or let it wait for those before it.

        Parameters
        ----------
        kind : str
        fields : dict

        Returns
        -------
        job : int
            Its number.
        """
        if kind not in self._kinds:
            raise ValueError(f"there is no job '{kind}'. Jobs: {', '.join(sorted(self._kinds))}.")
        with self._lock:
            if self._is_closed:
                raise ValueError("the studio is closing. Start it again.")
            if len(self._waiting) >= MAX_WAITING:
                raise ValueError(f"{MAX_WAITING} jobs are waiting already. Wait for one, or cancel one.")
            self._n_started += 1
            entry = _Entry(self._n_started, kind, dict(fields))
            self._entries[entry.number] = entry
            self._forget_oldest()
            is_waiting = self._thread is not None
            self._tell(entry, "running", None, "Waiting for the job before it." if is_waiting else "Starting.")
            self._waiting.append(entry)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="studio-jobs", daemon=True)
                self._thread.start()
            return entry.number

    def cancel(self, job: int) -> None:
        """Cancel a job that waits or runs; one that is over stays as it is."""
        with self._lock:
            entry = self._find(job)
            entry.is_cancelled.set()
            if entry in self._waiting:
                self._waiting.remove(entry)
                self._tell(entry, "cancelled", None, "Cancelled.")
            elif not entry.is_over:
                self._tell(entry, "running", entry.event["done"], "Cancelling; the present step ends first.")

    def file(self, job: int) -> Path | None:
        """Return the file that a finished job wrote, None if it wrote none or a folder."""
        with self._lock:
            return self._find(job).file

    def events(self) -> list[dict[str, Any]]:
        """Return the newest event of every job, for a page that was opened later."""
        with self._lock:
            return [entry.event for entry in self._entries.values()]

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until no job runs; return whether that was in time."""
        thread = self._thread
        if thread is not None:
            thread.join(timeout)
        return thread is None or not thread.is_alive()

    def close(self) -> None:
        """Cancel all jobs and wait a moment for the one that runs."""
        with self._lock:
            self._is_closed = True
            for entry in list(self._entries.values()):
                if not entry.is_over:
                    self.cancel(entry.number)
        self.wait(SECONDS_TO_CLOSE)

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._thread = None
                    return
                entry = self._waiting.popleft()
            self._run(entry)

    def _run(self, entry: _Entry) -> None:
        def progress(done: float | None, text: str) -> None:
            now = time.monotonic()
            if now - entry.sent >= SECONDS_BETWEEN and not entry.is_cancelled.is_set():
                entry.sent = now
                self._tell(entry, "running", done if done is None else min(max(done, 0.0), 1.0), text)

        cancelled = entry.is_cancelled.is_set
        try:
            with reporting(progress, cancelled):
                result = self._kinds[entry.kind](entry.fields, progress, cancelled)
        except Cancelled:
            self._tell(entry, "cancelled", None, "Cancelled.")
        except (ValueError, OSError, RuntimeError) as error:
            self._tell(entry, "failed", None, _sentence(error))
        except MemoryError:
            self._tell(entry, "failed", None, "There is not enough memory. Close other programs, or use fewer images.")
        except Exception as error:  # a defect of ours must not end the studio
            logger.exception("the job '%s' failed", entry.kind)
            self._tell(entry, "failed", None, f"This is a defect of the studio: {type(error).__name__}: {error}")
        else:
            path = Path(result["path"]) if result.get("path") else None
            entry.file = path if path is not None and path.is_file() else None
            result = {**result, "file": entry.file is not None}
            self._tell(entry, "done", 1.0, result.get("text", "Done."), result=result)

    def _tell(self, entry: _Entry, state: str, done: float | None, text: str, **more: Any) -> None:
        with self._lock:  # events of one job arrive in order: nothing follows its end
            entry.event = {
                "event": "job", "job": entry.number, "kind": entry.kind, "done": done, "text": text, "state": state,
                **more,
            }  # fmt: skip
            self._send(entry.event)

    def _find(self, job: int) -> _Entry:
        if job not in self._entries:
            raise ValueError(f"there is no job {job}. It may be of an earlier run of the studio.")
        return self._entries[job]

    def _forget_oldest(self) -> None:
        over = [number for number, entry in self._entries.items() if entry.event and entry.is_over]
        for number in over[: max(0, len(over) - MAX_KEPT)]:
            del self._entries[number]


def _sentence(error: BaseException) -> str:
    """The text of an error, as a sentence."""
    text = str(error).strip() or type(error).__name__
    return f"{text[0].upper()}{text[1:]}" + ("" if text[-1] in ".!?" else ".")
