"""Which invariance helps to label pixels? Candidates are tried one by one and together, and compared with none."""

import time
from typing import Any

import numpy as np

from invariance._core.progress import track
from invariance.methods.findings import Candidate, Verdict, text_together
from invariance.methods.paired import correct_for_many
from invariance.methods.pixel_findings import (
    CANDIDATES,
    DEFAULT_TEXT,
    PixelAdvice,
    PixelFinding,
    balanced_gains,
    compare_runs,
)
from invariance.segmentation.inputs import MAX_CLASSES
from invariance.segmentation.plan import plan_pixels
from invariance.segmentation.segmenter import DEFAULT_PATCH_SIZE
from invariance.segmentation.trials import MAX_PIXELS, PixelTrials
from invariance.transformations.parsing import parse_transformations

MAX_PARTS = 3
MAX_MEMBERS = 100  # of a combination, for time


def advise_pixels(
    images: Any,
    masks: Any,
    unlabelled: int | None = None,
    patch_size: int = DEFAULT_PATCH_SIZE,
    max_pixels: int = MAX_PIXELS,
    scale: str = "dtype",
    max_classes: int = MAX_CLASSES,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> PixelAdvice:
    """Try what may not matter when pixels are labelled, and advise what to ignore.

    For each candidate, small segmenters are fitted on some labelled pixels and tested on others: of other images or,
    if these are few, of other strokes or squares of images. They are compared with segmenters that learn from the same
    pixels and whose learned filters ignore nothing.

    Parameters
    ----------
    images, masks : list of arrays, or array
        As for `JungleSegmenter.fit`.
    unlabelled : int or None, default=None
        The value of unlabelled pixels in the masks. None means that all pixels are labelled.
    patch_size : int, default=31
        Side of a patch in pixels, odd.
    max_pixels : int, default=30_000
        Maximum number of pixels drawn; a segmenter learns from a twelfth of this number, but at least from 200.
    scale : {"dtype", "image", "percentile"}, default="dtype"
        How intensities are scaled, as for `JungleSegmenter`.
    max_classes : int, default=32
        More classes in the masks are an error.
    random_state : int, default=0
    n_jobs : int or None, default=None
        It does not change the result.

    Returns
    -------
    advice : PixelAdvice

    See Also
    --------
    advise : The same for images that are classified as a whole.
    """
    started = time.monotonic()
    trials = PixelTrials(images, masks, unlabelled, patch_size, max_pixels, scale, max_classes, random_state, n_jobs)
    bench = _Bench(trials)
    for candidate in track(CANDIDATES, "trying invariances"):
        bench.look((candidate,))
    corrected = correct_for_many([finding.p for finding in bench.tried])
    findings = [finding.with_p(p) for finding, p in zip(bench.tried, corrected, strict=True)]
    helping = [finding for finding in findings if finding.verdict == Verdict.HELPS]
    advised = bench.combine(helping, findings) if helping else _advise_default(findings, bench.plain)
    corrected = correct_for_many([finding.p for finding in bench.tried])[len(findings) :]
    combinations = [f.with_p(p) for f, p in zip(bench.tried[len(findings) :], corrected, strict=True)]
    advised = next((finding for finding in combinations if finding.parts == advised.parts), advised)
    return PixelAdvice(
        advised=advised,
        plan=plan_pixels(parse_transformations(advised.text)),
        plain=bench.plain,
        findings=findings,
        combinations=combinations,
        classes=trials.classes,
        n_images=trials.n_images,
        n_labelled=trials.n_labelled,
        n_pixels=len(trials.pixels.codes),
        n_learned=max(len(run.training) for run in trials.runs),
        unit=trials.parts.unit,
        n_units=len(np.unique(trials.parts.numbers)),
        n_runs=len(trials.runs),
        seconds=time.monotonic() - started,
    )


class _Bench:
    """The trials, ignoring nothing, and what was tried so far."""

    def __init__(self, trials: PixelTrials):
        self.trials = trials
        self.tried: list[PixelFinding] = []
        shares = self._score(())
        self.plain = self._find((), shares, shares)

    def look(self, parts: tuple[Candidate, ...]) -> PixelFinding:
        """Try to ignore some candidates together."""
        finding = self._find(parts, self._score(parts), self.plain.shares)
        self.tried.append(finding)
        return finding

    def lead(self, finding: PixelFinding, other: PixelFinding) -> float:
        """Return by how many standard errors one is better than another."""
        return compare_runs(balanced_gains(finding.shares, other.shares), self.trials.n_folds).lead

    def combine(self, helping: list[PixelFinding], findings: list[PixelFinding]) -> PixelFinding:
        """Return the best with what improves it, one family after another."""
        best = self._smallest_of_the_best(helping)
        while len(best.parts) < MAX_PARTS:
            better = []
            for partner in track(self._partners(best, findings), "trying combinations"):
                finding = self.look(_add_part(best.parts, partner.parts[0]))
                # The more are tried, the more look good by chance.
                if self.lead(finding, best) > (1 if partner.verdict == Verdict.HELPS else 2):
                    better.append(finding)
            if not better:
                break
            best = max(better, key=lambda finding: finding.accuracy)
        return best

    def _partners(self, best: PixelFinding, findings: list[PixelFinding]) -> list[PixelFinding]:
        """Of every other family, the best that helps or may help and is small enough."""
        used = {part.family for part in best.parts}
        of_family: dict[str, list[PixelFinding]] = {}
        for finding in findings:
            family = finding.parts[0].family
            may_help = finding.verdict == Verdict.HELPS or (
                finding.verdict == Verdict.UNCLEAR and finding.gains.mean() > 0
            )
            if may_help and family not in used and finding.n_members * best.n_members <= MAX_MEMBERS:
                of_family.setdefault(family, []).append(finding)
        return [self._smallest_of_the_best(some) for some in of_family.values()]

    def _smallest_of_the_best(self, findings: list[PixelFinding]) -> PixelFinding:
        """Of the best one's family, of those within one standard error of it, the set with the fewest members."""
        best = max(findings, key=lambda finding: finding.accuracy)
        alike = [f for f in findings if f.parts[0].family == best.parts[0].family and self.lead(best, f) <= 1]
        return min(alike, key=lambda finding: finding.n_members)

    def _score(self, parts: tuple[Candidate, ...]) -> np.ndarray:
        return self.trials.score(parse_transformations(text_together(parts)))

    def _find(self, parts: tuple[Candidate, ...], shares: np.ndarray, plain: np.ndarray) -> PixelFinding:
        side = self.trials.patch_size
        n_members = len(parse_transformations(text_together(parts)).members((side, side)))
        gains = balanced_gains(shares, plain)
        difference = compare_runs(gains, self.trials.n_folds)
        return PixelFinding(parts, n_members, shares, gains, difference, 1.0, Verdict.UNCLEAR).with_p(difference.p)


def _advise_default(findings: list[PixelFinding], plain: PixelFinding) -> PixelFinding:
    """Where nothing helps: the default of the segmenter, unless it hurts or is known to make no difference."""
    default = next(finding for finding in findings if finding.text == DEFAULT_TEXT)
    return default if default.verdict == Verdict.UNCLEAR else plain


def _add_part(parts: tuple[Candidate, ...], part: Candidate) -> tuple[Candidate, ...]:
    return tuple(sorted((*parts, part), key=CANDIDATES.index))
