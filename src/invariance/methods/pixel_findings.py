"""What ignoring something does to predicted pixels: candidates, findings, and the advice that follows from them."""

from typing import NamedTuple

import numpy as np
from scipy.stats import t

from invariance._core.notebook import html_table
from invariance.methods.findings import NOTEBOOK_COLUMNS, Candidate, Verdict, name_together, text_together
from invariance.methods.paired import LEVEL
from invariance.segmentation.plan import PixelPart
from invariance.segmentation.segmenter import DEFAULT_TRANSFORMATIONS
from invariance.transformations.parsing import format_transformations

DEFAULT_TEXT = format_transformations(DEFAULT_TRANSFORMATIONS)
# In the order in which a combination multiplies them.
CANDIDATES = (
    Candidate("mirror images", "reflections", "reflections"),
    Candidate("rotations up to 15°", "rotations:5:15", "rotations"),
    Candidate("all rotations", DEFAULT_TEXT, "rotations"),
    Candidate("scales up to 1.3 times", "scales:3:1.3", "scales"),
    Candidate("scales up to 2 times", "scales:5:2", "scales"),
    Candidate("light (blur of 8 pixels)", "illumination:8", "illumination"),
    Candidate("light (blur of 32 pixels)", "illumination:32", "illumination"),
)
NEGLIGIBLE = 0.01  # difference in balanced accuracy that is too small to matter
FEW_PARTS = 10  # held-out images, strokes or squares, below which only large differences are certain


class RunDifference(NamedTuple):
    """Difference of two models in balanced accuracy, over runs that fit and test both on the same pixels.

    Attributes
    ----------
    share : float
    low, high : float
        Bounds of the 95 % confidence interval.
    lead : float
        The difference in standard errors.
    p : float
        Probability of such a lead either way by chance.
    """

    share: float
    low: float
    high: float
    lead: float
    p: float


def compare_runs(gains: np.ndarray, n_folds: int) -> RunDifference:
    """Compare two models by their differences (n_runs,), by the corrected resampled t-test of Nadeau and Bengio (2003).

    Runs share most of their pixels for training, so that their differences are more alike than those of independent
    runs would be: the variance of the mean is taken to be larger by the ratio of held-out to other folds.
    """
    n_runs, mean, deviation = len(gains), float(gains.mean()), float(gains.std(ddof=1))
    error = deviation * np.sqrt(1 / n_runs + 1 / (n_folds - 1))
    if error == 0:
        return RunDifference(mean, mean, mean, 0.0, 1.0)
    reach, lead = float(t.ppf(1 - LEVEL / 2, n_runs - 1) * error), float(mean / error)
    return RunDifference(mean, mean - reach, mean + reach, lead, float(2 * t.sf(abs(lead), n_runs - 1)))


