"""Linear support vector machines that are the same whatever other threads learn meanwhile.

liblinear draws the order of its steps from one generator per process and releases the GIL while it learns: fits that
overlap draw from each other's stream, whatever their `random_state`. libsvm, which `SVC` uses, draws only for
`probability=True` and for its own cross-validation.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

_generator = RLock()


def _renew_lock() -> None:
    global _generator
    _generator = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)  # another thread may have held it


@contextmanager
def liblinear_alone() -> Iterator[None]:
    """Return a context in which no other thread learns by liblinear, for every `LinearSVC.fit` of the library."""
    with _generator:
        yield
