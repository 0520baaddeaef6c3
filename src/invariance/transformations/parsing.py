"""Transformation sets written as text, for command lines and forms: `rotations:24,shifts:2,reflections`."""

from collections.abc import Callable
from typing import Any, NamedTuple

from invariance.transformations.geometric import Elastic, Perspective, Reflections, Rotations, Scales, Shears, Shifts
from invariance.transformations.morphology import Morphology
from invariance.transformations.photometric import Brightness, Contrast, Gamma, Illumination
from invariance.transformations.sets import Identity, TransformationSet


class Word(NamedTuple):
    """A set that can be written as text: what it makes, the parameters after the word, and whether any number may."""

    make: Callable[..., TransformationSet]
    parameters: tuple[str, ...]
    example: str
    takes_any_number: bool = False

    @property
    def meaning(self) -> str:
        """What the set is, in the words of its class."""
        return (self.make.__doc__ or "").partition("\n")[0].replace("`", "")


# `Affine` (matrices) and `Custom` (functions) have no text form: they are made in Python.
WORDS = {
    "rotations": Word(Rotations, ("n", "limit"), "rotations:24"),
    "shifts": Word(Shifts, ("reach", "step"), "shifts:2"),
    "reflections": Word(Reflections, ("axis",), "reflections:both"),
    "scales": Word(Scales, ("n", "limit"), "scales:3:1.25"),
    "shears": Word(Shears, ("n", "limit", "axis"), "shears:3:10"),
    "perspective": Word(Perspective, ("n", "tilt"), "perspective:4:0.2"),
    "elastic": Word(Elastic, ("n", "strength", "smoothness"), "elastic:4:1.5"),
    "morphology": Word(Morphology, ("operations",), "morphology:erode:dilate", takes_any_number=True),
    "brightness": Word(Brightness, ("n", "limit"), "brightness:3:0.2"),
    "contrast": Word(Contrast, ("n", "limit"), "contrast:3:1.5"),
    "gamma": Word(Gamma, ("n", "limit"), "gamma:3:1.5"),
    "illumination": Word(Illumination, ("widths",), "illumination:8:16", takes_any_number=True),
    "identity": Word(Identity, (), "identity"),
}


def parse_transformations(text: str) -> TransformationSet:
    """The transformation set that a text describes; a comma multiplies sets, as `*` does.

    >>> parse_transformations("rotations:24,shifts:2")
    Rotations(n=24) * Shifts(reach=2)
    """
    first, *others = [_parse_part(part.strip()) for part in text.split(",")]
    for other in others:
        first = first * other
    return first


def _parse_part(part: str) -> TransformationSet:
    name, *values = [piece.strip() for piece in part.split(":")]
    word = WORDS.get(name.lower()) or WORDS.get(f"{name.lower()}s")
    if word is None:
        raise ValueError(f"{name!r} is not a known set of transformations. Known words: {', '.join(WORDS)}.")
    numbers = [_parse_value(value) for value in values]
    if word.takes_any_number:
        settings: dict[str, Any] = {word.parameters[0]: tuple(numbers)} if numbers else {}
    elif len(numbers) > len(word.parameters):
        allowed = f"at most {len(word.parameters)} ({', '.join(word.parameters)})" if word.parameters else "none"
        raise ValueError(f"{part!r} has {len(numbers)} values, but {name!r} takes {allowed}. Example: {word.example}.")
    else:
        settings = dict(zip(word.parameters, numbers, strict=False))
    phi = word.make(**settings)
    try:
        # A set checks its parameters when it lists its members: a wrong one is to be found here, not after an hour.
        phi.members((2, 2))
    except ValueError as error:
        raise ValueError(f"{part!r} is not a set of transformations: {error} Example: {word.example}.") from error
    return phi


def _parse_value(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
