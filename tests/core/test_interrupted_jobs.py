"""A parallel map that ends early waits for the calls that run, and begins no other."""

import gc
import os
import subprocess
import sys
import threading
import time

import joblib
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


def test_threads_start_no_threads():
    def count_inside(_):
        return len({*map_jobs(lambda _: threading.get_ident(), range(8), n_jobs=4)})

    assert map_jobs(count_inside, range(4), n_jobs=2) == [1] * 4
    assert len({*map_jobs(lambda _: (time.sleep(0.05), threading.get_ident())[1], range(8), n_jobs=4)}) > 1


def test_estimators_of_scikit_learn_start_no_processes_on_threads():
    def find_process(_):
        return joblib.Parallel(n_jobs=2)(joblib.delayed(os.getpid)() for _ in range(2))

    assert map_jobs(find_process, range(4), n_jobs=2) == [[os.getpid()] * 2] * 4


def test_a_slow_item_does_not_stop_the_others():
    released, begun = threading.Event(), []

    def work(number):
        begun.append(number)
        if number == 0:
            assert released.wait(30)
        elif number == 12:
            released.set()
        return number

    assert map_jobs(work, range(20), n_jobs=2) == list(range(20))


def test_items_are_not_taken_far_ahead_of_their_reader():
    taken = []
    results = iterate_jobs(abs, (taken.append(number) or number for number in range(1000)), n_jobs=2)
    assert next(results) == 0
    time.sleep(0.05)
    assert len(taken) < 100
    results.close()


def test_numbers_of_jobs_are_checked_for_a_single_item_too():
    with pytest.raises(ValueError, match="n_jobs == 0"):
        map_jobs(abs, [1], n_jobs=0)


AFTER_MAIN = """
import threading, time
from invariance._core.parallel import map_jobs

def work():
    threading.main_thread().join()
    print(map_jobs(abs, range(6), n_jobs=2))

threading.Thread(target=work).start()
"""


def test_threads_that_outlive_the_main_one_go_on():
    done = subprocess.run([sys.executable, "-c", AFTER_MAIN], capture_output=True, text=True, timeout=120)
    assert done.stdout == f"{list(range(6))}\n", done.stderr


# Transforms of pocketfft run in C++, which the interpreter at its end unwinds by force if a thread is still in them.
PROGRAM = """
import os, signal, sys, threading
import numpy, scipy.fft
from invariance._core.parallel import map_jobs
image = numpy.ones((600, 600), "float32")
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    map_jobs(lambda _: [scipy.fft.rfft2(image) for _ in range(40)], range(10_000), n_jobs=4)
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals are others there")
def test_a_program_that_is_interrupted_does_not_abort():
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (130, "")
