"""One ordered parallel map for the whole library: one level of threads, BLAS capped inside."""

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from threading import RLock
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs
from threadpoolctl import ThreadpoolController

from invariance._core.progress import track


class _BlasLimit:
    """The limit of BLAS to one thread: set by the first context to enter, lifted by the last to leave.

    Contexts of several threads overlap without being nested, but most libraries have one limit per process. If each
    context restored what it had found, one that entered within another would leave the limit behind, and one that left
    first would lift the limit of the other.
    """

    def __init__(self) -> None:
        self._n_inside = 0
        self._n_modules = 0
        self._blas: ThreadpoolController | None = None
        self._before: list[tuple[Any, int]] = []
        self.renew_lock()

    def renew_lock(self) -> None:
        # Reentrant: the garbage collector may end a forgotten `iterate_jobs` while this thread holds the lock.
        self._lock = RLock()

    def enter(self) -> list[tuple[Any, int]]:
        """Set the limit; return what to restore in this very thread, of libraries with one limit per thread."""
        with self._lock:
            self._n_inside += 1
            blas = self._find_blas()
            found = [(library, n) for library in blas.lib_controllers if (n := library.num_threads or 1) != 1]
            _set_threads(blas, [(library, 1) for library, _ in found])
            self._before += [change for change in found if not _is_per_thread(change[0])]
            return [change for change in found if _is_per_thread(change[0])]

    def leave(self, own: list[tuple[Any, int]]) -> None:
        with self._lock:
            self._n_inside -= 1
            changes = own
            if self._n_inside == 0:
                changes, self._before = own + self._before[::-1], []  # what was found first is set last
            _set_threads(self._find_blas(), changes)

    def _find_blas(self) -> ThreadpoolController:
        """Find the loaded BLAS libraries; this takes milliseconds, so only after further imports."""
        if self._blas is None or self._n_modules != len(sys.modules):
            self._n_modules = len(sys.modules)
            self._blas = ThreadpoolController().select(user_api="blas")
        return self._blas


def _is_per_thread(library: Any) -> bool:
    return getattr(library, "threading_layer", None) == "openmp"


def _set_threads(blas: ThreadpoolController, changes: list[tuple[Any, int]]) -> None:
    """Set numbers of threads, whichever thread asks.

    In threadpoolctl 3.8 one thread controls OpenBLAS until it ends or leaves all its contexts of threadpoolctl,
    and what other threads set is ignored.
    """
    for library, n_threads in changes:
        library.set_num_threads(n_threads)
        if library.num_threads != n_threads and hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)
            library.set_num_threads(n_threads)
    if changes:
        with blas.limit():  # sets nothing; at its end this thread gives up the control that it took
            pass


_blas_limit = _BlasLimit()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_blas_limit.renew_lock)  # another thread may have held it


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Return a context in which BLAS runs on one thread, because a product split over two is rounded differently.

    The limit holds for the whole process until all contexts of all threads have ended.
    """
    own = _blas_limit.enter()
    try:
        yield
    finally:
        _blas_limit.leave(own)


@contextmanager
def one_openmp_thread() -> Iterator[None]:
    """Return a context in which OpenMP runs on one thread where this thread calls it; BLAS stays as it is.

    `threadpool_limits(user_api="openmp")` would restore the threads of BLAS as well, as they were at its beginning,
    within the context of another thread perhaps.
    """
    with ThreadpoolController().select(user_api="openmp").limit(limits=1):
        yield


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
