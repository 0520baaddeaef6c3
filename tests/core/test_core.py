import io
import os
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import numpy as np
import pytest
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_info, threadpool_limits

from invariance._core import parallel, progress
from invariance._core.caching import ArrayCache
from invariance._core.checks import check_choice, check_count, check_number, check_odd
from invariance._core.files import atomic_path
from invariance._core.liblinear import liblinear_alone
from invariance._core.parallel import iterate_jobs, map_jobs, one_blas_thread
from invariance._core.progress import track
from invariance._core.randomness import make_rng, spawn_rngs


@pytest.mark.parametrize("n_jobs", [None, 1, 2, -1])
def test_map_jobs_keeps_the_order(n_jobs):
    assert map_jobs(lambda item: item**2, range(50), n_jobs) == [item**2 for item in range(50)]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_blas_is_capped_inside_for_every_number_of_jobs(n_jobs):
    np.ones((2, 2)) @ np.ones((2, 2))
    assert set().union(*map_jobs(lambda _: blas_threads(), range(4), n_jobs)) == {1}


@pytest.fixture
def two_blas_threads():
    """BLAS on two threads, on a machine with one processor too."""
    with threadpool_limits(2, user_api="blas"):
        assert blas_threads() == {2}
        yield


def blas_threads():
    # Old versions of OpenCV have a BLAS of their own, built without threads.
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    return {pool["num_threads"] for pool in pools if pool["threading_layer"] != "disabled"}


def test_blas_is_capped_until_the_last_of_overlapping_contexts_ends(two_blas_threads):
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert blas_threads() == {1}
    second.__exit__(None, None, None)
    assert blas_threads() == {2}


def test_blas_has_its_threads_again_after_maps_that_ran_at_once_or_were_forgotten(two_blas_threads):
    both_inside = threading.Barrier(2, timeout=60)

    def enter_together():
        for _ in iterate_jobs(lambda _: both_inside.wait(), range(2)):
            assert blas_threads() == {1}

    assert map_threads(enter_together, 2) == [None, None]
    forgotten = iterate_jobs(abs, range(3))
    next(forgotten)
    assert blas_threads() == {1}
    del forgotten
    assert blas_threads() == {2}


def test_libraries_found_within_a_context_are_capped_and_released_too(two_blas_threads, monkeypatch):
    with one_blas_thread():
        with threadpool_limits(2, user_api="blas"):  # as a library has it that was loaded just now
            monkeypatch.setattr(parallel._blas_limit, "_n_modules", -1)
            with one_blas_thread():
                assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == {2}


class PerThreadBlas:
    """A library whose limit is that of the calling thread, and the controller of this library alone."""

    threading_layer = "openmp"

    def __init__(self):
        self.lib_controllers = [self]
        self.limit = nullcontext
        self._own = threading.local()

    @property
    def num_threads(self):
        return getattr(self._own, "n_threads", 2)

    def set_num_threads(self, n_threads):
        self._own.n_threads = n_threads


def test_every_thread_has_its_own_limit_if_the_library_counts_per_thread(monkeypatch):
    blas, both_inside = PerThreadBlas(), threading.Barrier(2, timeout=60)
    monkeypatch.setattr(parallel._blas_limit, "_find_blas", lambda: blas)

    def enter_together():
        with one_blas_thread():
            both_inside.wait()
            inside = blas.num_threads
            both_inside.wait()
        return inside, blas.num_threads

    assert map_threads(enter_together, 2) == [(1, 2), (1, 2)]


def map_threads(function, n_threads):
    """What a function without arguments returns on several threads at once; its errors are raised."""
    with ThreadPoolExecutor(n_threads) as pool:
        return [future.result() for future in [pool.submit(function) for _ in range(n_threads)]]


def test_machines_learned_at_once_are_those_learned_alone():
    rng = np.random.default_rng(0)
    X, codes = rng.standard_normal((300, 400)), rng.integers(0, 3, 300)

    def learn():
        with liblinear_alone():
            return LinearSVC(random_state=0, max_iter=50_000).fit(X, codes).coef_

    alone = learn()
    for coefficients in map_threads(learn, 4):
        np.testing.assert_array_equal(coefficients, alone)


def test_a_cache_keeps_the_arrays_used_last_within_its_bytes():
    cache, made = ArrayCache(max_bytes=3000), []

    def ask(key, n_bytes=1000):
        return cache.get(key, lambda: made.append(key) or np.full(n_bytes, ord(key), np.uint8))

    for key in "abcadacb":
        assert ask(key)[0] == ord(key)
        assert cache.nbytes <= 3000
    assert made == ["a", "b", "c", "d", "b"]
    assert len(ask("e", 9000)) == 9000
    assert cache.nbytes == 9000
    ask("e")
    assert made[-1] == "e"
    assert made.count("e") == 1
    assert pickle.loads(pickle.dumps(cache)).nbytes == 0


def test_a_failing_job_is_not_swallowed():
    def fail_at_three(item):
        if item == 3:
            raise ValueError("three")
        return item

    with pytest.raises(ValueError, match="three"):
        list(iterate_jobs(fail_at_three, range(8), n_jobs=2))


def test_streams_do_not_depend_on_how_many_there_are():
    few, many = spawn_rngs(5, 2), spawn_rngs(5, 9)
    assert [rng.random() for rng in few] == [rng.random() for rng in many[:2]]
    assert spawn_rngs(5, 1)[0].random() != spawn_rngs(6, 1)[0].random()


