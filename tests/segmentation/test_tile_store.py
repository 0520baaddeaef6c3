"""Kept arrays: within their bytes, made once, those around strokes last to go."""

import threading
import time

import numpy as np
import pytest

from invariance.segmentation.live.tile_store import TileStore


def of_bytes(n_bytes):
    return lambda: np.zeros(n_bytes, np.uint8)


def test_the_bound_holds_for_any_sequence():
    rng, store = np.random.default_rng(0), TileStore(1000)
    for _ in range(500):
        key, size = int(rng.integers(20)), int(rng.integers(1, 1200))
        assert store.get((key, size), of_bytes(size)).nbytes == size
        if rng.random() < 0.1:
            store.prefer({(key, size)})
        if rng.random() < 0.1:
            store.discard((key, size))
        assert store.nbytes <= 1000
        assert store.nbytes == sum(array.nbytes for array in store._arrays.values())


def test_what_was_used_last_stays():
    store = TileStore(3)
    for key in "abc":
        store.get(key, of_bytes(1))
    store.get("a", of_bytes(1))
    store.get("d", of_bytes(1))
    assert [key for key in "abcd" if store.find(key) is not None] == ["a", "c", "d"]


def test_preferred_arrays_go_last():
    store = TileStore(3)
    store.prefer({"a"})
    for key in "abcde":
        store.get(key, of_bytes(1))
    assert [key for key in "abcde" if store.find(key) is not None] == ["a", "d", "e"]
    store.prefer(set("ade"))
    store.get("f", of_bytes(1))
    assert store.find("f") is not None


def test_arrays_are_shared_and_read_only():
    store = TileStore(100)
    first = store.get("a", of_bytes(5))
    assert store.get("a", of_bytes(6)) is first
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 1


def test_no_array_is_made_twice_at_a_time():
    store, made, together = TileStore(10_000), [], threading.Barrier(8)

    def make(key):
        made.append(key)
        time.sleep(0.02)
        return np.full(3, key)

    def ask(results):
        together.wait()
        for key in range(5):
            results.append(store.get(key, lambda: make(key)))  # noqa: B023

    results = [[] for _ in range(8)]
    threads = [threading.Thread(target=ask, args=(own,)) for own in results]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(made) == [0, 1, 2, 3, 4]
    assert all([array[0] for array in own] == [0, 1, 2, 3, 4] for own in results)


def test_a_failure_reaches_the_caller_and_the_next_call_tries_again():
    store = TileStore(100)

    def fail():
        raise OSError("disk")

    with pytest.raises(OSError, match="disk"):
        store.get("a", fail)
    assert store.get("a", of_bytes(2)).nbytes == 2
