"""The requests of the page: parsed and bounded. Whatever does not fit is refused with a sentence.

A request is a JSON object with `id`, `do` and the fields of one of the tables below.
"""

import json
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from invariance.studio.classes import MAX_NAME

MAX_BYTES = 2**20
MAX_NUMBERS = 20_000  # coordinates of one stroke
MAX_IMAGES = 100_000  # in one request
MAX_COORDINATE = 10_000_000.0
MAX_RADIUS = 500.0
MAX_VIEW_SIDE = 8192  # predicted pixels per side
MAX_STEP = 1024
MAX_STROKE_ID = 40  # characters; a UUID has 36
MAX_JSON = 20_000  # characters of a setting or of the fields of a job
MODES, LAYERS, TOOLS = ("pixels", "images"), ("labels", "final"), ("brush", "fill")
SWITCHES = ("rotations", "reflections", "scales", "light")

# Returns a checked value; raises ValueError with what it must be.
Check = Callable[[Any], Any]


class MessageError(ValueError):
    """A request that is refused before anything is done."""

    def __init__(self, text: str, number: int | None = None):
        super().__init__(text)
        self.number = number


class Field(NamedTuple):
    """How a field is checked, and what it is if it is left out."""

    check: Check
    is_optional: bool = False
    default: Any = None


class Request(NamedTuple):
    """A request.

    Attributes
    ----------
    number : int
        Its `id`, for the reply.
    do : str
    fields : dict
        Checked; optional ones that were left out are None.
    """

    number: int
    do: str
    fields: dict[str, Any]


def parse_request(text: str) -> Request:
    """Parse a request; raise `MessageError` if it is none."""
    if len(text) > MAX_BYTES:
        raise MessageError(f"a message can have {MAX_BYTES:,} characters; got {len(text):,}.")
    try:
        message = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise MessageError(f"a message must be JSON ({str(error)[:99]}).") from None
    if not isinstance(message, dict):
        raise MessageError("a message must be a JSON object.")
    number = message.pop("id", None)
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 2**53:
        raise MessageError("a message must have an id, a whole number.")
    do = message.pop("do", None)
    if not isinstance(do, str) or do not in REQUESTS:
        raise MessageError(f"there is no request {str(do)[:40]!r}. Reload the page.", number)
    if do in OPEN_REQUESTS:
        return Request(number, do, _check_open(do, message, number))
    fields = REQUESTS[do]
    unknown = sorted(message.keys() - fields.keys())
    if unknown:
        raise MessageError(f"{do} has no field {unknown[0][:40]!r}.", number)
    checked = {name: _check_field(do, name, field, message, number) for name, field in fields.items()}
    return Request(number, do, checked)


def _check_field(do: str, name: str, field: Field, message: dict[str, Any], number: int) -> Any:
    value = message.get(name)
    if value is None:
        if field.is_optional:
            return field.default
        raise MessageError(f"{do} needs the field {name!r}.", number)
    try:
        return field.check(value)
    except ValueError as error:
        raise MessageError(f"{name!r} of {do} must be {error}; got {_shorten(value)}.", number) from None


def _check_open(do: str, message: dict[str, Any], number: int) -> dict[str, Any]:
    """Check the fields of a request whose names are not known here: small, and not deeply nested."""
    if len(json.dumps(message)) > MAX_JSON or not all(len(name) <= 40 for name in message):
        raise MessageError(f"{do} can have {MAX_JSON:,} characters.", number)
    known = REQUESTS[do]
    return message | {name: _check_field(do, name, field, message, number) for name, field in known.items()}


