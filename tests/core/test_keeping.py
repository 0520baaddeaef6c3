"""What is kept is found by contents and settings, in memory and by the next process; variables say where."""

import numpy as np
import pytest

from invariance._core import keeping
from invariance._core.caching import ArrayCache
from invariance._core.keeping import keep, key_of, saved_seconds, shared_store

CONTENT = np.arange(12.0).reshape(3, 4)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder of its own, and nothing in memory."""
    monkeypatch.setenv("INVARIANCE_CACHE", str(tmp_path / "kept"))
    monkeypatch.setattr(keeping, "_memory", ArrayCache(10**6))
    return tmp_path / "kept"


def forget_memory(monkeypatch):
    """As in the next process."""
    monkeypatch.setattr(keeping, "_memory", ArrayCache(10**6))


def test_the_same_contents_are_computed_once(place, monkeypatch):
    calls = []
    make = lambda: calls.append(1) or np.float32([1.5, 2.5])  # noqa: E731
    before = saved_seconds()
    for _ in range(2):
        np.testing.assert_array_equal(keep("doubled", CONTENT.copy(), make), [1.5, 2.5])
    in_memory = saved_seconds()
    assert in_memory > before
    forget_memory(monkeypatch)
    np.testing.assert_array_equal(keep("doubled", CONTENT, make), [1.5, 2.5])
    assert saved_seconds() > in_memory
    assert len(calls) == 1
    keep("tripled", CONTENT, make)
    assert len(calls) == 2


def test_another_shape_dtype_or_value_is_another_content():
    others = [CONTENT.reshape(4, 3), CONTENT.astype(np.float32), CONTENT + (CONTENT == 3), CONTENT.view(np.int64)]
    keys = {key_of("kind", content) for content in [CONTENT, *others]} | {key_of("other", CONTENT)}
    assert len(keys) == 6
    assert key_of("kind", np.asfortranarray(CONTENT)) == key_of("kind", CONTENT)


def test_what_is_seen_once_is_looked_for_and_not_kept(place):
    calls = []
    make = lambda: calls.append(1) or np.zeros(3)  # noqa: E731
    for _ in range(2):
        keep("kind", CONTENT, make, is_new=False)
    assert len(calls) == 2
    assert shared_store().usage().n_arrays == 0
    keep("kind", CONTENT, make)
    keep("kind", CONTENT, make, is_new=False)
    assert len(calls) == 3


@pytest.mark.parametrize("value", ["", "0"])
def test_no_store_is_used_where_none_is_wanted(place, monkeypatch, value):
    monkeypatch.setenv("INVARIANCE_CACHE", value)
    assert shared_store() is None
    assert keep("kind", CONTENT, lambda: np.ones(2))[0] == 1
    assert not place.exists()


def test_a_wrong_bound_is_named(place, monkeypatch):
    monkeypatch.setenv("INVARIANCE_CACHE_BYTES", "2 GB")
    with pytest.raises(ValueError, match="INVARIANCE_CACHE_BYTES must be a number of bytes.*got '2 GB'"):
        shared_store()
    monkeypatch.setenv("INVARIANCE_CACHE_BYTES", "5000")
    assert shared_store().max_bytes == 5000
