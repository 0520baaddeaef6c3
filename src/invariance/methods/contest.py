"""Methods tried in rounds on more and more images, as long as there is time."""

import time

import numpy as np

from invariance._core.progress import track
from invariance.methods.classifier import ImageClassifier
from invariance.methods.decisions import Basis, Cause, LeftOut, Selection
from invariance.methods.method import Method
from invariance.methods.trial import Fold, Forecast, Timing, Trial, cross_validate

# The figures below were chosen on flowers, textures, faces and digits, so that the best method there wins in time.
TIMES_MORE = 6  # images in the next round
N_FOLDS, N_FOLDS_EARLY = 5, 2  # in the last round, and in earlier ones
ROUND_SHARE = 0.6  # of the time left that a round may take
FIRST_SHARE, FIRST_TRIAL = (
    0.4,
    0.15,
)  # of the budget, after which no further method, no second fold, is started at first
N_ERRORS, N_ERRORS_FIRST = 2, 3  # standard errors by which a method is clearly worse, and in the first round
OVERRUN = 0.25  # of the budget that fitting a method far ahead may take beyond it
CAUTION = 1.2  # factor of expected times


class Contest:
    """What was tried, which methods are left, and how much time."""

    def __init__(self, images, labels, methods: list[Method], left_out: list[LeftOut], budget: float, settings: tuple):
        phi, seed, n_jobs, encoder = settings
        common = dict(n_jobs=n_jobs, random_state=seed, encoder=encoder)
        self.images, self.labels = images, labels
        self.methods = {method.name: method for method in methods}
        self.classifiers = {name: ImageClassifier(name, phi, **common) for name in self.methods}
        self.left_out = {out.method: out for out in left_out}
        self.budget, self.deadline = budget, time.monotonic() + budget
        self.forecasts = {name: Forecast(method.growth, method.startup) for name, method in self.methods.items()}
        self.contenders = [name for name, method in self.methods.items() if not method.combines]
        self.combining = [name for name, method in self.methods.items() if method.combines]
        self.trials: dict[str, Trial] = {}

    def hold_round(self, folds: list[Fold], is_last: bool) -> bool:
        """Try the contenders on the same folds; return whether there may be time for another round.

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
        if is_last:
            self.contenders += self.combining
        earlier, self.trials = self.trials, {}
        n_images = sum(map(len, folds[0]))
        for name in track(list(self.contenders), f"trying methods on {n_images} images"):
            objection = self._objection(name, folds[0])
            if objection is None:
                objection = self._try(name, folds if is_last else folds[:N_FOLDS_EARLY])
            if objection is not None:
                self.left_out[name] = objection._replace(trial=earlier.get(name))
        if not self.trials:
            self.trials = earlier
            return is_first and not is_last
        self._drop_worse(is_first)
        return True

    @property
    def is_settled(self) -> bool:
        """Whether one method is clearly better than all others, and so is tried once more at most, on all images."""
        return bool(self.trials) and len(self.contenders) == 1

    def end_untried(self) -> Selection:
        """Select the first candidate where no class has three images, so that none can be held out."""
        first, *others = self.classifiers
        unseen = [LeftOut(name, Cause.TOO_FEW_IMAGES, "too few images to compare methods") for name in others]
        left_out = [*unseen, *self.left_out.values()]
        return Selection(self.classifiers[first], [], left_out, Basis.UNTRIED, 0, len(self.images), {})

    def end(self) -> Selection:
        """Select the best of those that can be fitted in the time left, or the fastest to fit if none can."""
        if not self.trials:
            reasons = "; ".join(f"{name}: {out.sentence}" for name, out in self.left_out.items())
            raise ValueError(f"no method could learn from these images. {reasons}")
        ranked = sorted(self.trials.values(), key=lambda trial: -trial.accuracy)
        seconds = {trial.name: self.forecasts[trial.name].fit(len(self.images)) for trial in ranked}
        left = self._left()
        in_time = [trial for trial in ranked if seconds[trial.name] <= left]
        is_far_ahead = len(ranked) > 1 and all(_is_clearly_worse(trial, ranked[0], N_ERRORS) for trial in ranked[1:])
        overrun = 0.0
        if ranked[0] not in in_time and is_far_ahead and seconds[ranked[0].name] <= left + OVERRUN * self.budget:
            winner, basis, overrun = ranked[0], Basis.FAR_AHEAD, seconds[ranked[0].name] - left
        elif in_time:
            winner, basis = _best(in_time)
        else:
            winner, basis = min(ranked, key=lambda trial: seconds[trial.name]), Basis.FASTEST_TO_FIT
        slower = {
            trial.name: seconds[trial.name]
            for trial in ranked
            if trial is not winner and trial.accuracy >= winner.accuracy and seconds[trial.name] > left
        }
        left_out = [out for name, out in self.left_out.items() if name not in self.trials]
        known = {*self.trials, *(out.method for out in left_out)}
        left_out += [LeftOut(name, Cause.NO_TIME, "there was no time") for name in self.combining if name not in known]
        n_learned = max(self.forecasts[winner.name].timings)[0]
        classifier = self.classifiers[winner.name]
        return Selection(classifier, ranked, left_out, basis, n_learned, len(self.images), slower, overrun)

    def _left(self) -> float:
        return self.deadline - time.monotonic()

    def _try(self, name: str, folds: list[Fold]) -> LeftOut | None:
        """Try a method; return what went wrong, if anything did."""
        waiting = sum(other not in self.combining for other in self.contenders[self.contenders.index(name) :])
        share = 1.0 if name in self.combining else ROUND_SHARE / waiting
        spare = share * (self._left() - self._reserve(name))
        if not self.forecasts[name].timings and name not in self.combining:
            spare = FIRST_TRIAL * self.budget  # a second fold, because the first also loads compiled code
        stop = time.monotonic() + spare - self._seconds_of_fold(name, folds[0])
        try:
            trial = cross_validate(name, self.classifiers[name], self.images, self.labels, folds, stop)
        except ValueError as error:
            return LeftOut(name, Cause.FAILED, f"it failed: {error}")
        self.trials[name] = trial
        self.forecasts[name].timings.append(Timing(len(folds[0][0]), trial.fit_seconds, trial.image_seconds))
        return None

    def _objection(self, name: str, fold: Fold) -> LeftOut | None:
        """Return why a method is not tried on one more fold; None if it is."""
        if name in self.combining:
            if not self.trials:
                return LeftOut(name, Cause.NO_TIME, "there was no time")
            perfect = [other for other, trial in self.trials.items() if trial.accuracy == 1]
            if perfect:
                return LeftOut(name, Cause.NOTHING_TO_GAIN, f"'{perfect[0]}' made no mistake")
        elif not self.forecasts[name].timings:
            is_late = self.trials and self._left() < (1 - FIRST_SHARE) * self.budget
            return LeftOut(name, Cause.NO_TIME, "the time was needed for others") if is_late else None
        left, needed = self._left(), self._seconds_of_fold(name, fold) + self._reserve(name)
        if CAUTION * needed <= left:
            return None
        return LeftOut(
            name, Cause.TOO_SLOW, f"trying and fitting it takes about {needed:.0f} s, {max(0, left):.0f} s left"
        )

    def _reserve(self, name: str) -> float:
        """Seconds to keep for fitting this method, or the best so far of those that there is time to fit."""
        ranked = sorted(self.trials, key=lambda other: -self.trials[other].accuracy)
        affordable = [seconds for seconds in map(self._seconds_of_fit, ranked) if seconds <= self._left()]
        return max([self._seconds_of_fit(name), *affordable[:1]])

    def _seconds_of_fit(self, name: str) -> float:
        """Expected seconds of fitting all images; 0 where one fast trial says too little about so many more."""
        n_images = len(self.images)
        timings = self.forecasts[name].timings
        if name in self.combining and not timings:
            return self.methods[name].combines * sum(map(self._seconds_of_fit, self.trials))
        if not timings or (len(timings) == 1 and n_images > 2 * TIMES_MORE * timings[0].n_images):
            return 0.0
        return self.forecasts[name].fit(n_images)

    def _seconds_of_fold(self, name: str, fold: Fold) -> float:
        if self.forecasts[name].timings:
            return self.forecasts[name].fold(fold)
        return self.methods[name].combines * sum(self.forecasts[other].fold(fold) for other in self.trials)

    def _drop_slow(self) -> None:
        for name in list(self.contenders):
            seconds, left = self._seconds_of_fit(name), self._left()
            if seconds > left:
                self.contenders.remove(name)
                detail = f"fitting it takes about {seconds:.0f} s, {max(0, left):.0f} s left"
                self.left_out[name] = LeftOut(name, Cause.TOO_SLOW, detail, self.trials.get(name))

    def _drop_worse(self, is_first: bool) -> None:
        """Keep those that are not clearly worse, best first; a first round, being small, has to be clearer."""
        ranked = sorted(self.trials.values(), key=lambda trial: -trial.accuracy)
        best, n_errors = ranked[0], N_ERRORS_FIRST if is_first else N_ERRORS
        self.contenders = [trial.name for trial in ranked if not _is_clearly_worse(trial, best, n_errors)]
        for trial in ranked:
            if trial.name not in self.contenders:
                detail = f"{trial.accuracy:.1%} of {trial.n_judged} correct, '{best.name}' {best.accuracy:.1%}"
                self.left_out[trial.name] = LeftOut(trial.name, Cause.WORSE, detail)


def _behind(trial: Trial, best: Trial) -> tuple[float, float]:
    """Difference in accuracy on the images that both were tried on, and its standard error."""
    both = trial.is_judged & best.is_judged
    difference = best.is_right[both].astype(float) - trial.is_right[both]
    return float(difference.mean()), float(difference.std() / np.sqrt(len(difference)))


def _is_clearly_worse(trial: Trial, best: Trial, n_errors: float) -> bool:
    """Whether it errs twice as often, by so many standard errors; with more images a smaller gap may close."""
    behind, error = _behind(trial, best)
    return 1 - trial.accuracy > 2 * (1 - best.accuracy) and behind > n_errors * error


def _best(ranked: list[Trial]) -> tuple[Trial, Basis]:
    """The fastest to classify of those within one standard error of the first."""
    first = ranked[0]
    close = [trial for trial in ranked if trial is first or np.less_equal(*_behind(trial, first))]
    if len(ranked) == 1:
        return first, Basis.ONLY_ONE
    winner = min(close, key=lambda trial: trial.image_seconds)
    return winner, Basis.MOST_ACCURATE if len(close) == 1 else Basis.FASTER_OF_EQUALS
