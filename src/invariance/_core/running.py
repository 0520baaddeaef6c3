"""Giving out blocks of work: a bounded number in flight, failed ones tried again, finished ones recorded at once."""

import math
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from typing import Any, NamedTuple, Protocol

from invariance._core.records import Records

MAX_TRIES = 3
# Blocks given out per worker: one in work, and some that wait in its queue so that it is never idle.
BLOCKS_PER_WORKER = 3
# Blocks that may be finished before an earlier one, for each in flight: they wait in memory to be put in order.
WAITING_PER_BLOCK = 4
COUNT_SECONDS = 2.0  # between two counts of the workers
POLL_SECONDS = 0.02  # between two looks for blocks that have ended; workers have others in the meantime
RESULT_SECONDS = 60.0  # to fetch the small result of a block from the worker that has it, which may be busy
ALONE_SECONDS = 120.0  # without any worker, after which a job is given up,
WARN_SECONDS = 5.0  # and after which it is said that there is none
LOST = "the Dask scheduler cannot be reached any more. What is finished is kept: run the same command again."
Work = Callable[..., Any]  # computes one block, and can be sent to a worker


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

    def share(self, value: Any) -> Any:
        """Return what stands for a large value in the arguments of `submit`; it is sent to a worker once."""

    def submit(self, work: Work, number: int, *shared: Any) -> None:
        """Begin to compute a block: `work(*shared)`, with the values that `share` was given."""

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
        self._waiting: list[tuple[Work, int, tuple[Any, ...]]] = []

    def capacity(self) -> int:
        """Return 1."""
        return 1

    def share(self, value: Any) -> Any:
        """Return the value."""
        return value

    def submit(self, work: Work, number: int, *shared: Any) -> None:
        """Remember a block until it is waited for."""
        self._waiting.append((work, number, shared))

    def wait(self) -> list[Ended]:
        """Compute the blocks."""
        waiting, self._waiting = self._waiting, []
        return [_attempt(*one) for one in waiting]


def _attempt(work: Work, number: int, shared: tuple[Any, ...]) -> Ended:
    try:
        return Ended(number, work(*shared), None)
    except Exception as error:
        return Ended(number, None, error)


class OnDask:
    """Computes blocks on the workers of a Dask client.

    Parameters
    ----------
    client : distributed.Client
    blocks_per_worker : int, default=3
        Blocks in flight per thread of a worker; 1 lets none wait there.
    """

    def __init__(self, client: Any, blocks_per_worker: int = BLOCKS_PER_WORKER):
        from distributed import as_completed

        self._client, self._blocks_per_worker = client, blocks_per_worker
        self._numbers: dict[str, int] = {}
        self._ending = as_completed(loop=client.loop)
        self._n_threads, self._counted, self._seen = 1, -math.inf, time.monotonic()
        self._has_warned = False

    def capacity(self) -> int:
        """Return a few blocks per thread of all workers, which may come and go; at least as many as for one."""
        self._look_after_workers()
        return self._blocks_per_worker * max(1, self._n_threads)

    def share(self, value: Any) -> Any:
        """Send a value to the cluster; return its future."""
        return self._client.scatter([value], hash=False)[0]  # a list would be taken apart

    def submit(self, work: Work, number: int, *shared: Any) -> None:
        """Send a block to the scheduler."""
        from distributed.client import ClosedClientError

        try:
            future = self._client.submit(work, *shared, pure=False, retries=0)
        except ClosedClientError as error:
            raise WorkersLost(LOST) from error
        self._numbers[future.key] = number
        self._ending.add(future)

    def wait(self) -> list[Ended]:
        """Wait until at least one block has ended, and return all that have."""
        while not self._ending.has_ready():
            self._look_after_workers()
            time.sleep(POLL_SECONDS)
        first = next(self._ending)
        return [self._end(future) for future in (first, *self._ending.next_batch(block=False))]

    def _look_after_workers(self) -> None:
        """Count the workers now and then, start those of this machine again that ended, and give up without any."""
        if self._client.status == "closed":
            raise WorkersLost(LOST)
        if self._client.status != "running" or time.monotonic() - self._counted <= COUNT_SECONDS:
            return
        workers = self._client.scheduler_info(n_workers=-1).get("workers", {})
        # Dask starts a worker that died again, but not one that dies, or takes long, while it starts.
        n_wanted = len(getattr(self._client.cluster, "worker_spec", ()))
        if len(workers) < n_wanted:
            self._client.cluster.scale(n_wanted)
        self._n_threads, self._counted = sum(one["nthreads"] for one in workers.values()), time.monotonic()
        if workers:
            self._seen = self._counted
        elif self._counted - self._seen > ALONE_SECONDS:
            raise WorkersLost(f"the Dask scheduler has had no workers for {ALONE_SECONDS:g} s. Start some.")
        elif not self._has_warned and self._counted - self._seen > WARN_SECONDS:
            self._has_warned = True
            address = self._client.scheduler.address
            warnings.warn(
                f"the Dask scheduler has no workers; waiting {ALONE_SECONDS:g} s for one. Start it: dask worker "
                f"{address} --nthreads 1",
                stacklevel=2,
            )

    def _end(self, future: Any) -> Ended:
        number = self._numbers.pop(future.key)
        try:
            # The worker that has the result may be gone by now: then the block is tried again.
            return Ended(number, future.result(RESULT_SECONDS), None)
        except CancelledError as error:
            raise WorkersLost(LOST) from error
        except Exception as error:
            return Ended(number, None, error)
        finally:
            future.release()


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
    failures: list[Failure] = []
    n_finished, started = 0, time.monotonic()
    for ended in give_out((number for number in range(n_blocks) if number not in before), make_work, workers):
        n_finished += _record(stage, ended, records)
        failures += [
            Failure(stage, one.number, f"{type(one.error).__name__}: {one.error}") for one in ended if one.error
        ]
        if on_progress is not None:
            on_progress(Progress(stage, n_finished, len(before), n_blocks, time.monotonic() - started))
    return failures


