"""One ordered parallel map for the whole library: one level of threads, BLAS capped inside."""

import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs
from threadpoolctl import ThreadpoolController

from invariance._core.progress import track


def one_blas_thread() -> AbstractContextManager:
    """Return a context in which BLAS runs on one thread, because a product split over two is rounded differently."""
    return _libraries(len(sys.modules)).limit(limits=1, user_api="blas")


@lru_cache(maxsize=1)
def _libraries(n_modules: int) -> ThreadpoolController:
    """Find the loaded libraries that use threads; this takes milliseconds, so only after further imports."""
    return ThreadpoolController()


class _Calls:
    """A function that is called on threads, and the calls of it that run.

    A pool whose caller was interrupted leaves its threads running. If they are still in compiled C++ code when the
    interpreter ends, they are unwound by force, which aborts the process.
    """

    def __init__(self, function: Callable[[Any], Any]):
        self._function = function
        self._running: set[int] = set()
        self._changed = threading.Condition()
        self._is_over = False

    def __call__(self, item: Any) -> Any:
        with self._changed:
            if self._is_over:
                return None  # nobody waits for it
            self._running.add(threading.get_ident())
        try:
            return self._function(item)
        finally:
            with self._changed:
                self._running.discard(threading.get_ident())
                self._changed.notify_all()

    def end(self) -> None:
        """Let no further call begin, and wait for those that run on other threads."""
        with self._changed:
            self._is_over = True
            self._changed.wait_for(lambda: self._running <= {threading.get_ident()})


def iterate_jobs(
    function: Callable[[Any], Any], items: Iterable[Any], n_jobs: int | None = None, label: str | None = None
) -> Iterator[Any]:
    """Yield `function(item)` for every item, in order, computed on threads.

    BLAS runs on one thread inside, for every `n_jobs`: the same seed must give the same model bit for bit. Threads
    suffice because compiled loops and BLAS release the GIL.

    Parameters
    ----------
    function : callable
    items : iterable
    n_jobs : int, default=None
        The number of threads as in joblib: None means 1, -1 all processors.
    label : str, default=None
        The label of a progress bar; None shows none.

    Yields
    ------
    result : object
    """
    total = len(items) if isinstance(items, Sized) else None
    calls: _Calls | None = None
    with one_blas_thread():
        if effective_n_jobs(n_jobs) == 1:
            results = map(function, items)
        else:
            function = calls = _Calls(function)
            pool = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
            results = pool(delayed(function)(item) for item in items)
        try:
            yield from track(results, label, total) if label else results
        finally:
            if calls is not None:
                calls.end()


def map_jobs(
    function: Callable[[Any], Any], items: Iterable[Any], n_jobs: int | None = None, label: str | None = None
) -> list[Any]:
    """Return what `iterate_jobs` yields as a list."""
    return list(iterate_jobs(function, items, n_jobs, label))
