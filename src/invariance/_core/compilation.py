"""Compiled loops, kept on disk where a folder for them can be written, and compiled anew in every process otherwise."""

import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numba
from numba.core.caching import FunctionCache


class CompiledCodeWarning(UserWarning):
    """Compiled code cannot be kept on disk, so that every process compiles it again."""


def compiled(function: Callable | None = None, **options: Any) -> Any:
    """Compile a function that releases the GIL: the one decorator of every `_jit.py`.

    numba's ``njit(cache=True)`` raises where neither the folder of the source file nor that of the user can be written,
    as in a read-only installation without a home, and where the disk is full. Here it is a warning, once per process.

    An array that is assigned to a part of another, as in ``a[:] = b``, takes seconds to compile, for the text of an
    error about shapes; a loop or `_jit.copy_values` does not. A single value, as in ``a[:] = 0``, is harmless.

    Parameters
    ----------
    function : callable
        The function, if the decorator is used without options.
    **options
        Further options of `numba.njit`.

    Returns
    -------
    numba dispatcher
    """
    if function is None:
        return lambda decorated: compiled(decorated, **options)
    dispatcher = numba.njit(nogil=True, **options)(function)
    try:
        dispatcher._cache = _OptionalCache(function)  # what `enable_caching` does with numba's own class
    except RuntimeError as error:  # "cannot cache function ...: no locator available"
        _warn_once(str(error))
    return dispatcher


class _OptionalCache(FunctionCache):
    """numba's cache of one function, whose files may be unreadable, and need not be written."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            _warn_once(str(error))
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            _warn_once(str(error))


_warned = False


def _warn_once(reason: str) -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            f"compiled code cannot be kept on disk, so that every start compiles it again, which takes seconds "
            f"({reason}). Set NUMBA_CACHE_DIR to a folder that can be written.",
            CompiledCodeWarning,
            stacklevel=3,
        )
