"""What happens in a race of methods, as data: what is tried, what was left out and why, and who leads on what basis."""

import math
from enum import Enum, auto
from typing import Any, NamedTuple

from invariance._core.notebook import html_table
from invariance.methods.classifier import ImageClassifier
from invariance.methods.trial import Trial


class Cause(Enum):
    """Why a method is not among those that were compared to the end."""

    IMAGES_TOO_SMALL = auto()
    TOO_FEW_IMAGES = auto()
    REFUSES = auto()
    NOT_INSTALLED = auto()
    FAILED = auto()
    WORSE = auto()
    TOO_SLOW = auto()
    NO_TIME = auto()
    NO_TRIALS_LEFT = auto()
    NOTHING_TO_GAIN = auto()


class LeftOut(NamedTuple):
    """A method that was left out.

    Attributes
    ----------
    method : str
    cause : Cause
    detail : str
        The cause in words.
    trial : Trial or None
        Its last trial.
    """

    method: str
    cause: Cause
    detail: str
    trial: Trial | None = None

    @property
    def sentence(self) -> str:
        """The cause in words, with the accuracy seen before, if any."""
        seen = "" if self.trial is None else f"{self.trial.accuracy:.1%} of {self.trial.n_judged} correct before; "
        return f"{seen}{self.detail}"


class Basis(Enum):
    """On what basis the leader was chosen."""

    UNTRIED = auto()
    SO_FAR = auto()
    ONLY_ONE = auto()
    MOST_ACCURATE = auto()
    NARROWLY = auto()
    FASTER_OF_EQUALS = auto()
    FIRST_OF_EQUALS = auto()
    AHEAD = auto()
    SUITED = auto()


class Stage(Enum):
    """What a race is doing."""

    TRYING = auto()
    FITTING = auto()


class Step(NamedTuple):
    """What a race begins to do.

    Attributes
    ----------
    stage : Stage
    method : str
        That is tried on held-out images, or fitted.
    n_images : int
        Number of images that it is trained on.
    best : Trial or None
        Of the method that leads so far.
    seconds_left : float
        Of the budget; infinity if there is none.
    """

    stage: Stage
    method: str
    n_images: int
    best: Trial | None
    seconds_left: float

    @property
    def sentence(self) -> str:
        """What is begun, and who leads, in plain words."""
        what = f"{self.stage.name.capitalize()} '{self.method}' with {self.n_images} images"
        return (
            what if self.best is None else f"{what}; best so far '{self.best.name}', {self.best.accuracy:.1%} correct"
        )

    def as_json(self) -> dict[str, Any]:
        """The step as an event for other programs."""
        best = None if self.best is None else {"method": self.best.name, "accuracy": self.best.accuracy}
        left = None if math.isinf(self.seconds_left) else round(self.seconds_left, 1)
        event = self.stage.name.lower()
        return {"event": event, "method": self.method, "n_images": self.n_images, "best": best, "seconds_left": left}


