"""What ignoring something does to accuracy: candidates, findings, and the advice that follows from them."""

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from invariance._core.notebook import html_table
from invariance.methods.paired import LEVEL, Difference
from invariance.methods.preparation import Facts

NOTHING = "identity"
NOTEBOOK_COLUMNS = ("ignored", "verdict", "accuracy", "points", "--invariant-to")
NEGLIGIBLE = 0.02  # difference in accuracy that is too small to matter
FEW = 200  # images from which on differences of a few points can be distinguished from chance


class Candidate(NamedTuple):
    """Something that may not matter; a combination has at most one candidate of each `family`."""

    name: str
    text: str
    family: str


# Geometric ones first: in a product the last set is applied first, and changes of light come before resampling.
WHOLE = (
    Candidate("mirror images left-right", "reflections", "reflections"),
    Candidate("mirror images up-down", "reflections:vertical", "reflections"),
    Candidate("rotations up to 15°", "rotations:5:15", "rotations"),
    Candidate("rotations up to 30°", "rotations:9:30", "rotations"),
    Candidate("all rotations", "rotations:24", "rotations"),
    Candidate("shifts of 1 pixel", "shifts:1", "shifts"),
    Candidate("shifts up to 2 pixels", "shifts:2", "shifts"),
    Candidate("shifts up to 3 pixels", "shifts:3", "shifts"),
    Candidate("scales up to 1.3 times", "scales:5:1.3", "scales"),
    Candidate("shears up to 15°", "shears:5:15", "shears"),
    Candidate("brightness", "brightness:5:0.2", "brightness"),
    Candidate("contrast", "contrast:5:2", "contrast"),
    Candidate("gamma", "gamma:5:1.5", "gamma"),
    Candidate("illumination", "illumination:4", "illumination"),
)
_ROTATED, _SCALED = (
    Candidate("all rotations", "rotations:24", "rotations"),
    Candidate("scales", "scales:3:2", "scales"),
)
# The levels of invariance of filter responses.
TEXTURE: dict[str, tuple[Candidate, ...]] = {
    "none": (),
    "rotation": (_ROTATED,),
    "scale": (_SCALED,),
    "similarity": (_ROTATED, _SCALED),
}


class View(StrEnum):
    """How images are compared."""

    WHOLE = "whole images"
    TEXTURE = "textures"


class Verdict(StrEnum):
    """What ignoring something does."""

    HELPS = "helps"
    HURTS = "hurts"
    NO_DIFFERENCE = "no difference"
    UNCLEAR = "unclear"


def name_together(parts: Iterable[Candidate]) -> str:
    """Return what is ignored in words."""
    return " + ".join(part.name for part in parts) or "nothing"


def text_together(parts: Iterable[Candidate]) -> str:
    """Return what is ignored as text for `--invariant-to`."""
    return ",".join(part.text for part in parts) or NOTHING


def add_part(parts: tuple[Candidate, ...], part: Candidate) -> tuple[Candidate, ...]:
    """Return the parts with one more, in the order of `WHOLE`."""
    return tuple(sorted((*parts, part), key=WHOLE.index))


class Finding(NamedTuple):
    """What ignoring something does.

    Attributes
    ----------
    parts : tuple of Candidate
    view : View
    n_members : int
        Size of the set.
    predicted : ndarray of shape (n,)
        Predicted classes.
    is_right : ndarray of shape (n,), bool
    losses : ndarray of shape (n,)
        Quadratic losses of the class probabilities.
    difference : Difference
        Of the accuracy to that of ignoring nothing.
    lead : float
        By how many standard errors the losses are below those of ignoring nothing.
    p : float
        Probability that the lead is chance, corrected for all candidates.
    verdict : Verdict
        "helps" or "hurts" if `p` is below 5 % and the accuracy says the same, "no difference" if the accuracy differs
        by less than two points with 95 % confidence, otherwise "unclear".
    seconds : float
    """

    parts: tuple[Candidate, ...]
    view: View
    n_members: int
    predicted: np.ndarray
    is_right: np.ndarray
    losses: np.ndarray
    difference: Difference
    lead: float
    p: float
    verdict: Verdict
    seconds: float

    @property
    def name(self) -> str:
        """What is ignored, in words."""
        return name_together(self.parts)

    @property
    def text(self) -> str:
        """What is ignored, for `--invariant-to`."""
        return text_together(self.parts)

    @property
    def accuracy(self) -> float:
        """Share of correct predictions."""
        return float(self.is_right.mean())

    def __repr__(self) -> str:
        return f"<{self.name}: accuracy {self.accuracy:.1%}, {self.verdict}>"

    def with_p(self, p: float) -> "Finding":
        """Return the finding with another p-value, and the verdict that follows."""
        share, low, high = self.difference[:3]
        if p < LEVEL and share * self.lead > 0:
            verdict = Verdict.HELPS if share > 0 else Verdict.HURTS
        else:
            verdict = Verdict.NO_DIFFERENCE if low > -NEGLIGIBLE and high < NEGLIGIBLE else Verdict.UNCLEAR
        return self._replace(p=float(p), verdict=verdict)


