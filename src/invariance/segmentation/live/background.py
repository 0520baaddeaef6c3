"""Work on one background thread: the newest job only; a newer one cancels it, and failures wait for the caller."""

import threading
import time
import weakref
from collections.abc import Callable, Hashable


class Cancelled(Exception):
    """Raised inside a job that is no longer wanted."""


class Token:
    """Says whether a job is still wanted; jobs ask between their steps."""

    def __init__(self) -> None:
        self._cancelled = threading.Event()

    def cancel(self) -> None:
        """Ask the job to end."""
        self._cancelled.set()

    def check(self) -> None:
        """Raise `Cancelled` if the job is no longer wanted."""
        if self._cancelled.is_set():
            raise Cancelled("newer strokes have come")


# Computes something; it calls `Token.check` often.
Job = Callable[[Token], None]


class _State:
    """What the thread shares with the others. The thread lives as long as there is a job."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.thread: threading.Thread | None = None
        self.pending: Job | None = None
        self.name: Hashable = None  # of the newest job that is pending or runs
        self.due = 0.0
        self.token = Token()
        self.failure: Exception | None = None

    def run(self) -> None:
        while True:
            with self.changed:
                while self.pending is not None and (left := self.due - time.monotonic()) > 0:
                    self.changed.wait(min(left, threading.TIMEOUT_MAX))
                if self.pending is None:
                    self.thread = self.name = None
                    self.changed.notify_all()
                    return
                job, self.pending = self.pending, None
                token = self.token = Token()
            try:
                job(token)
            except Cancelled:
                pass
            except Exception as failure:  # the caller gets it from `raise_failure`
                with self.changed:
                    self.failure = failure
            finally:
                del job  # with all that it holds

    def stop(self) -> None:
        with self.changed:
            self.pending = self.name = None
            self.token.cancel()
            self.changed.notify_all()
            thread = self.thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()


class Background:
    """Runs the newest of the jobs it is given.

    A job that still runs at the end of the interpreter is cancelled and waited for: threads that are in compiled code
    at that moment would abort the process.
    """

    def __init__(self) -> None:
        self._state = _State()
        self._stop = weakref.finalize(self, self._state.stop)

    def start(self, job: Job, delay: float = 0.0, name: Hashable = None) -> None:
        """Run a job instead of all earlier ones, after a number of seconds in which no newer one came.

        Nothing happens if the newest job has the same name, unless None, and was not cancelled.
        """
        state = self._state
        with state.changed:
            if name is not None and state.name == name:
                state.due = min(state.due, time.monotonic() + delay)
                state.changed.notify_all()
                return
            state.token.cancel()
            state.name, state.pending, state.due = name, job, time.monotonic() + delay
            if state.thread is None:
                state.thread = threading.Thread(target=state.run, name="invariance-live", daemon=True)
                state.thread.start()
            state.changed.notify_all()

    def cancel(self) -> None:
        """Give up all jobs, without waiting for the one that runs."""
        with self._state.changed:
            self._state.pending = self._state.name = None
            self._state.token.cancel()
            self._state.changed.notify_all()

    def wait(self, timeout: float | None = None) -> bool:
        """Start at once what is due later, and wait for all jobs; return whether they ended in time."""
        state = self._state
        with state.changed:
            state.due = 0.0
            state.changed.notify_all()
            return state.changed.wait_for(lambda: state.thread is None, timeout)

    def close(self) -> None:
        """Cancel all jobs and wait for the one that runs."""
        self._state.stop()

    def raise_failure(self) -> None:
        """Raise the last failure of a job, once."""
        with self._state.changed:
            failure, self._state.failure = self._state.failure, None
        if failure is not None:
            raise RuntimeError(f"the model with learned filters could not be fitted: {failure}") from failure
