"""Features that were computed before, by the contents of the image: folds, methods and the final fit ask again."""

import time
from collections.abc import Callable, Hashable
from threading import Lock

import numpy as np

from invariance._core.caching import ArrayCache

CACHE_BYTES = 256 * 2**20  # 50,000 vectors of 1280 values
_kept = ArrayCache(CACHE_BYTES)


class _Saved:
    """Seconds that were not spent because features were kept."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.spent, self.n_made, self.saved = 0.0, 0, 0.0

    def note(self, seconds: float | None) -> None:
        """Note the seconds that making features took, or None if they were kept."""
        with self.lock:
            if seconds is None:
                self.saved += self.spent / max(self.n_made, 1)
            else:
                self.spent, self.n_made = self.spent + seconds, self.n_made + 1


_times = _Saved()


def keep(key: Hashable, make: Callable[[], np.ndarray]) -> np.ndarray:
    """Return the features of a key; they are made if they are not kept."""
    took: list[float] = []

    def timed() -> np.ndarray:
        started = time.perf_counter()
        made = make()
        took.append(time.perf_counter() - started)
        return made

    found = _kept.get(key, timed)
    _times.note(took[0] if took else None)
    return found


def saved_seconds() -> float:
    """Seconds of computing that kept features have saved so far, to add where a time without them is wanted."""
    return _times.saved
