"""Blocks are given out within bounds, tried again if they fail, and yielded in order with few of them waiting."""

import random
import time
import warnings
from types import SimpleNamespace

import pytest

from invariance._core.records import Records
from invariance._core.running import (
    MAX_TRIES,
    WAITING_PER_BLOCK,
    Ended,
    InThisProcess,
    OnDask,
    WorkersLost,
    give_out,
    run_in_order,
)


class AtRandom:
    """Workers that end blocks in any order; `at_most` is the largest number that was in flight."""

    def __init__(self, n_slots=5, seed=0):
        self._rng, self._n_slots, self._in_flight = random.Random(seed), n_slots, []
        self.at_most = 0

    def capacity(self):
        return self._n_slots

    def share(self, value):
        return value

    def submit(self, work, number, *shared):
        self._in_flight.append((work, number, shared))
        self.at_most = max(self.at_most, len(self._in_flight))

    def wait(self):
        work, number, shared = self._in_flight.pop(self._rng.randrange(len(self._in_flight)))
        try:
            return [Ended(number, work(*shared), None)]
        except Exception as error:
            return [Ended(number, None, error)]


class Fails:
    """A block whose first `n` tries fail."""

    def __init__(self, n, error=OSError):
        self.left, self.error, self.n_calls = n, error, 0

    def __call__(self):
        self.n_calls += 1
        if self.n_calls <= self.left:
            raise self.error("no luck")
        return "done"


@pytest.mark.parametrize("workers", [InThisProcess, AtRandom])
def test_blocks_are_yielded_in_order(workers):
    ended = list(run_in_order("count", 200, lambda number: lambda: number**2, workers()))
    assert [one.number for one in ended] == list(range(200))
    assert [one.result for one in ended] == [number**2 for number in range(200)]


def test_a_slow_block_lets_only_so_many_be_finished_before_it():
    begun = []

    class FirstIsSlow(AtRandom):
        def wait(self):
            self._in_flight.sort(key=lambda one: one[1], reverse=True)
            last = self._in_flight.pop(0)
            return [Ended(last[1], last[0](), None)]

    def make_work(number):
        begun.append(number)
        return lambda: number

    blocks = run_in_order("count", 1000, make_work, FirstIsSlow(n_slots=5))
    assert next(blocks).number == 0
    assert len(begun) == 5 * WAITING_PER_BLOCK
    assert [one.number for one in blocks] == list(range(1, 1000))


def test_no_more_are_in_flight_than_the_workers_take():
    workers = AtRandom(n_slots=3)
    assert sum(len(ended) for ended in give_out(iter(range(50)), lambda number: lambda: None, workers)) == 50
    assert workers.at_most == 3


def test_a_number_is_drawn_when_there_is_room_and_results_are_known():
    known = []

    def numbers():
        for number in range(4):
            assert len(known) == number  # in one process, all before have ended
            yield number

    for ended in give_out(numbers(), lambda number: lambda: number, InThisProcess()):
        known.extend(ended)
    assert len(known) == 4


@pytest.mark.parametrize(("n_failures", "is_done"), [(MAX_TRIES - 1, True), (MAX_TRIES, False)])
def test_a_block_is_tried_again(n_failures, is_done):
    blocks = {number: Fails(n_failures if number == 2 else 0) for number in range(6)}
    ended = list(run_in_order("work", 6, blocks.get, AtRandom()))
    assert [one.number for one in ended] == list(range(6))
    assert (ended[2].error is None) is is_done
    assert blocks[2].n_calls == MAX_TRIES


def test_what_fails_for_good_is_not_tried_again():
    block = Fails(1, ValueError)
    [ended] = run_in_order("work", 1, lambda number: block, AtRandom(), final=ValueError)
    assert isinstance(ended.error, ValueError)
    assert block.n_calls == 1


def test_recorded_blocks_are_not_computed_again_and_come_in_their_place(tmp_path):
    records = Records(tmp_path / "r.sqlite", {"model": "a"})
    some = [0, 3, 4, 9]
    records.add("work", [(number, f"old {number}") for number in some])
    computed = []

    def make_work(number):
        computed.append(number)
        return lambda: f"new {number}"

    ended = list(run_in_order("work", 10, make_work, AtRandom(), records))
    assert [one.result for one in ended] == [f"{'old' if n in some else 'new'} {n}" for n in range(10)]
    assert sorted(computed) == [1, 2, 5, 6, 7, 8]
    assert records.numbers("work") == set(range(10))
    ended = list(run_in_order("work", 10, lambda number: pytest.fail("computed again"), InThisProcess(), records))
    assert len(ended) == 10
    records.close()


@pytest.fixture
def client():
    """A client of one worker in this process."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(1, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def lose_worker(client):
    """End the worker as the cluster does if one does not come back in time."""
    client.cluster.sync(client.cluster.workers.pop(0).close)


def test_a_client_that_gave_up_has_lost_its_workers(client):
    workers = OnDask(client)
    assert workers.capacity() > 0
    client.close()
    with pytest.raises(WorkersLost, match="cannot be reached any more"):
        workers.submit(int, 0)
    with pytest.raises(WorkersLost, match="cannot be reached any more"):
        workers.capacity()


def test_a_worker_of_this_machine_that_is_gone_for_good_is_started_again(client, monkeypatch):
    monkeypatch.setattr("invariance._core.running.COUNT_SECONDS", 0.1)
    lose_worker(client)
    workers = OnDask(client)
    workers.submit(int, 7)
    assert workers.wait() == [Ended(7, 0, None)]


def test_a_result_that_its_worker_took_along_is_a_failure_that_is_tried_again(client, monkeypatch):
    monkeypatch.setattr("invariance._core.running.RESULT_SECONDS", 0.5)
    workers = OnDask(client)
    workers.submit(int, 7)
    while not workers._ending.has_ready():
        time.sleep(0.01)
    lose_worker(client)
    [ended] = workers.wait()
    assert ended.number == 7
    assert isinstance(ended.error, TimeoutError)
    assert [one.result for some in give_out([7], lambda number: int, workers) for one in some] == [0]


def test_a_scheduler_without_workers_is_given_up(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("invariance._core.running.ALONE_SECONDS", -1.0)
    client = SimpleNamespace(
        status="running", cluster=None, loop="a loop", scheduler_info=lambda n_workers: {"workers": {}}
    )
    with pytest.raises(WorkersLost, match="has had no workers for -1 s. Start some"):
        OnDask(client).wait()


def test_it_is_said_once_that_a_scheduler_has_no_workers(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("invariance._core.running.WARN_SECONDS", -1.0)
    monkeypatch.setattr("invariance._core.running.COUNT_SECONDS", -1.0)
    client = SimpleNamespace(
        status="running", cluster=None, loop="a loop", scheduler_info=lambda n_workers: {"workers": {}},
        scheduler=SimpleNamespace(address="tcp://host:8786"),
    )  # fmt: skip
    workers = OnDask(client)
    with pytest.warns(UserWarning, match="Start it: dask worker tcp://host:8786 --nthreads 1"):
        workers.capacity()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        workers.capacity()