class Advice(NamedTuple):
    """What to ignore, and why.

    Attributes
    ----------
    text : str
        For `--invariant-to`; "identity" to ignore nothing.
    advised : Finding
        The finding that the advice comes from.
    view : View
        How images were compared in it.
    plain : dict of View to Finding
        Ignoring nothing.
    findings : list of Finding
        One for each candidate and view.
    combinations : list of Finding
        Several candidates together.
    untried : dict of str to str
        What was not tried, and why.
    facts : Facts
    classes : ndarray
    rows, codes : ndarray of shape (n,)
        The images that were compared, and their classes.
    seconds : float
    """

    text: str
    advised: Finding
    view: View
    plain: dict[View, Finding]
    findings: list[Finding]
    combinations: list[Finding]
    untried: dict[str, str]
    facts: Facts
    classes: np.ndarray
    rows: np.ndarray
    codes: np.ndarray
    seconds: float

    def __repr__(self) -> str:
        return f"<Advice: {self.sentence}>"

    def _repr_html_(self) -> str:
        """Show the findings in a notebook, the most accurate first."""
        found = [*self.of_view(self.view), *self.best_combinations()]
        rows = [(f.name, f.verdict, f"{f.accuracy:.1%}", f"{100 * f.difference.share:+.1f}", f.text) for f in found]
        return html_table(self.sentence, NOTEBOOK_COLUMNS, rows)

    def of_view(self, view: View, verdict: Verdict | None = None) -> list[Finding]:
        """Return the findings of a view, and of a verdict if given, the most accurate first."""
        found = [f for f in self.findings if f.view == view and verdict in (None, f.verdict)]
        return sorted(found, key=lambda f: (-f.difference.share, f.n_members))

    def best_combinations(self) -> list[Finding]:
        """Return the combinations, the most accurate first."""
        return sorted(self.combinations, key=lambda f: (-f.difference.share, f.n_members))

    @property
    def sentence(self) -> str:
        """The advice in one sentence."""
        plain = self.plain[self.view]
        if not self.advised.parts:
            best = next(iter(self.of_view(self.view)), None)
            hint = ""
            if best is not None and best.verdict == Verdict.UNCLEAR and best.difference.share > 0:
                hint = f" Most promising, but it may be chance: {best.name} ({_points(best)})."
            return f"No invariance is shown to help on these images: leave it to the method.{hint}"
        return (
            f"Ignore {self.advised.name}: accuracy {self.advised.accuracy:.1%}, {plain.accuracy:.1%} without "
            f"({_points(self.advised)})."
        )

    @property
    def reasons(self) -> list[str]:
        """What was compared, what helps, hurts, makes no difference or is unclear, and what to keep in mind."""
        n, facts = len(self.rows), self.facts
        drawn = f"; {n} of them, drawn at random, were compared" if n < facts.n_images else ""
        said = [f"{facts.sentence[0].upper()}{facts.sentence[1:]}{drawn}.", self._compared()]
        for verdict, word in ((Verdict.HELPS, "Helps"), (Verdict.HURTS, "Hurts")):
            found = [f"{f.name} ({_points(f)}{self._confusion(f)})" for f in self.of_view(self.view, verdict)]
            said += [f"{word}: {'; '.join(found)}."] if found else []
        minor = ((Verdict.NO_DIFFERENCE, "Differs by less than two points"), (Verdict.UNCLEAR, "Unclear"))
        for verdict, word in minor:
            names = [finding.name for finding in self.of_view(self.view, verdict)]
            said += [f"{word}: {', '.join(names)}."] if names else []
        if self.untried:
            said.append("Not tried: " + "; ".join(f"{name} ({why})" for name, why in self.untried.items()) + ".")
        return said + self._caveats()

    def _compared(self) -> str:
        if len(self.plain) == 1:
            how = "as small grey squares" if self.view == View.WHOLE else "by their textures"
            return f"Compared {how}, ignoring nothing, accuracy is {self.plain[self.view].accuracy:.1%}."
        best = {view: max(f.accuracy for f in (plain, *self.of_view(view))) for view, plain in self.plain.items()}
        other = View.WHOLE if self.view == View.TEXTURE else View.TEXTURE
        return (
            f"Compared as {self.view}, accuracy is up to {best[self.view]:.1%}; as {other}, up to {best[other]:.1%}. "
            f"The following is about {self.view}."
        )

    def _confusion(self, finding: Finding) -> str:
        """The most frequent error of a harmful invariance that was right without."""
        lost = self.plain[finding.view].is_right & ~finding.is_right
        pairs = Counter(zip(self.codes[lost], finding.predicted[lost], strict=True))
        if finding.verdict != Verdict.HURTS or not pairs:
            return ""
        (true, given), count = pairs.most_common(1)[0]
        return f", '{self.classes[true]}' predicted as '{self.classes[given]}' {count} times" if count > 1 else ""

    def _caveats(self) -> list[str]:
        said = []
        judged = [*self.of_view(self.view, Verdict.HELPS), *self.of_view(self.view, Verdict.HURTS)]
        if any(finding.difference.low < 0 < finding.difference.high for finding in judged):
            said.append(
                "Where an interval contains zero, the verdict comes from the class probabilities: they are clearly "
                "better or worse, while the accuracy alone could be chance."
            )
        if len(self.rows) < FEW:
            said.append(f"With {len(self.rows)} images only large differences can be distinguished from chance.")
        if len(self.advised.parts) > 1:
            said.append("The combination was chosen on these images: on new ones expect to gain a little less.")
        said.append(
            "Accuracies are of a plain comparison of images; `invariance compare` shows what the methods gain from "
            "an invariance."
        )
        return [*said, "If several images show the same object or moment, all of this looks more certain than it is."]


def _points(finding: Finding) -> str:
    share, low, high = (100 * value for value in finding.difference[:3])
    return f"{share:+.1f} points, 95 % interval {low:+.1f} to {high:+.1f}"