class Selection(NamedTuple):
    """A selected and fitted classifier, and how it was selected.

    Attributes
    ----------
    classifier : ImageClassifier
    n_fitted : int
        Number of images that it was fitted to: all, if there was time.
    fit_seconds : float
    trials : list of Trial
        Of the methods that were compared to the end, the best first.
    left_out : list of LeftOut
    basis : Basis
    n_learned : int
        Number of images that the method was trained on in its largest trial.
    n_images : int
    n_trials : int
        How often a method was fitted to some of the images and judged on others.
    n_found : int
        How many of these trials are of an earlier race of the same images.
    slower : dict of str to float
        Methods ahead that would have taken too long to fit, and the seconds expected.
    overrun : float
        Seconds beyond the budget that fitting was expected to take.
    """

    classifier: ImageClassifier
    n_fitted: int
    fit_seconds: float
    trials: list[Trial]
    left_out: list[LeftOut]
    basis: Basis
    n_learned: int
    n_images: int
    n_trials: int
    n_found: int
    slower: dict[str, float]
    overrun: float = 0.0

    @property
    def method(self) -> str:
        """Name of the selected method."""
        return self.classifier.method_name

    def __repr__(self) -> str:
        return f"<Selection: '{self.method}' of {len(self.trials) + len(self.left_out)} methods>"

    def _repr_html_(self) -> str:
        """Show in a notebook what was tried, the most accurate first, and what was left out."""
        tried = [(trial.name, f"{trial.accuracy:.1%} of {trial.n_judged} correct") for trial in self.trials]
        left = [(out.method, f"left out: {out.sentence}") for out in self.left_out]
        return html_table(_reason(self)[0], ("method", "result"), [*tried, *left])

    @property
    def trial(self) -> Trial | None:
        """The trial of the selected method; None if it could not be tried."""
        return next((trial for trial in self.trials if trial.name == self.method), None)

    @property
    def reason(self) -> str:
        """What was tried, why the winner won, and what was left out, in plain words."""
        return " ".join(_reason(self))

    def as_json(self) -> dict[str, Any]:
        """The decisions for other programs."""
        return {
            "method": self.method,
            "basis": self.basis.name.lower(),
            "reason": self.reason,
            "n_fitted": self.n_fitted,
            "n_trials": self.n_trials,
            "n_found": self.n_found,
            "tried": [trial.as_json() for trial in self.trials],
            "left_out": {
                out.method: {"cause": out.cause.name.lower(), "reason": out.sentence} for out in self.left_out
            },
        }


WHY = {
    Basis.SO_FAR: "{name} is the best so far of those that were fitted; the race was not over.",
    Basis.ONLY_ONE: "{name} is the only one that could be tried and fitted.",
    Basis.MOST_ACCURATE: "{name} is the most accurate, by more than one standard error.",
    Basis.NARROWLY: "{name} is the most accurate, though by less than one standard error.",
    Basis.FASTER_OF_EQUALS: "{name} is as accurate as the best and the fastest to classify.",
    Basis.FIRST_OF_EQUALS: "{name} is as accurate as the best and the first in the order of trials.",
    Basis.AHEAD: "{name} is ahead by more than one standard error; its fit may end about {overrun:.0f} s late.",
    Basis.SUITED: "{name} is made for images of this kind, and on so few no other is clearly ahead.",
}


def _reason(selection: Selection) -> list[str]:
    """The reason, sentence by sentence."""
    name = f"'{selection.method}'"
    if selection.basis == Basis.UNTRIED:
        return [f"No class has three images, so methods cannot be compared; {name} is the first choice for so few."]
    listed = ", ".join(f"{t.name} {t.accuracy:.1%} of {t.n_judged}" for t in selection.trials)
    said = [f"Held-out images classified correctly: {listed}."]
    among = "Of those that can be fitted in time, " if selection.slower else ""
    said.append(among + WHY[selection.basis].format(name=name, overrun=selection.overrun))
    said += [f"'{other}' would take about {seconds:.0f} s to fit." for other, seconds in selection.slower.items()]
    if selection.n_fitted < selection.n_images:
        said.append(f"It was fitted to {selection.n_fitted} of {selection.n_images} images.")
    if 2 * selection.n_learned < selection.n_images:
        said.append(f"Methods were compared on {selection.n_learned} training images, not on more.")
    if selection.left_out:
        said.append(f"Left out: {'; '.join(f'{out.method} ({out.sentence})' for out in selection.left_out)}.")
    causes = {out.cause for out in selection.left_out}
    if causes & {Cause.TOO_SLOW, Cause.NO_TIME} or selection.slower:
        said.append("A larger budget would try more.")
    if Cause.NO_TRIALS_LEFT in causes:
        said.append("More trials would try more.")
    if selection.n_found:
        said.append(
            f"{selection.n_found} of {selection.n_trials} trials are of an earlier fit of these images; "
            f"the time that they took then counts now."
        )
    return said
