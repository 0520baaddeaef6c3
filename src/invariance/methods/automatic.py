"""The method for a set of images: chosen by trying some out on images held out, within a budget of seconds."""

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from invariance._core.checks import check_number
from invariance._core.progress import track
from invariance.images import encode_labels
from invariance.methods.catalogue import COMBINED, COMBINED_TIMES, LARGE, METHODS
from invariance.methods.classifier import ImageClassifier
from invariance.methods.facts import Facts, learn_facts
from invariance.methods.forecast import Forecast, Timing
from invariance.methods.trial import Fold, Trial, cross_validate, draw_folds
from invariance.transformations import TransformationSet

N_FIRST = 40  # images that methods are first tried on, mostly to see how long they take
TIMES_MORE = 6  # images in the next round
N_FOLDS, N_FOLDS_EARLY = 5, 2  # in the last round, and in those before
CHEAP_SHARE = 0.6  # of the time left that the others may take in a round
FIRST_SHARE, FIRST_TRIAL = 0.4, 0.15  # of the budget: after these no further method, no second fold, at first
N_ERRORS, N_ERRORS_FIRST = 2, 3  # standard errors by which a method is clearly worse, and in the first round
OVERRUN = 0.25  # of the budget that fitting a method far ahead may take beyond it
CAUTION = 1.2  # forecasts are multiplied by it
NO_TIME = ("the time was needed for the others", "there was no time for it")


class Choice(NamedTuple):
    """The classifier chosen, not fitted yet; the trials of the last round, best first; why the others are not there.

    `n_learned` is how many images the winner learned from there. `reason` says in plain words what was tried, with
    figures, and why the winner won.
    """

    classifier: ImageClassifier
    trials: list[Trial]
    skipped: dict[str, str]
    reason: str
    n_learned: int


