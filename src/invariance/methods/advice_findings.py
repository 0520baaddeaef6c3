"""What was found out about invariances, and what that says in words."""

from collections import Counter
from typing import NamedTuple

import numpy as np

from invariance.methods.advice_candidates import Candidate, name_together, text_together
from invariance.methods.facts import Facts
from invariance.methods.paired import LEVEL, Difference

SAME = 0.02  # a difference in the share right that is too small to matter
WHOLE_VIEW, TEXTURE_VIEW = "whole images", "textures"
HELPS, HURTS, NO_DIFFERENCE, UNCLEAR = "helps", "hurts", "no difference", "unclear"
FEW = 200


class Finding(NamedTuple):
    """What ignoring something does: the classes (n,) images get, their losses, the difference to ignoring nothing.

    `p` is the chance that the lower or higher losses are chance, corrected for all that were tried. `verdict` is
    "helps" or "hurts" where it is below 5 % and the share right says the same, "no difference" where the share right
    differs by less than two points with 95 % confidence, else "unclear".
    """

    parts: tuple[Candidate, ...]
    view: str
    n_members: int
    predicted: np.ndarray
    is_right: np.ndarray
    losses: np.ndarray
    difference: Difference
    lead: float
    p: float
    verdict: str
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
        """The share of images right."""
        return float(self.is_right.mean())

    def __repr__(self) -> str:
        return f"<{self.name}: {self.accuracy:.1%} right, {self.verdict}>"

    def with_chance(self, p: float) -> "Finding":
        """The finding with another chance, and the verdict that follows."""
        share, low, high = self.difference[:3]
        if p < LEVEL and share * self.lead > 0:
            verdict = HELPS if share > 0 else HURTS
        else:
            verdict = NO_DIFFERENCE if low > -SAME and high < SAME else UNCLEAR
        return self._replace(p=float(p), verdict=verdict)


class Advice(NamedTuple):
    """What to ignore, and why.

    text : for `--invariant-to`, "identity" to ignore nothing; advised : the finding that it comes from; view : how
    images were compared in it; plain : the finding of ignoring nothing, for each view; findings : of each candidate
    and view; combinations : of several candidates; untried : names and why; facts : of all images; classes, rows (n,)
    and codes (n,) : the class names, which images were compared, and their classes.
    """

    text: str
    advised: Finding
    view: str
    plain: dict[str, Finding]
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

    def of_view(self, view: str, verdict: str | None = None) -> list[Finding]:
        """The findings of a view, and of a verdict if given, the largest share right first."""
        found = [f for f in self.findings if f.view == view and verdict in (None, f.verdict)]
        return sorted(found, key=lambda f: (-f.difference.share, f.n_members))

    def best_combinations(self) -> list[Finding]:
        """Combinations, the largest share right first."""
        return sorted(self.combinations, key=lambda f: (-f.difference.share, f.n_members))

    @property
    def sentence(self) -> str:
        """The advice in one sentence."""
        plain = self.plain[self.view]
        if not self.advised.parts:
            best = next(iter(self.of_view(self.view)), None)
            hint = ""
            if best is not None and best.verdict == UNCLEAR and best.difference.share > 0:
                hint = f" Most promising, but it may be chance: {best.name} ({_points(best)})."
            return f"Tell it nothing: no invariance is shown to help on these images.{hint}"
        return (
            f"Ignore {self.advised.name}: {self.advised.accuracy:.1%} of the images are then right, "
            f"{plain.accuracy:.1%} without ({_points(self.advised)})."
        )

    @property
    def reasons(self) -> list[str]:
        """What was compared, what helps, hurts, makes no difference or is unclear, and what to keep in mind."""
        n, facts = len(self.rows), self.facts
        drawn = f"; {n} of them, drawn at random, were compared" if n < facts.n_images else ""
        said = [f"{facts.sentence[0].upper()}{facts.sentence[1:]}{drawn}.", self._compared()]
        for verdict, word in ((HELPS, "Helps"), (HURTS, "Hurts")):
            found = [f"{f.name} ({_points(f)}{self._confusion(f)})" for f in self.of_view(self.view, verdict)]
            said += [f"{word}: {'; '.join(found)}."] if found else []
        for verdict, word in ((NO_DIFFERENCE, "Makes no difference of two points"), (UNCLEAR, "Unclear")):
            names = [finding.name for finding in self.of_view(self.view, verdict)]
            said += [f"{word}: {', '.join(names)}."] if names else []
        if self.untried:
            said.append("Not tried: " + "; ".join(f"{name} ({why})" for name, why in self.untried.items()) + ".")
        return said + self._caveats()

    def _compared(self) -> str:
        if len(self.plain) == 1:
            how = "as small grey squares" if self.view == WHOLE_VIEW else "by their textures"
            return f"Compared {how}, with nothing ignored, {self.plain[self.view].accuracy:.1%} are right."
        shares = {view: max(f.accuracy for f in (plain, *self.of_view(view))) for view, plain in self.plain.items()}
        other = WHOLE_VIEW if self.view == TEXTURE_VIEW else TEXTURE_VIEW
        return (
            f"Compared as {self.view}, up to {shares[self.view]:.1%} are right; as {other}, up to {shares[other]:.1%}. "
            f"What follows is about {self.view}."
        )

    def _confusion(self, finding: Finding) -> str:
        """What a harmful invariance mostly mistakes for what, that was right before."""
        lost = self.plain[finding.view].is_right & ~finding.is_right
        pairs = Counter(zip(self.codes[lost], finding.predicted[lost], strict=True))
        if finding.verdict != HURTS or not pairs:
            return ""
        (true, given), count = pairs.most_common(1)[0]
        return f", '{self.classes[true]}' taken for '{self.classes[given]}' {count} times" if count > 1 else ""

    def _caveats(self) -> list[str]:
        said = []
        judged = [*self.of_view(self.view, HELPS), *self.of_view(self.view, HURTS)]
        if any(finding.difference.low < 0 < finding.difference.high for finding in judged):
            said.append(
                "Where an interval holds zero, the verdict is from the class probabilities: they are clearly better or "
                "worse, while the share right alone could be chance."
            )
        if len(self.rows) < FEW:
            said.append(f"{len(self.rows)} images are few: only large differences can be told from chance.")
        if len(self.advised.parts) > 1:
            said.append("The combination was chosen on these images: on new ones expect to gain a little less.")
        said.append(
            "The shares are of a plain comparison of images; what the methods of this library gain, "
            "`invariance compare` tells."
        )
        return [*said, "If several images show the same thing or moment, all of this looks surer than it is."]


def _points(finding: Finding) -> str:
    share, low, high = (100 * value for value in finding.difference[:3])
    return f"{share:+.1f} points, 95 % interval {low:+.1f} to {high:+.1f}"
