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
        self._lock = Lock()

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that are kept."""
        with self._lock:
            return self._sum()

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
            self._arrays[key] = array
            self._arrays.move_to_end(key)
            while len(self._arrays) > 1 and self._sum() > self.max_bytes:
                self._arrays.popitem(last=False)
        return array

    def _sum(self) -> int:
        return sum(array.nbytes for array in self._arrays.values())

    def __getstate__(self) -> dict:
        """Copy and pickle the bound alone: what is kept can be made again."""
        return {"max_bytes": self.max_bytes}

    def __setstate__(self, state: dict) -> None:
        self.__init__(**state)  # type: ignore[misc]
