"""Checks of single parameters whose errors name the parameter, the value received and the cure."""

from numbers import Integral, Real
from typing import Any


def check_count(name: str, value: Any, at_least: int = 1, at_most: int | None = None) -> int:
    """Check that a parameter is a whole number within bounds.

    Parameters
    ----------
    name : str
        The parameter, for the error.
    value : object
    at_least : int, default=1
    at_most : int, default=None
        None for no upper bound.

    Returns
    -------
    value : int
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < at_least:
        raise ValueError(f"{name} must be a whole number of at least {at_least}; got {value!r}.")
    if at_most is not None and int(value) > at_most:
        raise ValueError(f"{name} must be at most {at_most}; got {value!r}.")
    return int(value)


def check_number(name: str, value: Any, low: float = float("-inf"), high: float = float("inf")) -> float:
    """Check that a parameter is a finite number within [low, high].

    Parameters
    ----------
    name : str
        The parameter, for the error.
    value : object
    low, high : float, default=-inf and inf

    Returns
    -------
    value : float
    """
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not low <= float(value) <= high or abs(float(value)) == float("inf"):
        raise ValueError(f"{name} must be a number from {low:g} to {high:g}; got {value!r}.")
    return float(value)


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """Check that a parameter is one of the listed words.

    Parameters
    ----------
    name : str
        The parameter, for the error.
    value : object
    choices : tuple of str

    Returns
    -------
    value : str
    """
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}.")
    return value


def check_odd(name: str, value: Any, why: str, at_most: int | None = None) -> int:
    """Check that a parameter is an odd whole number.

    Parameters
    ----------
    name : str
        The parameter, for the error, which proposes the next odd number.
    value : object
    why : str
        The reason, for the error.
    at_most : int, default=None
        None for no upper bound.

    Returns
    -------
    value : int
    """
    value = check_count(name, value, at_most=at_most)
    if value % 2 == 0:
        raise ValueError(f"{name} must be odd so that {why}; got {value}. Try {value + 1}.")
    return value
