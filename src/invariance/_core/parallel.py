"""One ordered parallel map for the whole library: one level of threads, BLAS capped inside."""

import sys
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
    with one_blas_thread():
        if effective_n_jobs(n_jobs) == 1:
            results = map(function, items)
        else:
            pool = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
            results = pool(delayed(function)(item) for item in items)
        yield from track(results, label, total) if label else results


def map_jobs(
    function: Callable[[Any], Any], items: Iterable[Any], n_jobs: int | None = None, label: str | None = None
) -> list[Any]:
    """Return what `iterate_jobs` yields as a list."""
    return list(iterate_jobs(function, items, n_jobs, label))
