"""The invariances that advice is given about: in words, and as text for `--invariant-to`."""

from collections.abc import Iterable
from typing import NamedTuple

NOTHING = "identity"


class Candidate(NamedTuple):
    """Something that may not matter; of one `family` at most one goes into a combination."""

    name: str
    text: str
    family: str


# Geometric ones first: in a product what stands last is applied first, and changes of light come before resampling.
WHOLE = (
    Candidate("mirror images left-right", "reflections", "reflections"),
    Candidate("mirror images up-down", "reflections:vertical", "reflections"),
    Candidate("rotations up to 15°", "rotations:5:15", "rotations"),
    Candidate("rotations up to 30°", "rotations:9:30", "rotations"),
    Candidate("all rotations", "rotations:24", "rotations"),
    Candidate("shifts of 1 pixel", "shifts:1", "shifts"),
    Candidate("shifts up to 2 pixels", "shifts:2", "shifts"),
    Candidate("shifts up to 3 pixels", "shifts:3", "shifts"),
    Candidate("sizes up to 1.3 times", "scales:5:1.3", "scales"),
    Candidate("shears up to 15°", "shears:5:15", "shears"),
    Candidate("brightness", "brightness:5:0.2", "brightness"),
    Candidate("contrast", "contrast:5:2", "contrast"),
    Candidate("gamma", "gamma:5:1.5", "gamma"),
    Candidate("uneven light", "illumination:4", "illumination"),
)
_TURNED, _SIZED = (
    Candidate("all rotations", "rotations:24", "rotations"),
    Candidate("sizes", "scales:3:1.5", "scales"),
)
# The levels of invariance of filter responses.
TEXTURE: dict[str, tuple[Candidate, ...]] = {
    "none": (),
    "rotation": (_TURNED,),
    "scale": (_SIZED,),
    "similarity": (_TURNED, _SIZED),
}


def name_together(parts: Iterable[Candidate]) -> str:
    """What does not matter, in words."""
    return " + ".join(part.name for part in parts) or "nothing"


def text_together(parts: Iterable[Candidate]) -> str:
    """The same for `--invariant-to`."""
    return ",".join(part.text for part in parts) or NOTHING


def add_part(parts: tuple[Candidate, ...], part: Candidate) -> tuple[Candidate, ...]:
    """One more thing that does not matter, in the order of `WHOLE`."""
    return tuple(sorted((*parts, part), key=WHOLE.index))