def balanced_gains(shares: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the differences (n_runs,) in balanced accuracy of shares (n_runs, n_classes), NaN in the same places."""
    return np.nanmean(shares - other, axis=1)


class PixelFinding(NamedTuple):
    """What ignoring something does to held-out pixels.

    Attributes
    ----------
    parts : tuple of Candidate
    n_members : int
        Size of the set.
    shares : ndarray of shape (n_runs, n_classes)
        Shares of correctly predicted pixels; NaN where no pixel of a class was held out.
    gains : ndarray of shape (n_runs,)
        Differences in balanced accuracy to ignoring nothing.
    difference : RunDifference
        Their mean and its interval.
    p : float
        Of the difference, corrected for all candidates.
    verdict : Verdict
        "helps" or "hurts" if `p` is below 5 %, "no difference" if the interval lies within one point of zero,
        otherwise "unclear".
    """

    parts: tuple[Candidate, ...]
    n_members: int
    shares: np.ndarray
    gains: np.ndarray
    difference: RunDifference
    p: float
    verdict: Verdict

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
        """Balanced accuracy: the mean over classes and runs of the shares of correct predictions."""
        return float(np.nanmean(self.shares, axis=1).mean())

    def __repr__(self) -> str:
        return f"<{self.name}: balanced accuracy {self.accuracy:.1%}, {self.verdict}>"

    def with_p(self, p: float) -> "PixelFinding":
        """Return the finding with another p-value, and the verdict that follows."""
        share, low, high = self.difference[:3]
        if p < LEVEL:
            verdict = Verdict.HELPS if share > 0 else Verdict.HURTS
        else:
            verdict = Verdict.NO_DIFFERENCE if low > -NEGLIGIBLE and high < NEGLIGIBLE else Verdict.UNCLEAR
        return self._replace(p=float(p), verdict=verdict)


class PixelAdvice(NamedTuple):
    """What to ignore when pixels are labelled, and why.

    Attributes
    ----------
    advised : PixelFinding
        The finding that the advice comes from.
    plan : list of PixelPart
        What the segmenter does with every part of it.
    plain : PixelFinding
        Ignoring nothing.
    findings : list of PixelFinding
        One per candidate.
    combinations : list of PixelFinding
        Several candidates together.
    classes : ndarray of shape (n_classes,)
    n_images, n_labelled : int
        Numbers of images with labels and of labelled pixels.
    n_pixels, n_learned : int
        Numbers of pixels drawn, and of those that a model learns from.
    unit : str
        What is held out as a whole: "images", "strokes", or "squares of 64 x 64 pixels".
    n_units, n_runs : int
        Numbers of these, and of models per candidate.
    seconds : float
    """

    advised: PixelFinding
    plan: list[PixelPart]
    plain: PixelFinding
    findings: list[PixelFinding]
    combinations: list[PixelFinding]
    classes: np.ndarray
    n_images: int
    n_labelled: int
    n_pixels: int
    n_learned: int
    unit: str
    n_units: int
    n_runs: int
    seconds: float

    @property
    def text(self) -> str:
        """What to ignore, for `--invariant-to`; "identity" to ignore nothing."""
        return self.advised.text

    def __repr__(self) -> str:
        return f"<PixelAdvice: {self.sentence}>"

    def _repr_html_(self) -> str:
        """Show the findings in a notebook, the most accurate first."""
        found = [*self.ranked(), *self.ranked_combinations()]
        rows = [(f.name, f.verdict, f"{f.accuracy:.1%}", f"{100 * f.difference[0]:+.1f}", f.text) for f in found]
        return html_table(self.sentence, NOTEBOOK_COLUMNS, rows)

    def ranked(self, verdict: Verdict | None = None) -> list[PixelFinding]:
        """Return the findings, of a verdict if given, the most accurate first."""
        return _rank([finding for finding in self.findings if verdict in (None, finding.verdict)])

    def ranked_combinations(self) -> list[PixelFinding]:
        """Return the combinations, the most accurate first."""
        return _rank(self.combinations)

    @property
    def sentence(self) -> str:
        """The advice in one sentence or two."""
        if self.advised.verdict == Verdict.HELPS:
            return (
                f"Ignore {self.advised.name}: balanced accuracy {self.advised.accuracy:.1%}, "
                f"{self.plain.accuracy:.1%} without ({_points(self.advised)})."
            )
        default = next(finding for finding in self.findings if finding.text == DEFAULT_TEXT)
        nothing_helps = "No invariance is shown to help on these pixels."
        if self.advised.parts:
            return f"{nothing_helps} Keep the default of fit-pixels, {default.name} ({_points(default)})."
        what = "hurts" if default.verdict == Verdict.HURTS else "makes no difference"
        return (
            f"{nothing_helps} Ignore nothing: the default of fit-pixels, {default.name}, {what} ({_points(default)})."
        )

    @property
    def reasons(self) -> list[str]:
        """What was compared, what helps, hurts, makes no difference or is unclear, and what to keep in mind."""
        images = f"{self.n_images} image{'s' * (self.n_images != 1)}"
        drawn = "" if self.n_pixels == self.n_labelled else f"; {self.n_pixels:,} of them, drawn at random, were used"
        said = [
            f"{images} with {self.n_labelled:,} labelled pixels of {len(self.classes)} classes{drawn}.",
            f"{self.n_runs} models per candidate learned from {self.n_learned:,} pixels each and were tested on pixels "
            f"of other {self.unit}, {self.n_units} in all.",
        ]
        for verdict, word in ((Verdict.HELPS, "Helps"), (Verdict.HURTS, "Hurts")):
            found = [f"{f.name} ({_points(f)}{self._most_changed(f)})" for f in self.ranked(verdict)]
            said += [f"{word}: {'; '.join(found)}."] if found else []
        for verdict, word in ((Verdict.NO_DIFFERENCE, "Differs by less than one point"), (Verdict.UNCLEAR, "Unclear")):
            names = [finding.name for finding in self.ranked(verdict)]
            said += [f"{word}: {', '.join(names)}."] if names else []
        return said + self._caveats()

    def _most_changed(self, finding: PixelFinding) -> str:
        """The class that gains or loses most, of three classes or more."""
        if len(self.classes) < 3:
            return ""
        changes = np.nanmean(finding.shares - self.plain.shares, axis=0)
        most = int(np.argmax(changes * np.sign(finding.difference.share)))
        return f", most of all class {self.classes[most]!s} with {100 * changes[most]:+.1f}"

    def _caveats(self) -> list[str]:
        said = []
        if any(f.difference.low * f.difference.high > 0 for f in self.ranked(Verdict.UNCLEAR)):
            said.append(
                "Where an interval excludes zero and the verdict is unclear, it may be one by chance among many."
            )
        if self.n_units < FEW_PARTS:
            said.append(f"With {self.n_units} {self.unit} only large differences can be distinguished from chance.")
        if self.unit.startswith("squares"):
            said.append("Squares of one image are alike: on other images expect a lower accuracy.")
        if len(self.advised.parts) > 1:
            said.append("The combination was chosen on these pixels: on new ones expect to gain a little less.")
        said.append(
            "The models are small, with one round and few pixels: from all labels fit-pixels may gain more or less."
        )
        said.append(
            "The filter bank of fit-pixels ignores rotations and mirror images in any case; compared here is what its "
            "learned filters ignore and, for light, whether images are normalized."
        )
        return said


def _rank(findings: list[PixelFinding]) -> list[PixelFinding]:
    return sorted(findings, key=lambda finding: (-finding.difference.share, finding.n_members))


def _points(finding: PixelFinding) -> str:
    share, low, high = (100 * value for value in finding.difference[:3])
    return f"{share:+.1f} points, 95 % interval {low:+.1f} to {high:+.1f}"
