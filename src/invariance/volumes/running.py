"""Giving out blocks: a bounded number in flight, failed ones tried again, finished ones recorded at once."""

import itertools
import math
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, Protocol

from invariance.volumes.records import Records

MAX_TRIES = 3
# Blocks given out per worker: one in work, and some that wait in its queue so that it is never idle.
BLOCKS_PER_WORKER = 3
COUNT_SECONDS = 2.0  # between two counts of the workers
Work = Callable[[], Any]  # computes one block, and can be sent to a worker


class WorkersLost(ConnectionError):
    """The scheduler cannot be reached any more; what is finished is recorded."""


class Ended(NamedTuple):
    """A block that ended: its number, and its result or the error."""

    number: int
    result: Any
    error: BaseException | None


class Workers(Protocol):
    """What computes blocks."""

    def capacity(self) -> int:
        """Return how many blocks may be in flight now."""

    def submit(self, work: Work, number: int) -> None:
        """Begin to compute a block."""

    def wait(self) -> list[Ended]:
        """Wait until at least one block has ended, and return all that have."""


class Failure(NamedTuple):
    """A block that failed in all tries."""

    stage: str
    number: int
    error: str


class InThisProcess:
    """Computes blocks one after the other, here."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Work, int]] = []

    def capacity(self) -> int:
        """Return 1."""
        return 1

    def submit(self, work: Work, number: int) -> None:
        """Remember a block until it is waited for."""
        self._waiting.append((work, number))

    def wait(self) -> list[Ended]:
        """Compute the blocks."""
        waiting, self._waiting = self._waiting, []
        return [_attempt(work, number) for work, number in waiting]


def _attempt(work: Work, number: int) -> Ended:
    try:
        return Ended(number, work(), None)
    except Exception as error:
        return Ended(number, None, error)


class OnDask:
    """Computes blocks on the workers of a Dask client.

    Parameters
    ----------
    client : distributed.Client
    """

    def __init__(self, client: Any):
        from distributed import as_completed

        self._client = client
        self._numbers: dict[str, int] = {}
        self._ending = as_completed(loop=client.loop)
        self._n_threads, self._counted = 1, -math.inf

    def capacity(self) -> int:
        """Return a few blocks per thread of all workers, which may come and go; at least as many as for one."""
        if time.monotonic() - self._counted > COUNT_SECONDS:
            workers = self._client.scheduler_info(n_workers=-1)["workers"]
            self._n_threads, self._counted = sum(one["nthreads"] for one in workers.values()), time.monotonic()
        return BLOCKS_PER_WORKER * max(1, self._n_threads)

    def submit(self, work: Work, number: int) -> None:
        """Send a block to the scheduler."""
        future = self._client.submit(work, pure=False, retries=0)
        self._numbers[future.key] = number
        self._ending.add(future)

    def wait(self) -> list[Ended]:
        """Wait until at least one block has ended, and return all that have."""
        first = next(self._ending)
        return [self._end(future) for future in (first, *self._ending.next_batch(block=False))]

    def _end(self, future: Any) -> Ended:
        number = self._numbers.pop(future.key)
        if future.status in ("cancelled", "lost"):
            raise WorkersLost("the Dask scheduler cannot be reached any more.")
        error = future.exception() if future.status == "error" else None
        result = future.result() if error is None else None
        future.release()
        return Ended(number, result, error)


class Progress(NamedTuple):
    """How far a stage is: blocks finished now and before, all blocks, and seconds since the stage began."""

    stage: str
    n_finished: int
    n_before: int
    n_blocks: int
    seconds: float


def run_stage(
    stage: str,
    n_blocks: int,
    make_work: Callable[[int], Work],
    workers: Workers,
    records: Records,
    on_progress: Callable[[Progress], None] | None = None,
) -> list[Failure]:
    """Compute all blocks of a stage that are not recorded as finished.

    Memory does not grow with the number of blocks, but for one small number per block that was finished before.

    Parameters
    ----------
    stage : str
    n_blocks : int
    make_work : callable (number) -> Work
        Returns what is sent to a worker for a block, small; its result is stored as JSON.
    workers : Workers
    records : Records
    on_progress : callable or None, default=None

    Returns
    -------
    failures : list of Failure
        Blocks that failed `MAX_TRIES` times; all others are finished.
    """
    before = records.numbers(stage)
    to_do: Iterator[int] = (number for number in range(n_blocks) if number not in before)
    n_tries: dict[int, int] = {}
    again: list[int] = []
    failures: list[Failure] = []
    n_in_flight, n_finished, started = 0, 0, time.monotonic()
    while True:
        n_free = max(0, workers.capacity() - n_in_flight)
        for number in itertools.islice(_chain(again, to_do), n_free):
            workers.submit(make_work(number), number)
            n_in_flight += 1
        if not n_in_flight:
            return failures
        ended = workers.wait()
        n_in_flight -= len(ended)
        records.add(stage, ((one.number, one.result) for one in ended if one.error is None))
        n_finished += sum(one.error is None for one in ended)
        for one in ended:
            if one.error is None:
                n_tries.pop(one.number, None)
                continue
            n_tries[one.number] = n_tries.get(one.number, 0) + 1
            if n_tries[one.number] < MAX_TRIES:
                again.append(one.number)
            else:
                failures.append(Failure(stage, one.number, f"{type(one.error).__name__}: {one.error}"))
        if on_progress is not None:
            on_progress(Progress(stage, n_finished, len(before), n_blocks, time.monotonic() - started))


def _chain(again: list[int], to_do: Iterable[int]) -> Iterator[int]:
    """Yield the blocks to try again, then the others."""
    while again:
        yield again.pop()
    # Not `yield from to_do`, which would end `to_do` together with this generator.
    yield from map(int, to_do)