def test_every_kind_of_random_state_gives_a_generator():
    assert make_rng(3).random() == make_rng(np.int64(3)).random()
    assert make_rng(np.random.RandomState(3)).random() == make_rng(np.random.RandomState(3)).random()
    generator = np.random.default_rng(0)
    assert make_rng(generator) is generator


def test_quick_work_shows_no_bar(monkeypatch):
    monkeypatch.setattr(progress, "_make_bar", lambda: pytest.fail("a bar was shown"))
    assert list(track(range(5), "quick", shown=True)) == list(range(5))


class RecordedBar:
    def __init__(self, log):
        self.log = log

    def start(self):
        self.log.append("start")

    def add_task(self, label, total, completed):
        self.log.append((label, total, completed))
        return 0

    def update(self, task, completed):
        self.log.append(completed)

    def stop(self):
        self.log.append("stop")


def test_slow_work_shows_one_bar_and_none_inside(monkeypatch):
    log = []
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", -1.0)
    monkeypatch.setattr(progress, "_make_bar", lambda: RecordedBar(log))
    for _ in track(range(3), "outer", shown=True):
        assert list(track(range(2), "inner", shown=True)) == [0, 1]
    assert log[0] == "start"
    assert log.count("start") == log.count("stop")
    labels = [entry[0] for entry in log if isinstance(entry, tuple)]
    assert labels.count("outer") == 1
    inner_after_outer = labels[labels.index("outer") + 1 :]
    assert inner_after_outer == []


def test_the_screen_is_given_back_after_an_error(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", -1.0)
    monkeypatch.setattr(progress, "_make_bar", lambda: RecordedBar([]))

    def broken():
        yield from (1, 2)
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        list(track(broken(), "broken", shown=True))
    assert progress._screen.acquire(blocking=False)
    progress._screen.release()


def test_no_bar_where_there_is_no_terminal(monkeypatch):
    monkeypatch.setattr("sys.stderr", io.StringIO())
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", -1.0)
    monkeypatch.setattr(progress, "_make_bar", lambda: pytest.fail("a bar was shown"))
    assert list(track([1, 2], "piped")) == [1, 2]


def test_without_a_terminal_lines_say_how_far_work_is(monkeypatch):
    lines = []
    monkeypatch.setattr("sys.stderr", io.StringIO())
    with progress.logging_progress(lines.append, 0.0):
        for _ in track(range(2), "outer"):
            assert list(track(iter("ab"), "inner")) == ["a", "b"]
    assert list(track([1], "after")) == [1]
    assert lines == [
        "outer: 0 of 2", "outer: 0 of 2; inner, step 1", "outer: 0 of 2; inner, step 2",
        "outer: 1 of 2", "outer: 1 of 2; inner, step 1", "outer: 1 of 2; inner, step 2",
    ]  # fmt: skip


def test_quick_work_writes_no_line(monkeypatch):
    monkeypatch.setattr("sys.stderr", io.StringIO())
    with progress.logging_progress(lambda line: pytest.fail(line), 60.0):
        assert list(track([1, 2], "quick")) == [1, 2]


def test_a_signal_right_after_the_neighbour_exists_leaves_nothing(tmp_path, monkeypatch):
    def create_and_interrupt(*arguments, create=os.open):
        os.close(create(*arguments))
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "open", create_and_interrupt)
    with pytest.raises(KeyboardInterrupt), atomic_path(tmp_path / "model.inv"):
        pass
    assert os.listdir(tmp_path) == []


def test_an_atomic_write_replaces_the_file_whole(tmp_path):
    path = tmp_path / "model.inv"
    path.write_text("old")
    with atomic_path(path) as neighbour:
        neighbour.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["model.inv"]


def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "model.inv"
    path.write_text("old")

    def write_half():
        with atomic_path(path) as neighbour:
            neighbour.write_text("half of the n")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["model.inv"]


def test_writing_into_no_folder_or_onto_a_folder_says_so(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist. Create it first"), atomic_path(tmp_path / "no" / "x"):
        pass
    with pytest.raises(IsADirectoryError, match="it is a folder. Name a file"), atomic_path(tmp_path):
        pass


def test_writers_of_one_file_do_not_mix(tmp_path):
    path = tmp_path / "shared"

    def write(letter):
        with atomic_path(path) as neighbour:
            neighbour.write_text(letter * 10_000)

    threads = [threading.Thread(target=write, args=(letter,)) for letter in "abcdef"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(path.read_text())) == 1
    assert len(path.read_text()) == 10_000


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (lambda: check_count("n", 0), "n must be a whole number of at least 1; got 0"),
        (lambda: check_count("n", True), "n must be a whole number"),
        (lambda: check_count("n", 2.0), "got 2.0"),
        (lambda: check_count("n", 9, at_most=8), "n must be at most 8; got 9"),
        (lambda: check_number("x", float("nan")), "got nan"),
        (lambda: check_number("x", "1"), "got '1'"),
        (lambda: check_number("x", 3, 0, 1), "x must be a number from 0 to 1; got 3"),
        (lambda: check_choice("w", "c", ("a", "b")), "w must be one of 'a', 'b'; got 'c'"),
        (lambda: check_odd("size", 30, "it has a middle"), "must be odd so that it has a middle; got 30. Try 31"),
    ],
)
def test_checks_name_the_parameter_and_the_value(check, message):
    with pytest.raises(ValueError, match=message):
        check()
