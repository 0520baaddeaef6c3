"""What `check_loaded` is made of: kinds of values that an attribute read from a file must be of.

A file may hold anything. `check_loaded` of a class states, for every attribute that its predictions read, of which kind
it must be, so that no compiled loop follows a number that it should not, no array has a shape that was not meant, and
no value overflows: a model of a file is refused, or it predicts.
"""

from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

# What a model may hold: products of two such values are finite in single precision, products of many in double.
LARGEST = 1e15
MAX_SIDE = 2**15  # pixels of an image that a model was fitted to
MAX_JOBS = 2**10


class Kind(NamedTuple):
    """A kind of value: in words, and whether a value is of it."""

    words: str
    holds: Callable[[Any], bool]


def check_values(owner: Any, **kinds: Kind) -> None:
    """Check attributes of an object.

    Parameters
    ----------
    owner : object
    **kinds : Kind
        The kind of every attribute.

    Raises
    ------
    ValueError
        If an attribute is missing, or not of its kind.
    """
    for name, kind in kinds.items():
        if not hasattr(owner, name):
            raise ValueError(f"a {type(owner).__name__} lacks {name}.")
        value = getattr(owner, name)
        try:
            is_right = bool(kind.holds(value))
        except (TypeError, ValueError, AttributeError, OverflowError, IndexError, KeyError):
            is_right = False
        if not is_right:
            raise ValueError(f"{name} of a {type(owner).__name__} must be {kind.words}; got {_shortened(value)}.")


def is_fitted(owner: Any, *names: str) -> bool:
    """Return whether an object has all of these attributes.

    Raises
    ------
    ValueError
        If it has some of them only.
    """
    missing = [name for name in names if name not in vars(owner)]
    if 0 < len(missing) < len(names):
        raise ValueError(f"a {type(owner).__name__} lacks {', '.join(missing)}.")
    return not missing


def whole(low: float = 0, high: float = LARGEST) -> Kind:
    """Whole numbers from `low` to `high`."""
    return Kind(f"a whole number from {low:g} to {high:g}", lambda value: _is_whole(value) and low <= value <= high)


def number(low: float = -LARGEST, high: float = LARGEST) -> Kind:
    """Numbers from `low` to `high`."""
    return Kind(
        f"a number from {low:g} to {high:g}",
        lambda value: isinstance(value, Real) and not isinstance(value, bool) and low <= float(value) <= high,
    )


def one_of(*choices: Any) -> Kind:
    """The listed values."""
    return Kind(
        f"one of {', '.join(map(repr, choices))}",
        lambda value: any(type(value) is type(choice) and value == choice for choice in choices),
    )


def instance(*types: type) -> Kind:
    """Objects of these classes."""
    return Kind(" or ".join(kind.__name__ for kind in types), lambda value: isinstance(value, types))


def able(*methods: str) -> Kind:
    """Objects with these methods."""
    return Kind(
        f"an object with {' and '.join(methods)}",
        lambda value: not isinstance(value, type) and all(callable(getattr(value, name, None)) for name in methods),
    )


def either(*kinds: Kind) -> Kind:
    """Values of one of these kinds."""
    return Kind(" or ".join(kind.words for kind in kinds), lambda value: any(_holds(kind, value) for kind in kinds))


def optional(kind: Kind) -> Kind:
    """Values of this kind, or None."""
    return either(one_of(None), kind)


def list_of(kind: Kind, length: int | None = None, at_least: int = 0) -> Kind:
    """Lists and tuples of values of one kind."""
    count = f"{length}" if length is not None else f"at least {at_least}"
    return Kind(
        f"a list of {count} items, each {kind.words}",
        lambda values: (
            isinstance(values, list | tuple)
            and (len(values) >= at_least if length is None else len(values) == length)
            and all(_holds(kind, value) for value in values)
        ),
    )


def array(
    shape: Sequence[int | None],
    dtype: Any = None,
    low: float = -LARGEST,
    high: float = LARGEST,
    contiguous: bool = False,
) -> Kind:
    """Arrays of numbers.

    Parameters
    ----------
    shape : sequence of int or None
        Lengths of the axes; None is any.
    dtype : dtype or None, default=None
        The dtype; None is any of floats and integers.
    low, high : float, default=-1e15 and 1e15
        Bounds of all values, which are never NaN.
    contiguous : bool, default=False
        Whether the array is C-ordered, as compiled loops are compiled for.
    """
    sides = tuple("any" if side is None else side for side in shape)
    words = f"an array of shape {sides} of {'numbers' if dtype is None else np.dtype(dtype)} from {low:g} to {high:g}"

    def holds(value: Any) -> bool:
        return (
            type(value) is np.ndarray
            and value.ndim == len(shape)
            and all(side is None or side == own for side, own in zip(shape, value.shape, strict=True))
            and (value.dtype.kind in "fiu" if dtype is None else value.dtype == np.dtype(dtype))
            and value.dtype.isnative
            and (value.size == 0 or (low <= value.min() and value.max() <= high))
            and (not contiguous or value.flags.c_contiguous)
        )

    return Kind(words, holds)


def image_arrays(n: int | None, image_shape: Sequence[int]) -> Kind:
    """Arrays of n images of a shape, float32."""
    return array((n, *image_shape), np.float32, contiguous=True)


def labels(length: int | None = None) -> Kind:
    """Arrays of at least two sorted class labels, numbers or texts."""

    def holds(value: Any) -> bool:
        return (
            type(value) is np.ndarray
            and value.ndim == 1
            and len(value) >= 1
            and (length is None or len(value) == length)
            and value.dtype.kind in "biufU"
            and value.dtype.isnative
            and (value.dtype.kind != "f" or bool(np.isfinite(value).all()))
            and bool(np.all(value[1:] > value[:-1]))
        )

    return Kind("an array of different class labels in sorted order", holds)


def image_shape(n_values: int | None = None) -> Kind:
    """Shapes (h, w) or (h, w, c) of images of `n_values` values."""

    def holds(value: Any) -> bool:
        return (
            isinstance(value, list | tuple)
            and len(value) in (2, 3)
            and all(_is_whole(side) and 1 <= side <= MAX_SIDE for side in value)
            and (len(value) == 2 or value[2] <= 4)
            and (n_values is None or int(np.prod(value)) == n_values)
        )

    return Kind("the shape of an image" if n_values is None else f"the shape of an image of {n_values} values", holds)


def anything() -> Kind:
    """Any value: one that predictions do not read."""
    return Kind("anything", lambda value: True)


FLAG = Kind("True or False", lambda value: isinstance(value, bool | np.bool_))
TEXT = Kind("a text", lambda value: isinstance(value, str))
JOBS = optional(either(whole(1, MAX_JOBS), whole(-MAX_JOBS, -1)))
SEED = optional(either(whole(0, 2**32 - 1), instance(np.random.Generator, np.random.RandomState)))
SHAPE = optional(image_shape())
N_VALUES = whole(1, 4 * MAX_SIDE**2)


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _holds(kind: Kind, value: Any) -> bool:
    try:
        return bool(kind.holds(value))
    except (TypeError, ValueError, AttributeError, OverflowError, IndexError, KeyError):
        return False


def _shortened(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype} of shape {value.shape}"
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}..."
