"""One ordered parallel map for the whole library: one level of threads, BLAS capped inside."""

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sized
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from threading import RLock
from typing import Any

from joblib import effective_n_jobs, parallel_config
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


_worker = threading.local()  # has a `pool` on the threads that `_map` started
# Ctrl-C is heard between waits where a lock cannot be interrupted, as on Windows.
WAIT_SECONDS = 0.5
# Results per thread that may wait for a slow item before them, so that the other threads go on meanwhile.
MAX_AHEAD = 16


def iterate_jobs(
    function: Callable[[Any], Any], items: Iterable[Any], n_jobs: int | None = None, label: str | None = None
) -> Iterator[Any]:
    """Yield `function(item)` for every item, in order, computed on threads.

    BLAS runs on one thread inside, for every `n_jobs`: the same seed must give the same model bit for bit. Threads
    suffice because compiled loops and BLAS release the GIL. A function that runs on one of these threads and calls
    this one in turn gets no further threads.

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
    n_threads = effective_n_jobs(n_jobs)
    if total == 1 or hasattr(_worker, "pool"):
        n_threads = 1
    with one_blas_thread(), closing(_map(function, items, n_threads)) as results:
        yield from track(results, label, total) if label else results


def _map(function: Callable[[Any], Any], items: Iterable[Any], n_threads: int) -> Generator[Any, None, None]:
    """Yield results in order; those of several threads some items ahead of the reader.

    At its end no call runs and none begins: threads that were still in compiled C++ code when the interpreter ends
    would be unwound by force, which aborts the process. joblib's own threads would do, but it looks for results every
    10 ms only, which a single image cannot wait for.
    """
    if n_threads == 1:
        yield from map(function, items)
        return
    own, waiting = object(), deque[Future]()
    pool = ThreadPoolExecutor(n_threads, initializer=_begin_thread, initargs=(own,))
    try:
        for item in items:
            waiting.append(_submit(pool, function, item))
            while waiting and (waiting[0].done() or len(waiting) == MAX_AHEAD * n_threads):
                yield _result_of(waiting.popleft())
            while len(unfinished := [future for future in waiting if not future.done()]) >= 2 * n_threads:
                wait(unfinished, WAIT_SECONDS, FIRST_COMPLETED)
        while waiting:
            yield _result_of(waiting.popleft())
    finally:
        # The garbage collector may end a forgotten iteration on one of its own threads, which cannot wait for itself.
        pool.shutdown(wait=getattr(_worker, "pool", None) is not own, cancel_futures=True)


def _begin_thread(pool: object) -> None:
    """Say to which pool this thread belongs, and let joblib, in estimators of scikit-learn, start nothing further."""
    _worker.pool = pool
    parallel_config("threading", n_jobs=1)


def _submit(pool: ThreadPoolExecutor, function: Callable[[Any], Any], item: Any) -> Future:
    """Give an item to the pool; compute it here if the main thread has ended, after which pools take nothing."""
    try:
        return pool.submit(function, item)
    except RuntimeError:
        future: Future = Future()
        future.set_result(function(item))
        return future


def _result_of(future: Future) -> Any:
    try:
        while not future.done():
            wait([future], WAIT_SECONDS)
        return future.result()
    finally:
        del future  # an error would keep it, by its traceback, and what it holds


def map_jobs(
    function: Callable[[Any], Any], items: Iterable[Any], n_jobs: int | None = None, label: str | None = None
) -> list[Any]:
    """Return what `iterate_jobs` yields as a list."""
    return list(iterate_jobs(function, items, n_jobs, label))