def run_in_order(
    stage: str,
    n_blocks: int,
    make_work: Callable[[int], Work],
    workers: Workers,
    records: Records | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    final: type[Exception] = ValueError,
) -> Iterator[Ended]:
    """Compute all blocks of a stage and yield them in the order of their numbers.

    Blocks that are finished before an earlier one wait in memory; there are at most `WAITING_PER_BLOCK` for each that
    is in flight. Blocks that are recorded as finished are not computed again.

    Parameters
    ----------
    stage, n_blocks, make_work, workers, on_progress
        As for `run_stage`.
    records : Records or None, default=None
        Where finished blocks are recorded; None records nothing.
    final : type of exception, default=ValueError
        Blocks that fail so are not tried again.

    Yields
    ------
    ended : Ended
        With an error if the block failed in all tries.
    """
    before = set() if records is None else records.numbers(stage)
    waiting: dict[int, Ended] = {}
    n_finished, n_yielded, started = 0, 0, time.monotonic()

    def in_turn() -> Iterator[Ended]:
        nonlocal n_yielded
        while n_yielded in waiting or (records is not None and n_yielded in before):
            number, n_yielded = n_yielded, n_yielded + 1
            if number in waiting:
                yield waiting.pop(number)
            elif records is not None:
                yield Ended(number, records.result(stage, number), None)

    to_do = (number for number in range(n_blocks) if number not in before)
    for ended in give_out(to_do, make_work, workers, (), WAITING_PER_BLOCK, final):
        n_finished += _record(stage, ended, records)
        if on_progress is not None:
            on_progress(Progress(stage, n_finished, len(before), n_blocks, time.monotonic() - started))
        waiting.update((one.number, one) for one in ended)
        yield from in_turn()
    yield from in_turn()


def _record(stage: str, ended: list[Ended], records: Records | None) -> int:
    """Record the blocks that ended well; return how many."""
    finished = [(one.number, one.result) for one in ended if one.error is None]
    if records is not None and finished:
        records.add(stage, finished)
    return len(finished)


def give_out(
    numbers: Iterable[int],
    make_work: Callable[[int], Work],
    workers: Workers,
    shared: Sequence[Any] = (),
    waiting_per_block: int | None = None,
    final: type[Exception] | tuple[()] = (),
) -> Iterator[list[Ended]]:
    """Compute blocks, as many at a time as the workers take; yield those that have ended, in any order.

    Parameters
    ----------
    numbers : iterable of int
        The blocks. A number is drawn when there is room for its block, after all that ended before were yielded.
    make_work : callable (number) -> Work
    workers : Workers
    shared : sequence, default=()
        What `workers.share` returned, for the arguments of all works.
    waiting_per_block : int or None, default=None
        How far blocks may be ahead of the first that has not ended, for each that may be in flight; None does not
        limit it. With it, numbers must increase.
    final : type of exception or (), default=()
        Blocks that fail so are not tried again; others are, up to `MAX_TRIES` times in all.
    """
    coming = iter(numbers)
    following: int | None = None  # drawn, but too far ahead
    n_tries: dict[int, int] = {}  # of blocks that were given out and have not ended
    again: list[int] = []
    n_in_flight = 0
    while True:
        capacity = workers.capacity()
        while n_in_flight < capacity:
            if again:
                number = again.pop()
            else:
                following = next(coming, None) if following is None else following
                if following is None:
                    break
                if waiting_per_block is not None and following >= min(n_tries, default=following) + (
                    waiting_per_block * capacity
                ):
                    break
                number, following = following, None
            n_tries[number] = n_tries.get(number, 0) + 1
            workers.submit(make_work(number), number, *shared)
            n_in_flight += 1
        if not n_in_flight:
            return
        ended = workers.wait()
        n_in_flight -= len(ended)
        to_repeat = {
            one.number for one in ended
            if one.error is not None and not isinstance(one.error, final) and n_tries[one.number] < MAX_TRIES
        }  # fmt: skip
        again += to_repeat
        over = [one for one in ended if one.number not in to_repeat]
        for one in over:
            del n_tries[one.number]
        if over:
            yield over