def _shorten(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number of JSON")


# ------------------------------------------------------------ checks


def integer(low: int, high: int) -> Check:
    """Accept whole numbers from `low` to `high`."""

    def check(value: Any) -> int:
        if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
            value = int(value)  # JavaScript has one kind of numbers
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError(f"a whole number from {low} to {high}")
        return value

    return check


def number(low: float, high: float) -> Check:
    """Accept finite numbers from `low` to `high`."""

    def check(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise ValueError(f"a number from {low:g} to {high:g}")
        return float(value)

    return check


def choice(*options: str) -> Check:
    """Accept one of some words."""

    def check(value: Any) -> str:
        if not isinstance(value, str) or value not in options:
            raise ValueError(" or ".join(options))
        return value

    return check


def text(max_length: int) -> Check:
    """Accept text."""

    def check(value: Any) -> str:
        if not isinstance(value, str) or len(value) > max_length:
            raise ValueError(f"text of at most {max_length} characters")
        return value

    return check


def flag(value: Any) -> bool:
    """Accept true and false."""
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def points(value: Any) -> np.ndarray:
    """Accept a list of rows and columns, alternating; return them as (n, 2)."""
    if not isinstance(value, list) or not 2 <= len(value) <= MAX_NUMBERS or len(value) % 2:
        raise ValueError(f"a list of 2 to {MAX_NUMBERS:,} numbers, rows and columns")
    if not all(type(part) in (int, float) and abs(part) <= MAX_COORDINATE for part in value):
        raise ValueError("finite numbers of pixels")
    return np.array(value, np.float64).reshape(-1, 2)


def ids(value: Any) -> list[int]:
    """Accept a list of image ids."""
    check = integer(1, 2**53)
    if not isinstance(value, list) or len(value) > MAX_IMAGES:
        raise ValueError(f"a list of at most {MAX_IMAGES:,} images")
    return list(dict.fromkeys(check(part) for part in value))


def power_of_two(value: Any) -> int:
    """Accept 1, 2, 4 and so on."""
    step = integer(1, MAX_STEP)(value)
    if step & (step - 1):
        raise ValueError(f"a power of two up to {MAX_STEP}")
    return step


def switches(value: Any) -> list[str]:
    """Accept a list of what does not matter."""
    if not isinstance(value, list) or not all(isinstance(part, str) and part in SWITCHES for part in value):
        raise ValueError(f"a list of {', '.join(SWITCHES)}")
    return [name for name in SWITCHES if name in value]


def certainty(value: Any) -> float:
    """Accept a probability."""
    checked = number(0, 1)(value)
    if not math.isfinite(checked):
        raise ValueError("a number from 0 to 1")
    return checked


# ------------------------------------------------------------ tables

_IMAGE, _PAGE = Field(integer(1, 2**53)), Field(integer(0, 10**9))
_MODE, _LAYER = Field(choice(*MODES)), Field(choice(*LAYERS))
_EDGE = Field(integer(-(10**9), 10**9))
_BOX = {"top": _EDGE, "left": _EDGE, "bottom": _EDGE, "right": _EDGE}
_NAME, _COLOUR = Field(text(MAX_NAME), True), Field(text(7), True)
_OPTIONAL_FLAG = Field(flag, True)
_NUMBER = Field(integer(0, 1000))

REQUESTS: dict[str, dict[str, Field]] = {
    "open": {},
    "stroke": {
        "image": _IMAGE, "page": _PAGE, "layer": _LAYER, "tool": Field(choice(*TOOLS)), "class": _NUMBER,
        "radius": Field(number(0, MAX_RADIUS), True, 0.5), "points": Field(points),
        "stroke_id": Field(text(MAX_STROKE_ID), True),
    },
    "undo": {},
    "redo": {},
    "labels": {"image": _IMAGE, "page": _PAGE, "layer": _LAYER, **_BOX},
    "class.add": {"mode": _MODE, "name": _NAME, "colour": _COLOUR},
    "class.change": {
        "mode": _MODE, "number": _NUMBER, "name": _NAME, "colour": _COLOUR, "is_hidden": _OPTIONAL_FLAG,
        "is_locked": _OPTIONAL_FLAG,
    },
    "class.remove": {"mode": _MODE, "number": _NUMBER},
    "view": {"image": _IMAGE, "page": _PAGE, **_BOX, "step": Field(power_of_two)},
    "live": {"on": Field(flag)},
    "update": {},
    "suggest": {"image": Field(integer(1, 2**53), True), "page": Field(integer(0, 10**9), True)},
    "settings": {
        "invariant_to": Field(switches, True),
        "corrections": Field(choice(*LAYERS), True),
        "image_invariant_to": Field(text(200), True),
    },
    "accept": {"image": _IMAGE, "page": _PAGE},
    "job.start": {"kind": Field(text(40))},
    "job.cancel": {"job": Field(integer(0, 2**53))},
    "image.label": {"images": Field(ids), "class": _NUMBER},
    "image.accept": {"images": Field(ids), "min_certainty": Field(certainty, True)},
    "plans": {"invariant_to": Field(text(200), True)},
}  # fmt: skip

# Requests with further fields: settings of the page are kept, those of jobs are checked by the jobs.
OPEN_REQUESTS = ("settings", "job.start")
