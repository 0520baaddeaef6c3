"""What was computed before of the same contents is not computed again: kept in memory, and in a folder for later.

Descriptions of images by descriptors and by networks are asked for again and again: by folds, by methods, by the final
fit, by the next command. What is kept is what was computed, bit for bit.
"""

import atexit
import hashlib
import os
import time
from collections.abc import Callable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from threading import Lock

import numpy as np

from invariance._core.array_store import ArrayStore
from invariance._core.caching import ArrayCache
from invariance._version import __version__

MEMORY_BYTES = 256 * 2**20
STORE_BYTES = 2 * 2**30
PLACE, BOUND = "INVARIANCE_CACHE", "INVARIANCE_CACHE_BYTES"  # variables of the environment
# Libraries whose other version may round differently.
LIBRARIES = ("numpy", "scipy", "numba", "opencv-python-headless", "onnxruntime")

_memory = ArrayCache(MEMORY_BYTES)


class _Saved:
    """Seconds that were not spent because something was kept."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.seconds, self.of_kind = 0.0, dict[str, float]()

    def note(self, kind: str, seconds: float | None, is_saved: bool) -> None:
        """Note what making something of a kind took, None if it is not known, and whether this was saved."""
        with self.lock:
            if seconds is not None:
                self.of_kind[kind] = seconds
            if is_saved:
                self.seconds += self.of_kind.get(kind, 0.0)


_saved = _Saved()


def keep(kind: str, content: np.ndarray, make: Callable[[], np.ndarray], is_new: bool = True) -> np.ndarray:
    """Return what is kept of some contents; it is made if it is not kept.

    Parameters
    ----------
    kind : str
        All that the result depends on besides the contents: what is computed, with which settings, and its version.
    content : ndarray
        Compared by shape, dtype and values.
    make : callable
        Returns an array of numbers, always the same.
    is_new : bool, default=True
        Whether what is made is kept. Without it is only looked for, which suits images that are seen once.

    Returns
    -------
    ndarray
        Shared: do not write into it.
    """
    key = key_of(kind, content)
    found = _memory.find(key)
    if found is not None:
        _saved.note(kind, None, is_saved=True)
        return found
    store = shared_store()
    stored = None if store is None else store.get(key)
    if stored is None:
        started = time.perf_counter()
        array = np.asarray(make(), order="C")  # as it is read again
        seconds = time.perf_counter() - started
        _saved.note(kind, seconds, is_saved=False)
        if store is not None and is_new:
            store.put(key, array, seconds)
    else:
        array = stored.array
        _saved.note(kind, stored.seconds, is_saved=True)
    return _memory.get(key, lambda: array) if is_new else array


def saved_seconds() -> float:
    """Seconds of computing that were saved so far, to add where a time without is wanted."""
    return _saved.seconds


def key_of(kind: str, content: np.ndarray) -> str:
    """The name, 64 hexadecimal digits, of what is computed of some contents."""
    content = np.ascontiguousarray(content)
    digest = hashlib.sha256(repr((_versions(), kind, content.shape, content.dtype.str)).encode())
    digest.update(content.data)
    return digest.hexdigest()


def shared_store() -> ArrayStore | None:
    """The store of the place that the environment names, or of the user; None if none is wanted."""
    place = store_folder()
    return None if place is None else _open_store(place, store_bytes())


def store_folder() -> Path | None:
    """The folder of the store; None if INVARIANCE_CACHE is 0 or empty."""
    named = os.environ.get(PLACE)
    if named is not None:
        return None if named in ("", "0") else Path(named).expanduser()
    return _user_folder()


def store_bytes() -> int:
    """What the store may take: INVARIANCE_CACHE_BYTES, or 2 GB."""
    named = os.environ.get(BOUND)
    if named is None:
        return STORE_BYTES
    if not named.isdecimal():
        raise ValueError(f"{BOUND} must be a number of bytes, such as {STORE_BYTES}; got '{named}'.")
    return int(named)


@cache
def _user_folder() -> Path:
    import pooch

    return Path(pooch.os_cache("invariance")) / "descriptions"


@cache
def _open_store(folder: Path, max_bytes: int) -> ArrayStore:
    store = ArrayStore(folder, max_bytes)
    atexit.register(store.close)
    return store


@cache
def _versions() -> tuple[str, ...]:
    return __version__, *map(_version, LIBRARIES)


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return ""
