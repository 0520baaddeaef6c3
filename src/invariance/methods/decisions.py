"""The decisions of a selection as data: why methods were left out, and on what basis the winner was chosen."""

from enum import Enum, auto
from typing import NamedTuple

from invariance._core.notebook import html_table
from invariance.methods.classifier import ImageClassifier
from invariance.methods.trial import Trial


class Cause(Enum):
    """Why a method is not among those of the last round."""

    TOO_MANY_IMAGES = auto()
    IMAGES_TOO_SMALL = auto()
    TOO_FEW_IMAGES = auto()
    REFUSES = auto()
    NOT_INSTALLED = auto()
    FAILED = auto()
    WORSE = auto()
    TOO_SLOW = auto()
    NO_TIME = auto()
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
    """On what basis the winner was chosen."""

    UNTRIED = auto()
    ONLY_ONE = auto()
    MOST_ACCURATE = auto()
    FASTER_OF_EQUALS = auto()
    FAR_AHEAD = auto()
    FASTEST_TO_FIT = auto()


class Selection(NamedTuple):
    """A selected classifier, and how it was selected.

    Attributes
    ----------
    classifier : ImageClassifier
        Not fitted.
    trials : list of Trial
        Of the last round, the most accurate first.
    left_out : list of LeftOut
    basis : Basis
    n_learned : int
        Number of images that the winner was trained on in its largest trial.
    n_images : int
    slower : dict of str to float
        Methods at least as accurate that would have taken too long to fit, and the seconds expected.
    overrun : float
        Seconds beyond the budget that fitting is expected to take.
    """

    classifier: ImageClassifier
    trials: list[Trial]
    left_out: list[LeftOut]
    basis: Basis
    n_learned: int
    n_images: int
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
    def reason(self) -> str:
        """What was tried, why the winner won, and what was left out, in plain words."""
        return " ".join(_reason(self))


def _reason(selection: Selection) -> list[str]:
    """The reason, sentence by sentence."""
    name = f"'{selection.method}'"
    if selection.basis == Basis.UNTRIED:
        return [f"No class has three images, so methods cannot be compared; {name} is the first choice for so few."]
    listed = ", ".join(f"{t.name} {t.accuracy:.1%} of {t.n_judged}" for t in selection.trials)
    why = {
        Basis.ONLY_ONE: f"{name} is the only one that could be tried and fitted in time.",
        Basis.MOST_ACCURATE: f"{name} is the most accurate, by more than one standard error.",
        Basis.FASTER_OF_EQUALS: f"{name} is within one standard error of the best and the fastest to classify.",
        Basis.FAR_AHEAD: f"{name} is so far ahead that it may take about {selection.overrun:.0f} s longer.",
        Basis.FASTEST_TO_FIT: f"None can be fitted in the time left; {name} is the fastest to fit.",
    }
    said = [f"Held-out images classified correctly: {listed}.", why[selection.basis]]
    said += [f"'{other}' would take about {seconds:.0f} s to fit." for other, seconds in selection.slower.items()]
    if 2 * selection.n_learned < selection.n_images:
        said.append(f"There was no time to compare on more than {selection.n_learned} training images.")
    if selection.left_out:
        said.append(f"Left out: {'; '.join(f'{out.method} ({out.sentence})' for out in selection.left_out)}.")
    if any(out.cause in (Cause.TOO_SLOW, Cause.NO_TIME) for out in selection.left_out):
        said.append("A larger budget would try more.")
    return said
