"""The classes of a project: their numbers, names and colours."""

import colorsys
import re
from collections.abc import Iterable
from typing import NamedTuple

MAX_NAME = 80  # characters
# The colours of Okabe and Ito, which people with any kind of colour vision tell apart, without black.
COLOURS = ("#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7")
GOLDEN_RATIO = 0.618034  # hues at its multiples are far from each other


class LabelClass(NamedTuple):
    """A class that pixels or images can have.

    Attributes
    ----------
    mode : {"pixels", "images"}
    number : int
        From 1; the value in masks.
    name : str
    colour : str
        As `#rrggbb`.
    is_hidden, is_locked : bool
        Whether the page hides its labels, and whether strokes leave its pixels as they are.
    """

    mode: str
    number: int
    name: str
    colour: str
    is_hidden: bool = False
    is_locked: bool = False

    def as_json(self) -> dict[str, object]:
        """All but the mode."""
        return {key: value for key, value in self._asdict().items() if key != "mode"}


def check_class(changed: LabelClass, others: Iterable[LabelClass]) -> None:
    """Refuse names that are empty, too long or taken, and colours that are none."""
    if not changed.name.strip() or len(changed.name) > MAX_NAME or not changed.name.isprintable():
        raise ValueError(f"a class must have a name of 1 to {MAX_NAME} characters; got {changed.name[:99]!r}.")
    if changed.name in (other.name for other in others):
        raise ValueError(f"another class has the name {changed.name!r}. Choose another one.")
    if not re.fullmatch(r"#[0-9a-fA-F]{6}", changed.colour):
        raise ValueError(f"a colour must be written as #rrggbb; got {changed.colour[:99]!r}.")


def next_colour(number: int) -> str:
    """Return the default colour of a class."""
    if number <= len(COLOURS):
        return COLOURS[number - 1]
    red, green, blue = colorsys.hsv_to_rgb(number * GOLDEN_RATIO % 1, 0.65, 0.9)
    return f"#{round(255 * red):02x}{round(255 * green):02x}{round(255 * blue):02x}"