def choose(
    images: Sequence[np.ndarray],
    labels: Any,
    transformations: TransformationSet | None = None,
    budget: float = 300.0,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Choice:
    """Choose a method for images (h, w) or (h, w, c) and their labels (n,), so that fitting it ends in time.

    Methods are tried in rounds of 40, 240, 1440, ... images and at last all. A method goes on if it is not clearly
    worse than the best and if trying and fitting it are expected to fit into what is left of `budget` seconds; if it
    is alone, straight to the last round, where it meets the trade-off. Of those of the last round, the one that is
    most often right is chosen; of those within one standard error of it (of the difference, on the same images), the
    quickest to classify.

    What is tried depends on the speed of the machine, so the same seed may choose another method elsewhere.
    """
    check_number("budget", budget, 0)
    _, codes = encode_labels(labels, len(images))
    facts = learn_facts(images, codes)
    candidates, skipped = _candidates(facts)
    classifiers = {
        name: ImageClassifier(name, transformations, n_jobs=n_jobs, random_state=random_state) for name in candidates
    }
    if np.bincount(codes).max() < 3:
        name = candidates[0]
        reason = f"No class has three images, so nothing could be tried; '{name}' is the first choice for such few."
        return Choice(classifiers[name], [], dict.fromkeys(candidates[1:], "too few images") | skipped, reason, 0)
    contest = _Contest(images, labels, classifiers, skipped, budget)
    for size in _sizes(facts):
        if contest.is_settled and size < len(images):
            continue
        if not contest.hold_round(draw_folds(labels, N_FOLDS, size, random_state), is_last=size == len(images)):
            break
    return contest.end()


class _Contest:
    """What was tried so far, what is still in the running, and how much time is left."""

    def __init__(
        self,
        images: Sequence[np.ndarray],
        labels: Any,
        classifiers: dict[str, ImageClassifier],
        skipped: dict[str, str],
        budget: float,
    ):
        self.images, self.labels, self.classifiers, self.skipped = images, labels, classifiers, skipped
        self.budget, self.deadline = budget, time.monotonic() + budget
        self.forecasts = {name: Forecast(METHODS[name].growth) for name in classifiers}
        self.contenders = [name for name in classifiers if name != COMBINED]
        self.trials: dict[str, Trial] = {}

    def hold_round(self, folds: list[Fold], is_last: bool) -> bool:
        """Try the contenders on the same folds; returns whether there may be time for another round.

        A round that the best so far could not take part in is not held, and the one before decides, unless that was
        the first, which is too small to decide anything.
        """
        is_first = not self.trials
        if not is_first:
            self._drop_slow()
            if not self.contenders:
                return False
            leader = self.contenders[0]
            if len(self.forecasts[leader].timings) > 1 and self._objection(leader, folds[0]):
                return False
        if is_last and COMBINED in self.classifiers:
            self.contenders.append(COMBINED)
        earlier, self.trials = self.trials, {}
        n_images = sum(map(len, folds[0]))
        for name in track(list(self.contenders), f"trying methods on {n_images} images"):
            objection = self._objection(name, folds[0])
            if not objection:
                objection = self._try(name, folds if is_last else folds[:N_FOLDS_EARLY])
            if objection:
                self.skipped[name] = _seen(earlier.get(name)) + objection
        if not self.trials:
            self.trials = earlier
            return is_first and not is_last
        self._drop_worse(is_first)
        return True

    @property
    def is_settled(self) -> bool:
        """Whether one method is clearly better than all others, and so is tried once more at most, on everything."""
        return bool(self.trials) and len(self.contenders) == 1

    def end(self) -> Choice:
        """The best of those that can be fitted in the time left, or the quickest to fit if none can."""
        if not self.trials:
            reasons = "; ".join(f"{name}: {why}" for name, why in self.skipped.items())
            raise ValueError(f"no method could learn from these images. {reasons}")
        skipped = {name: why for name, why in self.skipped.items() if name not in self.trials}
        ranked = sorted(self.trials.values(), key=lambda trial: -trial.accuracy)
        seconds = {trial.name: self.forecasts[trial.name].fit(len(self.images)) for trial in ranked}
        left = self._left()
        in_time = [trial for trial in ranked if seconds[trial.name] <= left]
        far_ahead = len(ranked) > 1 and all(_is_clearly_worse(trial, ranked[0], N_ERRORS) for trial in ranked[1:])
        if ranked[0] not in in_time and far_ahead and seconds[ranked[0].name] <= left + OVERRUN * self.budget:
            winner = ranked[0]
            why = f"'{winner.name}' is so far ahead that it may take some {seconds[winner.name] - left:.0f} s too long"
        elif in_time:
            winner, why = _best(in_time)
        else:
            winner = min(ranked, key=lambda trial: seconds[trial.name])
            why = f"fitting any may take longer than the {max(0, left):.0f} s left; '{winner.name}' is the quickest"
        for trial in ranked:
            if trial is not winner and trial.accuracy >= winner.accuracy and seconds[trial.name] > left:
                why += f"; '{trial.name}' would take about {seconds[trial.name]:.0f} s to fit"
        n_learned = max(self.forecasts[winner.name].timings)[0]
        if 2 * n_learned < len(self.images):
            why += f"; there was no time to learn from more than {n_learned} images before choosing"
        if COMBINED in self.classifiers and COMBINED not in {**self.trials, **skipped}:
            skipped[COMBINED] = NO_TIME[1]
        reason = f"{_what_was_tried(ranked)} {why[0].upper()}{why[1:]}."
        if skipped:
            reason += " Left out: " + "; ".join(f"{name} ({why})" for name, why in skipped.items()) + "."
        if any(why.endswith(("were left", *NO_TIME)) for why in skipped.values()):
            reason += " A larger budget would try more."
        return Choice(self.classifiers[winner.name], ranked, skipped, reason, n_learned)

    def _left(self) -> float:
        return self.deadline - time.monotonic()

    def _try(self, name: str, folds: list[Fold]) -> str:
        """Try a method out; returns what went wrong, if anything did."""
        waiting = sum(other != COMBINED for other in self.contenders[self.contenders.index(name) :])
        share = CHEAP_SHARE / waiting if name != COMBINED else 1.0
        spare = share * (self._left() - self._reserve(name))
        if not self.forecasts[name].timings and name != COMBINED:
            spare = FIRST_TRIAL * self.budget  # a second fold, because the first also loads compiled code
        stop = time.monotonic() + spare - self._seconds_of_fold(name, folds[0])
        try:
            trial = cross_validate(name, self.classifiers[name], self.images, self.labels, folds, stop)
        except ValueError as error:
            return f"it failed: {error}"
        self.trials[name] = trial
        self.forecasts[name].timings.append(Timing(len(folds[0][0]), trial.fit_seconds, trial.image_seconds))
        return ""

    def _objection(self, name: str, fold: Fold) -> str:
        """Why there is no time to try a method on one more fold; empty if there is."""
        if name == COMBINED:
            if not self.trials:
                return NO_TIME[1]  # not even for the others, whose time tells how long it takes
            perfect = [other for other, trial in self.trials.items() if trial.accuracy == 1]
            if perfect:
                return f"'{perfect[0]}' made no mistake that it could mend"
        elif not self.forecasts[name].timings:
            is_late = self.trials and self._left() < (1 - FIRST_SHARE) * self.budget
            return NO_TIME[0] if is_late else ""
        left, needed = self._left(), self._seconds_of_fold(name, fold) + self._reserve(name)
        if CAUTION * needed <= left:
            return ""
        return f"trying and fitting it takes about {needed:.0f} s, and {max(0, left):.0f} s were left"

    def _reserve(self, name: str) -> float:
        """Seconds to keep for fitting this method, or the best so far of those that there is time to fit."""
        ranked = sorted(self.trials, key=lambda other: -self.trials[other].accuracy)
        affordable = [seconds for seconds in map(self._seconds_of_fit, ranked) if seconds <= self._left()]
        return max([self._seconds_of_fit(name), *affordable[:1]])

    def _seconds_of_fit(self, name: str) -> float:
        """Expected seconds of fitting all images; 0 where one quick trial says too little about so many more."""
        n_images = len(self.images)
        if name == COMBINED and not self.forecasts[name].timings:
            return COMBINED_TIMES * sum(map(self._seconds_of_fit, self.trials))
        timings = self.forecasts[name].timings
        if not timings or (len(timings) == 1 and n_images > 2 * TIMES_MORE * timings[0].n_images):
            return 0.0
        return self.forecasts[name].fit(n_images)

    def _seconds_of_fold(self, name: str, fold: Fold) -> float:
        if name == COMBINED and not self.forecasts[name].timings:
            return COMBINED_TIMES * sum(self.forecasts[other].fold(fold) for other in self.trials)
        return self.forecasts[name].fold(fold) if self.forecasts[name].timings else 0.0

    def _drop_slow(self) -> None:
        for name in list(self.contenders):
            seconds, left = self._seconds_of_fit(name), self._left()
            if seconds > left:
                self.contenders.remove(name)
                shortage = f"fitting it takes about {seconds:.0f} s, and {max(0, left):.0f} s were left"
                self.skipped[name] = _seen(self.trials.get(name)) + shortage

    def _drop_worse(self, is_first: bool) -> None:
        """Keep those tried that are not clearly worse, best first; a first round, being small, has to be clearer."""
        ranked = sorted(self.trials.values(), key=lambda trial: -trial.accuracy)
        n_errors = N_ERRORS_FIRST if is_first else N_ERRORS
        self.contenders = [t.name for t in ranked if not _is_clearly_worse(t, ranked[0], n_errors)]
        for trial in ranked:
            if trial.name in self.contenders:
                continue
            compared = f"{_right(trial)} right, where '{ranked[0].name}' had {_right(ranked[0])}"
            self.skipped[trial.name] = f"on {trial.is_judged.sum()} images {compared}"


def _candidates(facts: Facts) -> tuple[list[str], dict[str, str]]:
    """Methods by the size of the images, the likeliest to be quick and good first; and why others are none."""
    names = ["codebook", "jungle", "hierarchy", "tangent", "texture", "objects", COMBINED]
    skipped: dict[str, str] = {}
    if facts.side < LARGE:
        names = ["tangent", *names[:3], COMBINED]
        too_small = f"images of {facts.height} x {facts.width} pixels are too small for it"
        skipped |= {"texture": too_small, "objects": too_small}
    for name in list(names):
        if facts.n_images > METHODS[name].most:
            names.remove(name)
            skipped[name] = f"it takes at most {METHODS[name].most} images"
    return names, skipped


def _sizes(facts: Facts) -> list[int]:
    """Numbers of images in the rounds; the last has all."""
    sizes, size = [], max(N_FIRST, 4 * facts.n_classes)
    while 1.5 * size < facts.n_images:
        sizes.append(size)
        size *= TIMES_MORE
    return [*sizes, facts.n_images]


def _behind(trial: Trial, best: Trial) -> tuple[float, float]:
    """How much smaller its share right is on the images that both were tried on, and the standard error of that."""
    both = trial.is_judged & best.is_judged
    difference = best.is_right[both].astype(float) - trial.is_right[both]
    return float(difference.mean()), float(difference.std() / np.sqrt(len(difference)))


def _is_clearly_worse(trial: Trial, best: Trial, n_errors: float) -> bool:
    """Whether it errs twice as often, by so many standard errors; with more images a smaller gap may close."""
    behind, error = _behind(trial, best)
    return 1 - trial.accuracy > 2 * (1 - best.accuracy) and behind > n_errors * error


def _best(ranked: list[Trial]) -> tuple[Trial, str]:
    """The quickest to classify of those within one standard error of the first, and why."""
    first = ranked[0]
    close = [trial for trial in ranked if trial is first or np.less_equal(*_behind(trial, first))]
    winner = min(close, key=lambda trial: trial.image_seconds)
    if len(ranked) == 1:
        return winner, f"'{winner.name}' is the only one that could be tried and fitted in time"
    if len(close) == 1:
        return winner, f"'{winner.name}' is most often right, by more than one standard error"
    others = " and ".join(f"'{trial.name}'" for trial in close if trial is not winner)
    return winner, f"'{winner.name}' is within one standard error of the best, and classifies faster than {others}"


def _what_was_tried(ranked: list[Trial]) -> str:
    listed = ", ".join(f"{trial.name} {_right(trial)} of {trial.is_judged.sum()}" for trial in ranked)
    return f"Images held out and classified right: {listed}."


def _seen(trial: Trial | None) -> str:
    """How a method did in the round before, if it was tried."""
    return f"{_right(trial)} of {trial.is_judged.sum()} right at first; " if trial is not None else ""


def _right(trial: Trial) -> str:
    return f"{trial.accuracy:.1%}"
