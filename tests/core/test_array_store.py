"""A store of arrays gives back what was stored or nothing, whatever happens to its files."""

import os
import sqlite3
import threading

import numpy as np
import pytest

from invariance._core import array_store
from invariance._core.array_store import ArrayStore
from tests.core.cache_kills import key_of, kill_writers

ARRAYS = [
    np.arange(600, dtype=np.uint8).reshape(20, 30),
    np.random.default_rng(0).standard_normal((7, 1)).astype(np.float32),
    np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    np.empty((0, 128), np.uint8),
]


@pytest.fixture
def store(tmp_path):
    opened = ArrayStore(tmp_path / "cache", 1_000_000)
    yield opened
    opened.close()


def file_of(store, number):
    return store.folder / key_of(number)[:2] / f"{key_of(number)}.npy"


def test_what_is_stored_is_given_back_bit_for_bit_to_another_process(store):
    for number, array in enumerate(ARRAYS):
        store.put(key_of(number), array, seconds=number)
    other = ArrayStore(store.folder, store.max_bytes)
    for number, array in enumerate(ARRAYS):
        for found in (store.get(key_of(number)), other.get(key_of(number))):
            np.testing.assert_array_equal(found.array, array)
            assert found.array.dtype == array.dtype
            assert found.seconds == number
        np.testing.assert_array_equal(np.load(file_of(store, number), allow_pickle=False), array)
    assert other.get(key_of(9)) is None
    other.close()


def damage_byte(path):
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    "damage",
    [
        damage_byte,
        lambda path: path.write_bytes(path.read_bytes()[:-7]),
        lambda path: path.write_bytes(b""),
        lambda path: path.unlink(),
        lambda path: (path.unlink(), path.mkdir()),
    ],
    ids=["a bit flipped", "cut off", "empty", "gone", "a folder"],
)
def test_a_damaged_file_is_as_if_it_were_not_there(store, damage):
    store.put(key_of(0), ARRAYS[0])
    damage(file_of(store, 0))
    assert store.get(key_of(0)) is None
    assert store.usage().n_arrays == 0
    if not file_of(store, 0).is_dir():
        store.put(key_of(0), ARRAYS[0])
        np.testing.assert_array_equal(store.get(key_of(0)).array, ARRAYS[0])


@pytest.mark.parametrize("is_open", [True, False], ids=["open", "closed"])
def test_a_damaged_index_is_begun_anew(store, is_open):
    store.put(key_of(0), ARRAYS[0])
    if not is_open:
        store.close()
        (store.folder / array_store.INDEX).write_bytes(b"no database" * 1000)
    else:
        with sqlite3.connect(store.folder / array_store.INDEX) as index:
            index.execute("DROP TABLE entries")
        store.close()
    assert store.get(key_of(0)) is None
    store.put(key_of(1), ARRAYS[1])
    np.testing.assert_array_equal(store.get(key_of(1)).array, ARRAYS[1])


def test_the_arrays_used_last_stay_within_the_bound(store, monkeypatch):
    monkeypatch.setattr(array_store, "REFRESH_SECONDS", 0)
    for number in range(40):
        store.put(key_of(number), np.full(50_000, number, np.uint8))
        assert store.get(key_of(0)).array[0] == 0  # used each time
        on_disk = sum(path.stat().st_size for path in store.folder.rglob("*.npy"))
        assert on_disk == store.usage().n_bytes <= store.max_bytes
    found = [number for number in range(40) if store.get(key_of(number)) is not None]
    assert found == [0, *range(40 - len(found) + 1, 40)]
    assert len(found) > 15
    store.put(key_of(99), np.zeros(900_000, np.uint8))
    assert store.get(key_of(99)) is None  # it would have removed nearly all others


def test_clearing_removes_arrays_and_nothing_else(store):
    for number, array in enumerate(ARRAYS):
        store.put(key_of(number), array)
    others = [store.folder / "thesis.npy", file_of(store, 0).parent / "thesis.npy", store.folder / "ab" / "notes"]
    for other in others:
        other.parent.mkdir(exist_ok=True)
        other.write_text("somebody's own")
    stranger = file_of(store, 7)  # as of a process that was killed before its row was written
    stranger.parent.mkdir(exist_ok=True)
    stranger.write_bytes(b"half of it")
    store.clear()
    assert store.usage() == (0, 0)
    assert sorted(store.folder.rglob("*.npy")) == sorted(others[:2])
    assert all(other.exists() for other in others)


@pytest.mark.parametrize("kind", ["a file", "a folder that cannot be written"])
def test_a_place_that_cannot_be_used_is_not_used(tmp_path, kind):
    if kind == "a file":
        (tmp_path / "place").write_text("somebody's own")
        folder = tmp_path / "place" / "cache"
    else:
        if os.geteuid() == 0:
            folder = tmp_path / "proc"
            folder.symlink_to("/proc/self/nowhere")  # the superuser can write everywhere else
        else:
            (tmp_path / "place").mkdir(mode=0o500)
            folder = tmp_path / "place"
    store = ArrayStore(folder, 10**6)
    store.put(key_of(0), ARRAYS[0])
    assert store.get(key_of(0)) is None
    assert store.usage() == (0, 0)
    store.clear()


def test_a_full_disk_stores_nothing(store, monkeypatch):
    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(array_store.Path, "write_bytes", refuse)
    store.put(key_of(0), ARRAYS[0])
    assert store.get(key_of(0)) is None
    assert list(store.folder.rglob("*.npy")) == []


def test_threads_share_a_store(store):
    def work(number):
        for _ in range(5):
            store.put(key_of(number % 4), np.full(1000, number % 4))
            found = store.get(key_of(number % 4))
            wrong.append(found is None or (found.array != number % 4).any())

    wrong = []
    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(wrong) == 40
    assert not any(wrong)


@pytest.mark.skipif(os.name != "posix", reason="signals are others there")
def test_what_killed_processes_leave_is_right(tmp_path):
    n_read, n_wrong = kill_writers(tmp_path / "cache", 6, seed=0)
    assert n_read > 10
    assert n_wrong == 0
