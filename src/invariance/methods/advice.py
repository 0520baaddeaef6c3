"""Which invariance helps? Candidates are tried one by one and together, and compared with ignoring nothing."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from invariance._core.checks import check_number
from invariance._core.parallel import one_blas_thread
from invariance._core.progress import track
from invariance._core.running import InThisProcess, OnDask, Work, Workers, give_out
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
    client: Any = None,
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
    client : distributed.Client or None, default=None
        Spreads the candidates over its workers, to which small versions of the images are sent; None tries one after
        the other.

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
    bench = _Bench([images[row] for row in rows], codes[rows], deadline, n_jobs, client)
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

    def __init__(
        self, images: list[np.ndarray], codes: np.ndarray, deadline: float, n_jobs: int | None, client: Any = None
    ):
        self.images, self.codes, self.deadline = images, codes, deadline
        self.n_jobs = n_jobs if client is None else 1
        self.n_jobs_here = n_jobs
        self.workers: Workers = InThisProcess() if client is None else OnDask(client, blocks_per_worker=1)
        self.final = Exception if client is None else ValueError
        self.squares = self.workers.share(as_squares(images, SIDE, 1))
        self.plain: dict[View, Finding] = {}
        self.findings: list[Finding] = []
        self.untried: dict[str, str] = {}
        self._took: list[tuple[float, int]] = []  # seconds and members of whole images, in the order of their ends
        self._seconds: dict[View, float] = {}  # of the last that ended

    def try_whole(self) -> None:
        """Ignore nothing, then each candidate, small sets first."""
        self._compute([()], lambda parts: True, self._work_of_whole, self.squares, View.WHOLE, "trying invariances")
        candidates = [(candidate,) for candidate in sorted(WHOLE, key=_count_members)]
        self.findings += self._look_if_time(candidates, "trying invariances")

    def try_textures(self, seed: int) -> None:
        """Compare words of filter responses at every level of invariance."""
        started = time.monotonic()
        filter_responses(self.images[:1], 1)
        if not self._has_time((time.monotonic() - started) * len(self.images)):
            self.untried[View.TEXTURE] = NO_TIME
            return
        responses = self.workers.share(filter_responses(self.images, self.n_jobs_here))
        level_of = {parts: level for level, parts in TEXTURE.items()}

        def make_work(parts: tuple[Candidate, ...]) -> _JudgeTextures:
            return _JudgeTextures(level_of[parts], seed, self.codes, self.n_jobs)

        def has_time(parts: tuple[Candidate, ...]) -> bool:
            if self._has_time(self._seconds.get(View.TEXTURE, 0.0)):
                return True
            self.untried[f"{name_together(parts)} of textures"] = NO_TIME
            return False

        label = "trying invariances of textures"
        self._compute([()], lambda parts: True, make_work, responses, View.TEXTURE, label)
        others = [parts for parts in level_of if parts]
        self.findings += self._compute(others, has_time, make_work, responses, View.TEXTURE, label)

    def combine(self, best: Finding, findings: list[Finding]) -> tuple[Finding, list[Finding]]:
        """Return the best with what improves it, one family after another; and all that was tried."""
        tried: list[Finding] = []
        while len(best.parts) < MAX_PARTS:
            partners = {add_part(best.parts, partner.parts[0]): partner for partner in _partners(best, findings)}
            found = self._look_if_time(list(partners), "trying combinations")
            tried += found
            better = [
                finding for finding in found
                if _is_better(finding, best, partners[finding.parts].verdict == Verdict.HELPS)
            ]  # fmt: skip
            if not better:
                break
            best = min(better, key=lambda finding: finding.losses.mean())
        return best, tried

    def _look_if_time(self, several: Sequence[tuple[Candidate, ...]], label: str) -> list[Finding]:
        """Ignore each of several sets of parts of whole images for which there is time."""

        def has_time(parts: tuple[Candidate, ...]) -> bool:
            seconds_per_member = max(seconds / n_members for seconds, n_members in self._took[-3:])
            if self._has_time(seconds_per_member * _count_together(parts)):
                return True
            self.untried[name_together(parts)] = NO_TIME
            return False

        return self._compute(several, has_time, self._work_of_whole, self.squares, View.WHOLE, label)

    def _work_of_whole(self, parts: tuple[Candidate, ...]) -> "_JudgeWhole":
        return _JudgeWhole(text_together(parts), self.codes, self.n_jobs)

    def _compute(
        self,
        several: Sequence[tuple[Candidate, ...]],
        has_time: Callable[[tuple[Candidate, ...]], bool],
        make_work: Callable[[tuple[Candidate, ...]], Work],
        shared: Any,
        view: View,
        label: str,
    ) -> list[Finding]:
        """Compute the findings of several sets of parts, as many at a time as there are workers; in their order."""
        judged: dict[int, tuple[np.ndarray, float]] = {}

        def drawn() -> Iterator[int]:
            for number in track(range(len(several)), label):
                if has_time(several[number]):
                    yield number

        for ended in give_out(
            drawn(), lambda number: make_work(several[number]), self.workers, [shared], final=self.final
        ):
            for number, result, error in ended:
                if error is not None:
                    raise error
                judged[number] = result
                self._seconds[view] = result[1]
                if view == View.WHOLE:
                    self._took.append((result[1], _count_together(several[number])))
        return [self._find(several[number], view, *judged[number]) for number in sorted(judged)]

    def _has_time(self, seconds: float) -> bool:
        return time.monotonic() + seconds < self.deadline

    def _find(self, parts: tuple[Candidate, ...], view: View, probabilities: np.ndarray, seconds: float) -> Finding:
        """Compare with ignoring nothing, which is found first."""
        predicted, losses = probabilities.argmax(axis=1), quadratic_losses(probabilities, self.codes)
        is_right = predicted == self.codes
        plain = self.plain.get(view)
        difference = compare_paired(is_right, is_right if plain is None else plain.is_right)
        lead = 0.0 if plain is None else lead_in_errors(losses, plain.losses)
        found = Finding(
            parts, view, _count_together(parts), predicted, is_right, losses, difference, lead, 1.0, Verdict.UNCLEAR,
            seconds,
        )  # fmt: skip
        found = found.with_p(chance_of_lead(lead, len(self.codes)))
        self.plain.setdefault(view, found)
        return found


@dataclass(frozen=True)
class _JudgeWhole:
    """Classify every image by all others, ignoring something. A callable that can be sent to a worker."""

    text: str
    codes: np.ndarray
    n_jobs: int | None

    def __call__(self, squares: np.ndarray) -> tuple[np.ndarray, float]:
        """Return class probabilities and the seconds that they took."""
        began = time.monotonic()
        with one_blas_thread():
            distances = minimum_distances(squares, parse_transformations(self.text), self.n_jobs)
            return left_out_probabilities(distances, self.codes), time.monotonic() - began


@dataclass(frozen=True)
class _JudgeTextures:
    """The same by words of filter responses, at a level of invariance."""

    level: str
    seed: int
    codes: np.ndarray
    n_jobs: int | None

    def __call__(self, responses: list[np.ndarray]) -> tuple[np.ndarray, float]:
        """Return class probabilities and the seconds that they took."""
        began = time.monotonic()
        with one_blas_thread():
            distances = texture_distances(responses, self.level, self.seed, self.n_jobs)
            return left_out_probabilities(distances, self.codes), time.monotonic() - began


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
