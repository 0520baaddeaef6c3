"""A cache bounded by the bytes of its arrays."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock

import numpy as np


class ArrayCache:
    """Keeps the arrays that were used last, as many as fit; the one used last is kept however large it is.

    Parameters
    ----------
    max_bytes : int
        What all arrays together may take.
    """

    def __init__(self, max_bytes: int):
        self.max_bytes = max_bytes
        self._arrays: OrderedDict[Hashable, np.ndarray] = OrderedDict()
        self._n_bytes = 0
        self._lock = Lock()

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that are kept."""
        with self._lock:
            return self._n_bytes

    def find(self, key: Hashable) -> np.ndarray | None:
        """Return the array of a key if it is kept; do not write into it."""
        with self._lock:
            if key in self._arrays:
                self._arrays.move_to_end(key)
            return self._arrays.get(key)

    def get(self, key: Hashable, make: Callable[[], np.ndarray]) -> np.ndarray:
        """Return the array of a key; it is made if it is not kept, by several threads at once if they ask at once.

        Parameters
        ----------
        key : hashable
        make : callable
            Returns the array of this key, always the same.

        Returns
        -------
        ndarray
            Shared: do not write into it.
        """
        with self._lock:
            array = self._arrays.get(key)
        if array is None:
            array = make()
        with self._lock:
            before = self._arrays.pop(key, None)
            self._arrays[key] = array
            self._n_bytes += array.nbytes - (0 if before is None else before.nbytes)
            while len(self._arrays) > 1 and self._n_bytes > self.max_bytes:
                self._n_bytes -= self._arrays.popitem(last=False)[1].nbytes
        return array

    def __getstate__(self) -> dict:
        """Copy and pickle the bound alone: what is kept can be made again."""
        return {"max_bytes": self.max_bytes}

    def __setstate__(self, state: dict) -> None:
        self.__init__(**state)  # type: ignore[misc]
