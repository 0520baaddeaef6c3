"""Transformation sets written as text, for command lines and forms: `rotations:24,shifts:2,reflections`.

Every set declares its word and the parameters that follow it as `text_form` in its own file. The text says nothing
about borders, so both directions take the border as an argument.
"""

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np

import invariance.transformations as package
from invariance.transformations.sets import TransformationSet, factors_of, split_normalizing, with_border


def _public_sets() -> Iterator[type[TransformationSet]]:
    """Yield the transformation sets among the public names of the package."""
    for name in package.__all__:
        thing = getattr(package, name)
        if isinstance(thing, type) and issubclass(thing, TransformationSet):
            yield thing


# `Affine` (matrices) and `Custom` (functions) have no text form: they are made in Python.
WORDS: dict[str, type[TransformationSet]] = {
    kind.text_form.word: kind for kind in _public_sets() if kind.text_form.word
}


def describe_word(word: str) -> str:
    """Describe the set behind a word of `WORDS` in one sentence: the summary of its class."""
    return (WORDS[word].__doc__ or "").partition("\n")[0].replace("`", "")


def parse_transformations(text: str, border: str | None = None) -> TransformationSet:
    """Build the transformation set that a text describes.

    Parameters
    ----------
    text : str
        Words of `WORDS`, each followed by its parameters after colons. A comma multiplies sets, as `*` does.
    border : {"zero", "edge", "reflect", "wrap"}, default=None
        Border of all parts that look beyond the image; None keeps the default of each set.

    Returns
    -------
    phi : TransformationSet

    See Also
    --------
    format_transformations : The inverse.

    Examples
    --------
    >>> parse_transformations("rotations:24,shifts:2")
    Rotations(n=24) * Shifts(reach=2)
    """
    phi, *factors = [_parse_part(part.strip()) for part in text.split(",")]
    for factor in factors:
        phi = phi * factor
    split_normalizing(phi)  # raises an error if images would be normalized twice
    return phi if border is None else with_border(phi, border)


def format_transformations(phi: TransformationSet, border: str | None = None) -> str:
    """Write a transformation set as the shortest text from which `parse_transformations` builds it again.

    Parameters
    ----------
    phi : TransformationSet
    border : {"zero", "edge", "reflect", "wrap"}, default=None
        The border that `parse_transformations` will be given.

    Returns
    -------
    text : str
        The text, or `repr(phi)` if no text describes the set: a union, a closure, a sample, or a parameter that
        cannot be written.

    Examples
    --------
    >>> from invariance import Rotations, Shifts
    >>> format_transformations(Rotations(5, limit=15.0) * Shifts(2))
    'rotations:5:15,shifts:2'
    >>> format_transformations(Rotations(4) | Shifts(2))
    'Rotations(n=4) | Shifts(reach=2)'
    """
    try:
        text = ",".join(_format_part(factor) for factor in factors_of(phi))
        found = parse_transformations(text, border)
    except (TypeError, ValueError):  # no word, or parameters that are refused
        return repr(phi)
    return text if list(map(_identify, factors_of(found))) == list(map(_identify, factors_of(phi))) else repr(phi)


def _parse_part(part: str) -> TransformationSet:
    """Build one factor from its word and values."""
    name, *pieces = [piece.strip() for piece in part.split(":")]
    kind = WORDS.get(name.lower()) or WORDS.get(f"{name.lower()}s")
    if kind is None:
        raise ValueError(f"{name!r} is not a known set of transformations. Known words: {', '.join(WORDS)}.")
    form, values = kind.text_form, [_parse_value(piece) for piece in pieces]
    if form.takes_any_number:
        settings: dict[str, Any] = {form.parameters[0]: tuple(values)} if values else {}
    elif len(values) > len(form.parameters):
        allowed = f"at most {len(form.parameters)} ({', '.join(form.parameters)})" if form.parameters else "none"
        cure = f"Example: {form.example}. {form.hint}".rstrip()
        raise ValueError(f"{part!r} has {len(values)} values, but {name!r} takes {allowed}. {cure}")
    else:
        settings = dict(zip(form.parameters, values, strict=False))
    phi = kind(**settings)
    try:
        # A set checks its parameters when it lists its members: a wrong one must be found here, not after an hour.
        phi.members((2, 2))
    except ValueError as error:
        raise ValueError(f"{part!r} is not a set of transformations: {error} Example: {form.example}.") from error
    return phi


def _parse_value(text: str) -> int | float | str:
    """Read a value as a whole number, else as a number, else as a word."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _format_part(phi: TransformationSet) -> str:
    """Write the word of a set and its values, without defaults at the end."""
    form, defaults = phi.text_form, inspect.signature(type(phi)).parameters
    values = [_plain(getattr(phi, name)) for name in form.parameters]
    while values and values[-1] == defaults[form.parameters[len(values) - 1]].default:
        values.pop()
    if form.takes_any_number and values:
        values = list(values[0])
    return ":".join([form.word, *map(_format_value, values)])


def _format_value(value: Any) -> str:
    """Write a number as briefly as Python reads it back exactly, without ".0"."""
    return str(float(value)).removesuffix(".0") if isinstance(value, float) else str(value)


def _identify(phi: TransformationSet) -> tuple:
    """Return what two equal simple sets have in common: their class and their parameters."""
    return type(phi), {name: _plain(value) for name, value in phi.get_params(deep=False).items()}


def _plain(value: Any) -> Any:
    """Turn a list or array into a tuple, as `parse_transformations` builds it."""
    return tuple(np.asarray(value).tolist()) if isinstance(value, list | np.ndarray) else value
