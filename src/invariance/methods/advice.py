"""Which invariance helps? Candidates are tried one by one and together, and compared with ignoring nothing."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from invariance._core.checks import check_number
from invariance._core.progress import track
from invariance.images import encode_labels
from invariance.methods.distances import (
    filter_responses,
    left_out_probabilities,
    minimum_distances,
    texture_distances,
)
from invariance.methods.findings import (
    TEXTURE,
    WHOLE,
    Advice,
    Candidate,
    Finding,
    Verdict,
    View,
    add_part,
    name_together,
    text_together,
)
from invariance.methods.paired import (
    chance_of_lead,
    compare_paired,
    correct_for_many,
    lead_in_errors,
    quadratic_losses,
)
from invariance.methods.preparation import SIDE, as_squares, learn_facts
from invariance.methods.trial import draw_folds
from invariance.transformations.parsing import parse_transformations

MAX_IMAGES = 1000  # that are compared with each other
MAX_MEMBERS = 300  # of a combination
MAX_PARTS = 3
MIN_TEXTURE_SIDE = 64  # pixels per side from which on textures are compared
NO_TIME = "too little time was left"


def advise(
    images: Sequence[np.ndarray],
    labels: Any,
    budget: float = 120.0,
    max_images: int = MAX_IMAGES,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Advice:
    """Try what may not matter about images, and advise what to ignore.

    Each image is classified by all others, by distances that ignore something; the result is compared with distances
    that ignore nothing, image by image. All candidates are tried on the same images.

    Parameters
    ----------
    images : sequence of ndarray of shape (h, w) or (h, w, c)
    labels : array-like of shape (n,)
    budget : float, default=120
        Seconds; what does not fit is listed as not tried.
    max_images : int, default=1000
        Draw about this many images at random if there are more.
    random_state : int, default=0
    n_jobs : int or None, default=None

    Returns
    -------
    advice : Advice
    """
    started = time.monotonic()
    deadline = started + check_number("budget", budget, 0)
    classes, codes = encode_labels(labels, len(images))
    if len(classes) < 2:
        raise ValueError(f"advice needs images of at least two classes; got '{classes[0]}' only. Add another folder.")
    rows = np.sort(np.concatenate(draw_folds(labels, 2, max_images, random_state)[0]))
    facts = learn_facts(images, codes)
    bench = _Bench([images[row] for row in rows], codes[rows], deadline, n_jobs)
    bench.try_whole()
    if min(facts.height, facts.width) >= MIN_TEXTURE_SIDE:
        bench.try_textures(random_state)
    corrected = correct_for_many([finding.p for finding in bench.findings])
    findings = [finding.with_p(p) for finding, p in zip(bench.findings, corrected, strict=True)]
    view = max((*bench.plain.values(), *findings), key=lambda finding: finding.accuracy).view
    helping = [finding for finding in findings if finding.view == view and finding.verdict == Verdict.HELPS]
    advised = bench.plain[view]
    combinations: list[Finding] = []
    if helping:
        advised = _smallest_of_the_best(helping)
        if view == View.WHOLE:
            advised, combinations = bench.combine(advised, findings)
    corrected = correct_for_many([finding.p for finding in (*bench.findings, *combinations)])[len(findings) :]
    combinations = [finding.with_p(p) for finding, p in zip(combinations, corrected, strict=True)]
    advised = next((finding for finding in combinations if finding.parts == advised.parts), advised)
    return Advice(
        text=advised.text,
        advised=advised,
        view=view,
        plain=bench.plain,
        findings=findings,
        combinations=combinations,
        untried=bench.untried,
        facts=facts,
        classes=classes,
        rows=rows,
        codes=codes[rows],
        seconds=time.monotonic() - started,
    )


class _Bench:
    """The images, what was found so far, and the time left."""

    def __init__(self, images: list[np.ndarray], codes: np.ndarray, deadline: float, n_jobs: int | None):
        self.images, self.codes, self.deadline, self.n_jobs = images, codes, deadline, n_jobs
        self.squares = as_squares(images, SIDE, 1)
        self.plain: dict[View, Finding] = {}
        self.findings: list[Finding] = []
        self.untried: dict[str, str] = {}

    def try_whole(self) -> None:
        """Ignore nothing, then each candidate, small sets first."""
        self.plain[View.WHOLE] = self._look(())
        for candidate in track(sorted(WHOLE, key=_count_members), "trying invariances"):
            finding = self._look_if_time((candidate,))
            if finding is not None:
                self.findings.append(finding)

    def try_textures(self, seed: int) -> None:
        """Compare words of filter responses at every level of invariance."""
        started = time.monotonic()
        filter_responses(self.images[:1], 1)
        if not self._has_time((time.monotonic() - started) * len(self.images)):
            self.untried[View.TEXTURE] = NO_TIME
            return
        responses = filter_responses(self.images, self.n_jobs)
        seconds = 0.0
        for level, parts in track(TEXTURE.items(), "trying invariances of textures", len(TEXTURE)):
            if parts and not self._has_time(seconds):
                self.untried[f"{name_together(parts)} of textures"] = NO_TIME
                continue
            began = time.monotonic()
            distances = texture_distances(responses, level, seed, self.n_jobs)
            finding = self._find(parts, View.TEXTURE, distances, began)
            seconds = time.monotonic() - began
            if parts:
                self.findings.append(finding)
            else:
                self.plain[View.TEXTURE] = finding

    def combine(self, best: Finding, findings: list[Finding]) -> tuple[Finding, list[Finding]]:
        """Return the best with what improves it, one family after another; and all that was tried."""
        tried: list[Finding] = []
        while len(best.parts) < MAX_PARTS:
            better = []
            for partner in track(_partners(best, findings), "trying combinations"):
                finding = self._look_if_time(add_part(best.parts, partner.parts[0]))
                if finding is not None:
                    tried.append(finding)
                    if _is_better(finding, best, partner.verdict == Verdict.HELPS):
                        better.append(finding)
            if not better:
                break
            best = min(better, key=lambda finding: finding.losses.mean())
        return best, tried

    def _look_if_time(self, parts: tuple[Candidate, ...]) -> Finding | None:
        done = [f for f in (*self.plain.values(), *self.findings) if f.view == View.WHOLE]
        seconds_per_member = max(finding.seconds / finding.n_members for finding in done[-3:])
        if not self._has_time(seconds_per_member * _count_together(parts)):
            self.untried[name_together(parts)] = NO_TIME
            return None
        return self._look(parts)

    def _has_time(self, seconds: float) -> bool:
        return time.monotonic() + seconds < self.deadline

    def _look(self, parts: tuple[Candidate, ...]) -> Finding:
        began = time.monotonic()
        distances = minimum_distances(self.squares, parse_transformations(text_together(parts)), self.n_jobs)
        return self._find(parts, View.WHOLE, distances, began)

    def _find(self, parts: tuple[Candidate, ...], view: View, distances: np.ndarray, began: float) -> Finding:
        probabilities = left_out_probabilities(distances, self.codes)
        predicted, losses = probabilities.argmax(axis=1), quadratic_losses(probabilities, self.codes)
        is_right = predicted == self.codes
        plain = self.plain.get(view)
        difference = compare_paired(is_right, is_right if plain is None else plain.is_right)
        lead = 0.0 if plain is None else lead_in_errors(losses, plain.losses)
        found = Finding(
            parts, view, _count_together(parts), predicted, is_right, losses, difference, lead, 1.0, Verdict.UNCLEAR,
            time.monotonic() - began,
        )  # fmt: skip
        return found.with_p(chance_of_lead(lead, len(self.codes)))


def _partners(best: Finding, findings: list[Finding]) -> list[Finding]:
    """Of every other family that helps or may help the best that is small enough; those that help first."""
    of_family: dict[str, list[Finding]] = {}
    for finding in findings:
        is_small = finding.n_members * best.n_members <= MAX_MEMBERS
        if finding.view == View.WHOLE and is_small and finding.verdict in (Verdict.HELPS, Verdict.UNCLEAR):
            of_family.setdefault(finding.parts[0].family, []).append(finding)
    for part in best.parts:
        of_family.pop(part.family, None)
    chosen = [_smallest_of_the_best(some) for some in of_family.values()]
    return sorted(chosen, key=lambda finding: (finding.verdict != Verdict.HELPS, finding.losses.mean()))


def _is_better(finding: Finding, best: Finding, helps_alone: bool) -> bool:
    """Whether what was added pays: by one standard error if it helps by itself, else by two.

    The more are tried, the more look good by chance.
    """
    lead = lead_in_errors(finding.losses, best.losses)
    return finding.accuracy > best.accuracy and lead > (1 if helps_alone else 2)


def _smallest_of_the_best(findings: list[Finding]) -> Finding:
    """Of the best one's family, of those within one standard error of it, the set with the fewest members."""
    best = min(findings, key=lambda finding: finding.losses.mean())
    families = [part.family for part in best.parts]
    alike = [
        finding
        for finding in findings
        if [part.family for part in finding.parts] == families and lead_in_errors(best.losses, finding.losses) <= 1
    ]
    return min(alike, key=lambda finding: finding.n_members)


def _count_members(candidate: Candidate) -> int:
    return len(parse_transformations(candidate.text).members((SIDE, SIDE)))


def _count_together(parts: tuple[Candidate, ...]) -> int:
    return int(np.prod([_count_members(part) for part in parts], dtype=int))
