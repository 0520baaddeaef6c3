"""Arrays that are computed once and kept, as many as fit: features of tiles, and predicted maps.

Unlike `_core.caching.ArrayCache`, an array is never computed by two threads at a time, and some keys are preferred: the
tiles around strokes stay longer than those that were only looked at.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Condition

import numpy as np


class TileStore:
    """Keeps the arrays that were used last, within a number of bytes; it is thread-safe.

    Parameters
    ----------
    max_bytes : int
        What all kept arrays take together at most. An array larger than that is returned but not kept.
    """

    def __init__(self, max_bytes: int):
        self.max_bytes = max_bytes
        self._arrays: OrderedDict[Hashable, np.ndarray] = OrderedDict()
        self._nbytes = 0
        self._in_work: set[Hashable] = set()
        self._preferred: set[Hashable] = set()
        self._changed = Condition()

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that are kept."""
        return self._nbytes

    def get(self, key: Hashable, make: Callable[[], np.ndarray]) -> np.ndarray:
        """Return the array of a key; if it is not kept, one thread makes it while others that ask wait for it.

        Parameters
        ----------
        key : hashable
            The key.
        make : callable
            Returns the array of this key, always the same. If it raises, so does this call, and the next one tries
            again.

        Returns
        -------
        array : ndarray
            Shared and read-only.
        """
        with self._changed:
            while key in self._in_work:
                self._changed.wait()
            if key in self._arrays:
                self._arrays.move_to_end(key)
                return self._arrays[key]
            self._in_work.add(key)
        array = None
        try:
            array = make()
            array.flags.writeable = False
            return array
        finally:
            with self._changed:
                self._in_work.discard(key)
                if array is not None:
                    self._keep(key, array)
                self._changed.notify_all()

    def find(self, key: Hashable) -> np.ndarray | None:
        """Return the array of a key if it is kept, at once."""
        with self._changed:
            return self._arrays.get(key)

    def discard(self, key: Hashable) -> None:
        """Forget the array of a key."""
        with self._changed:
            self._drop(key)

    def clear(self) -> None:
        """Forget all arrays."""
        with self._changed:
            self._arrays.clear()
            self._nbytes = 0

    def prefer(self, keys: set[Hashable]) -> None:
        """Set the keys whose arrays are dropped only after all others."""
        with self._changed:
            self._preferred = set(keys)

    def _keep(self, key: Hashable, array: np.ndarray) -> None:
        if array.nbytes > self.max_bytes:
            return
        while self._nbytes + array.nbytes > self.max_bytes:
            others = (old for old in self._arrays if old not in self._preferred)
            self._drop(next(others, next(iter(self._arrays))))
        self._arrays[key] = array
        self._nbytes += array.nbytes

    def _drop(self, key: Hashable) -> None:
        array = self._arrays.pop(key, None)
        self._nbytes -= 0 if array is None else array.nbytes
