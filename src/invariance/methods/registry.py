"""The methods there are: those of this library and of any installed package, by entry points.

A package adds a method by naming a subclass of `Method` in the entry-point group `invariance.methods`. The names are
known without importing anything, so that `--help` stays fast.
"""

from functools import cache
from typing import TYPE_CHECKING

from invariance._core.entry_points import EntryPoint, find_entry_points

if TYPE_CHECKING:
    from invariance.methods.method import Method

GROUP = "invariance.methods"
_registered: "dict[str, Method]" = {}


def method_names() -> tuple[str, ...]:
    """Return the names of all methods in alphabetical order."""
    return tuple(sorted({*_entry_points(), *_registered}))


def get_method(name: str) -> "Method":
    """Return the method of this name.

    Raises
    ------
    ValueError
        If there is none.
    """
    from invariance._core.checks import check_choice

    check_choice("method", name, method_names())
    return _registered[name] if name in _registered else _load(_entry_points()[name])


def get_methods() -> "list[Method]":
    """Return all methods, those with the lowest `rank` first."""
    return sorted(map(get_method, method_names()), key=lambda method: (method.rank, method.name))


def get_combining_method() -> "Method":
    """Return the first method that combines all others."""
    return next(method for method in get_methods() if method.combines)


def register(method: "type[Method] | Method") -> "type[Method] | Method":
    """Add a method for this process; usable as a decorator of a subclass of `Method`."""
    made = _as_method(method, repr(method))
    _registered[made.name] = made
    return method


def _entry_points() -> dict[str, EntryPoint]:
    found = find_entry_points(GROUP)
    if not found:
        raise ImportError("no methods are registered: the package is not installed. Run `pip install .` in its folder.")
    return found


@cache
def _load(point: EntryPoint) -> "Method":
    try:
        method = _as_method(point.load(), point.value)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"method '{point.name}' cannot be loaded from {point.value}: {error}") from error
    if method.name != point.name:
        raise ValueError(f"method '{point.name}' of {point.value} calls itself '{method.name}'. Give both one name.")
    return method


def _as_method(method: object, origin: str) -> "Method":
    from invariance.methods.method import Method

    made = method() if isinstance(method, type) else method
    if not isinstance(made, Method):
        raise ValueError(f"{origin} is not an invariance.methods.Method but a {type(made).__name__}.")
    return made
