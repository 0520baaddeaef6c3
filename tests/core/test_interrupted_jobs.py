"""A parallel map that ends early waits for the calls that run, and begins no other."""

import gc
import threading
import time

import pytest

from invariance._core.parallel import iterate_jobs, map_jobs


class Calls:
    """A function that takes a while, and counts the calls that have begun and those that have ended."""

    def __init__(self):
        self.begun, self.ended, self.lock = 0, 0, threading.Lock()

    def __call__(self, item):
        with self.lock:
            self.begun += 1
        time.sleep(0.1)
        if item == 2:
            raise KeyboardInterrupt
        with self.lock:
            self.ended += 1
        return item


def assert_none_runs(calls, n_failed=0):
    begun = calls.begun
    assert calls.ended == begun - n_failed
    assert begun < 40
    time.sleep(0.3)
    assert calls.begun == begun


def test_an_iteration_that_is_closed():
    calls = Calls()
    results = iterate_jobs(calls, [3] * 40, n_jobs=4)
    assert next(results) == 3
    results.close()
    assert_none_runs(calls)


def test_an_iteration_that_is_forgotten():
    calls = Calls()
    next(iterate_jobs(calls, [3] * 40, n_jobs=4))
    gc.collect()
    assert_none_runs(calls)


def test_an_iteration_whose_call_fails():
    calls = Calls()
    with pytest.raises(KeyboardInterrupt):
        map_jobs(calls, [0, 1, 2, *[3] * 37], n_jobs=4)
    assert_none_runs(calls, n_failed=1)


def test_an_iteration_to_its_end_is_whole():
    assert map_jobs(Calls(), [5, 4, 3, 1, 0], n_jobs=4) == [5, 4, 3, 1, 0]
