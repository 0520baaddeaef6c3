"""A race of methods: all are tried on the same held-out images, losers are dropped, and leaders are fitted."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from invariance.methods.decisions import Basis, Cause, LeftOut, Selection, Stage, Step
from invariance.methods.heats import TIMES_LAST, TIMES_MORE, Heat
from invariance.methods.leads import N_ERRORS, N_ERRORS_AHEAD, N_SETTLED, gain, is_ahead, is_clearly_worse
from invariance.methods.limits import Limit
from invariance.methods.runner import Model, Runner
from invariance.methods.trial import draw_part

# Shares of the budget, set by what a minute has to hold; they were not searched.
FIRST_FIT_SHARE, FIRST_FIT_SECONDS = 0.1, 4.0  # for fitting the first model, so that it is there after 10 to 15 s
LATE_SHARE = 0.4  # after which no method is tried for the first time: the rest is for trials on more images and the fit
TRIAL_SHARE = 0.15  # for trying a method for the first time, beside fitting one that is made for such images
OVERRUN_SHARE = 0.25  # by which fitting a method that is ahead may end later
REFIT_SHARE = 0.15  # of the time left that is spent on fitting a better method before the race is over
ENOUGH_JUDGED = 100  # images: the accuracy of a method that has no rival left is known to some per cent
INDIFFERENT = 0.0025  # difference in accuracy below which speed decides: two images of 1,000


class Choice(NamedTuple):
    """The runner to fit, on what basis, those ahead of it that would take too long, and the expected overrun."""

    runner: Runner
    basis: Basis
    slower: dict[str, float]
    overrun: float = 0.0


class Race:
    """What was tried, which methods are left, and the model that is there.

    Parameters
    ----------
    images : sequence of ndarray
    labels : array-like of shape (n,)
    runners : list of Runner
        In the order of trying.
    left_out : iterable of LeftOut
        Methods that do not take part.
    limit : Limit
    rng : numpy.random.Generator
        Draws the images of a first model where there is no time for all.
    """

    def __init__(
        self,
        images: Sequence[np.ndarray],
        labels: Any,
        runners: list[Runner],
        left_out: Iterable[LeftOut],
        limit: Limit,
        rng: np.random.Generator,
    ):
        self.images, self.labels, self.limit, self.rng = images, labels, limit, rng
        self.runners = runners
        self.contenders = [runner for runner in runners if not runner.method.combines]
        self.combining = [runner for runner in runners if runner.method.combines]
        self.left_out = {out.method: out for out in left_out}
        self.model: Model | None = None
        self.n_trials = 0
        self._has_rivals = True  # whether the leader was not the only one that there was time to try in the last heat

    def run(self, heats: Iterable[Heat]) -> Iterator[Step | Selection]:
        """Yield what is tried, and a selection whenever a better model was fitted; the last one is the result."""
        for heat in heats:
            if self._is_over(heat):
                break
            if not self._is_settled(heat):
                yield from self._hold(heat)
        yield from self._finish()

    def run_untried(self) -> Iterator[Step | Selection]:
        """Fit the first method that can be fitted, where no class has three images, so that none can be held out."""
        for runner in list(self.runners):
            yield from self._fit(runner, Choice(runner, Basis.UNTRIED, {}))
            if self.model is not None:
                return
        self._give_up()

    # -- heats

    def _is_over(self, heat: Heat) -> bool:
        """Whether the race ends: nothing is left to try, or no time for the leader to run again.

        A leader on few of the images that has no time to run on more is left behind, if others can run: who leads on a
        small part says little about all. One that is made for such images is not left behind.
        """
        if heat.starts_rung:
            self._drop_slow()
        if self._is_spent() or not self._has_rivals or not (self.contenders or self.combining):
            return True
        suited = self._suited() if heat.starts_rung else None
        if suited is not None and self._too_slow(suited, heat) is not None:
            return True
        ranked = self._ranked()
        n_learned = ranked[0].n_learned if ranked else 0
        is_early = heat.starts_rung and n_learned < N_SETTLED and TIMES_MORE * n_learned < len(self.images)
        needed = ranked if is_early else ranked[:1]
        return bool(ranked) and all(self._too_slow(runner, heat) is not None for runner in needed)

    def _is_spent(self) -> bool:
        """Whether the limit is reached; a limit of time counts from the first model on, so that there is one."""
        return self.limit.is_reached() and not (self.limit.is_timed and self.model is None)

    def _is_settled(self, heat: Heat) -> bool:
        """Whether this heat would tell nothing: one method is left, or the leader makes no mistakes."""
        ranked = self._ranked()
        if not ranked or (heat.starts_rung and heat.is_full and self.combining):
            return False
        leader, n_images = ranked[0].trial, len(self.images)
        if len(self.contenders) == 1:
            is_judged = leader.n_judged >= min(ENOUGH_JUDGED, n_images // 2)
            return not heat.starts_rung and (is_judged if heat.is_full else ranked[0].is_known(n_images))
        return leader.accuracy == 1 and leader.n_judged >= ENOUGH_JUDGED

    def _hold(self, heat: Heat) -> Iterator[Step | Selection]:
        """Try all contenders on a fold, the best so far first; drop losers; fit the leader if that takes little."""
        ranked = self._ranked()
        order = [*ranked, *(runner for runner in self.contenders if runner not in ranked)]
        if heat.is_full and heat.starts_rung:
            order += self.combining
            self.contenders += self.combining
            self.combining = []
        n_before = self.n_trials
        for runner in order:
            if self._is_spent():
                break
            objection = self._objection(runner, heat)
            if objection is not None:
                if runner.rung != heat.rung:
                    self._leave_out(runner, *objection)
                continue
            yield self._step(Stage.TRYING, runner, len(heat.fold[0]))
            if self._try(runner, heat) and self.model is None:
                yield from self._fit(runner, rows=self._first_rows(runner))
        self._has_rivals = self.n_trials > n_before + 1 or len(self.contenders) == 1
        self._drop_worse(heat)
        if self._is_worth_fitting(heat):
            yield from self._fit(self._ranked()[0])

    def _try(self, runner: Runner, heat: Heat) -> bool:
        """Return whether a method could be tried."""
        self.limit.spend()
        self.n_trials += 1
        try:
            runner.run(self.images, self.labels, heat)
        except ValueError as error:
            self._leave_out(runner, Cause.FAILED, f"it failed: {error}")
            return False
        return True

    def _objection(self, runner: Runner, heat: Heat) -> tuple[Cause, str] | None:
        """Return why a method is not tried on a heat; None if it is."""
        if runner.method.combines:
            perfect = next((other for other in self._ranked() if other.trial.accuracy == 1), None)
            if perfect is not None:
                return Cause.NOTHING_TO_GAIN, f"'{perfect.name}' made no mistake on {perfect.trial.n_judged} images"
        elif not runner.forecast.timings:
            is_short = self.limit.left() - self._seconds_of_suited() < self.limit.seconds(TRIAL_SHARE)
            is_late = self.model is not None and (self.limit.share_spent() > LATE_SHARE or is_short)
            return (Cause.NO_TIME, "the time left is kept for those tried before") if is_late else None
        return self._too_slow(runner, heat)

    def _too_slow(self, runner: Runner, heat: Heat) -> tuple[Cause, str] | None:
        """Return that trying and then fitting a method, or the leader, would take too long; None if not."""
        needed = self._seconds_of_fold(runner, heat) + self._reserve(runner)
        if self.limit.allows(needed):
            return None
        left = max(0.0, self.limit.left())
        return Cause.TOO_SLOW, f"trying and fitting it takes about {needed:.0f} s, {left:.0f} s left"

    def _reserve(self, runner: Runner) -> float:
        """Seconds to keep for fitting this method, or the best so far of those that there is time to fit."""
        left = self.limit.left()
        forecast = [other for other in self._ranked() if not other.is_guess(len(self.images))]
        leaders = [seconds for seconds in map(self._seconds_to_have, forecast) if seconds <= left]
        return max([self._least_seconds_to_have(runner), min(left, self._seconds_of_suited()), *leaders[:1]])

    def _seconds_of_suited(self) -> float:
        suited = self._suited()
        return 0.0 if suited is None else self._seconds_to_have(suited)

    def _seconds_to_have(self, runner: Runner) -> float:
        """Expected seconds until there is a model of a method, of all images; 0 if it is there."""
        if self._is_fitted(runner):
            return 0.0
        if runner.method.combines and not runner.forecast.timings:
            return runner.method.combines * sum(other.seconds_of_fit(len(self.images)) for other in self._timed())
        return runner.seconds_of_fit(len(self.images))

    def _least_seconds_to_have(self, runner: Runner) -> float:
        """The same at least: a method is not left out because all that takes time on few images might grow."""
        expected = self._seconds_to_have(runner)
        return min(expected, runner.least_seconds_of_fit(len(self.images))) if runner.forecast.timings else expected

    def _seconds_of_fold(self, runner: Runner, heat: Heat) -> float:
        if runner.forecast.timings:
            return runner.seconds_of_fold(heat)
        return runner.method.combines * sum(other.seconds_of_fold(heat) for other in self._timed())

    def _timed(self) -> list[Runner]:
        return [runner for runner in self.runners if runner.forecast.timings]

    # -- losers

    def _drop_slow(self) -> None:
        """Leave out what cannot be fitted any more, not even with the overrun of a method ahead; but not all."""
        left = self.limit.left() + self.limit.seconds(OVERRUN_SHARE)
        seconds = {runner: self._least_seconds_to_have(runner) for runner in self.contenders}
        if all(expected > left for expected in seconds.values()):
            return
        for runner, expected in seconds.items():
            if expected > left:
                self._leave_out(runner, Cause.TOO_SLOW, f"fitting it takes about {expected:.0f} s, {left:.0f} s left")

    def _drop_worse(self, heat: Heat) -> None:
        """Leave out what is clearly worse, on the same images, than another that there is time to fit."""
        ranked = self._ranked()
        rivals = [runner for runner in ranked if self._may_be_fitted(runner)]
        for runner in ranked:
            better = (rival for rival in rivals if is_clearly_worse(runner, rival, heat, len(self.images)))
            rival = next(better, None)
            if rival is not None:
                seen = f"{runner.trial.accuracy:.1%} of {runner.trial.n_judged} correct"
                detail = f"{seen}, '{rival.name}' {rival.trial.accuracy:.1%}"
                self._leave_out(runner, Cause.WORSE, detail)

    def _may_be_fitted(self, runner: Runner) -> bool:
        """Whether all images can be fitted: trials on few do not tell where time grows faster than their number."""
        if not self.limit.is_timed:
            return True
        is_known = runner.method.growth == 1 or runner.is_known(len(self.images))
        return is_known and self._seconds_to_have(runner) <= self.limit.left()

    def _leave_out(self, runner: Runner, cause: Cause, detail: str) -> None:
        if runner in self.contenders:
            self.contenders.remove(runner)
        seen = None if cause == Cause.WORSE else runner.last_trial
        self.left_out[runner.name] = LeftOut(runner.name, cause, detail, seen)

    # -- leaders

    def _ranked(self) -> list[Runner]:
        """The contenders on the last rung that any is on, the best first; ties in the order of trying."""
        rung = max((runner.rung for runner in self.contenders), default=-1)
        tried = [runner for runner in self.contenders if runner.rung == rung >= 0]
        if not tried:
            return []
        most = max(tried, key=lambda runner: (runner.trial.n_judgements.sum(), runner.trial.accuracy))
        return sorted(tried, key=lambda runner: -gain(runner.trial, most.trial)[0])

    def _is_fitted(self, runner: Runner) -> bool:
        return self.model is not None and self.model.runner is runner and self.model.n_fitted == len(self.images)

    def _is_worth_fitting(self, heat: Heat) -> bool:
        """Whether the leader is a better model than the one that is there, and takes little of the time left.

        On the first of several rungs, which is small, it must be ahead of all others: who leads there often does not
        lead on the next.
        """
        ranked = self._ranked()
        if not ranked or self.model is None or self._is_fitted(ranked[0]):
            return False
        if heat.rung == 0 and not heat.is_full and not is_ahead(ranked):
            return False
        is_known = not self.limit.is_timed or ranked[0].is_known(len(self.images))
        if not is_known or ranked[0].seconds_of_fit(len(self.images)) > REFIT_SHARE * self.limit.left():
            return False
        present, is_whole = self.model.runner, self.model.n_fitted == len(self.images)
        if present not in ranked[1:]:
            return True
        lead, error = gain(ranked[0].trial, present.trial)
        return lead > (N_ERRORS if is_whole else N_ERRORS_AHEAD) * error

    def _finish(self) -> Iterator[Step | Selection]:
        """Fit the best, unless it is there; the next one if that fails."""
        while self._ranked():
            choice = self._choose()
            if self._is_fitted(choice.runner):
                yield self._select(choice)
                return
            left = self.limit.left() + self.limit.seconds(OVERRUN_SHARE)
            is_known = choice.runner.is_known(len(self.images))
            is_in_time = is_known and self._seconds_to_have(choice.runner) <= left
            rows = self._rows_for(choice.runner, math.inf if is_in_time else self.limit.left())
            yield from self._fit(choice.runner, choice, rows)
            if self.model is not None and self.model.runner is choice.runner:
                return
        self._give_up()

    def _choose(self) -> Choice:
        """Choose the best that can be fitted in the time left; of those as accurate, the fastest to classify."""
        ranked, left = self._ranked(), self.limit.left()
        seconds = {runner.name: self._seconds_to_have(runner) for runner in ranked}
        in_time = [runner for runner in ranked if seconds[runner.name] <= left] or ranked[:1]
        best, overrun = in_time[0], seconds[ranked[0].name] - left
        if 0 < overrun <= self.limit.seconds(OVERRUN_SHARE) and is_ahead(ranked):
            return Choice(ranked[0], Basis.AHEAD, {}, overrun)
        suited = self._suited()
        if suited is not None and not (suited is ranked[0] and overrun <= 0 and is_ahead(ranked)):
            return Choice(suited, Basis.SUITED, {}, max(0.0, seconds[suited.name] - left))
        slower = {runner.name: seconds[runner.name] for runner in ranked[: ranked.index(best)]}
        if len(in_time) == 1:
            is_alone = not any(out.cause == Cause.WORSE for out in self.left_out.values())
            return Choice(best, Basis.ONLY_ONE if is_alone or slower else Basis.MOST_ACCURATE, slower)
        close = [runner for runner in in_time if gain(best.trial, runner.trial)[0] <= INDIFFERENT]
        if len(close) > 1 and self.limit.is_timed:
            fastest = min(close, key=lambda runner: runner.trial.image_seconds)
            return Choice(fastest, Basis.FASTER_OF_EQUALS, slower)
        if len(close) > 1:
            return Choice(min(close, key=self.runners.index), Basis.FIRST_OF_EQUALS, slower)
        is_clear = np.greater(*gain(best.trial, in_time[1].trial))
        return Choice(best, Basis.MOST_ACCURATE if is_clear else Basis.NARROWLY, slower)

    def _suited(self) -> Runner | None:
        """The first that is made for such images, can be fitted, and is not clearly behind on the first rung.

        None if there are not far more images than on that rung: with more images such a method gains more than others,
        so that a lead on few is no reason to take another.
        """
        ranked = self._ranked()
        if not ranked or ranked[0].rung > 0 or TIMES_LAST * ranked[0].n_learned >= len(self.images):
            return None
        left = self.limit.left() + self.limit.seconds(OVERRUN_SHARE)
        for runner in sorted(ranked, key=self.runners.index):
            behind, error = gain(ranked[0].trial, runner.trial)
            if runner.is_suited and behind <= N_ERRORS * error and self._seconds_to_have(runner) <= left:
                return runner
        return None

    # -- models

    def _first_rows(self, runner: Runner) -> np.ndarray:
        """The rows of the first model; all where time does not matter."""
        seconds = min(FIRST_FIT_SECONDS, self.limit.seconds(FIRST_FIT_SHARE))
        return self._rows_for(runner, seconds if self.limit.is_timed else math.inf)

    def _rows_for(self, runner: Runner, seconds: float) -> np.ndarray:
        """All rows, or as many drawn of every class as are expected to be fitted in time."""
        n_images = len(self.images)
        n_drawn = n_images if math.isinf(seconds) else max(runner.n_learned, runner.forecast.reach(seconds))
        if n_drawn >= n_images:
            return np.arange(n_images)
        return draw_part(self.labels, n_drawn, 0, self.rng)[0]

    def _fit(
        self, runner: Runner, choice: Choice | None = None, rows: np.ndarray | None = None
    ) -> Iterator[Step | Selection]:
        """Fit a method and yield the selection so far, or the last one; a method that fails is left out."""
        rows = np.arange(len(self.images)) if rows is None else rows
        yield self._step(Stage.FITTING, runner, len(rows))
        try:
            self.model = runner.fit(self.images, self.labels, rows)
        except ValueError as error:
            self._leave_out(runner, Cause.FAILED, f"it failed: {error}")
            return
        yield self._select(choice or Choice(runner, Basis.SO_FAR, {}))

    def _step(self, stage: Stage, runner: Runner, n_images: int) -> Step:
        ranked = self._ranked()
        return Step(stage, runner.name, n_images, ranked[0].trial if ranked else None, self.limit.left())

    def _select(self, choice: Choice) -> Selection:
        """The model that is there, and why."""
        assert self.model is not None
        runner, ranked = self.model.runner, self._ranked()
        if runner not in ranked and runner.last_trial is not None:
            ranked = [*ranked, runner]
        compared = {other.name for other in ranked}
        left_out = [out for out in self.left_out.values() if out.method not in compared]
        known = compared | {out.method for out in left_out}
        left_out += [self._not_tried(other) for other in self.runners if other.name not in known | {runner.name}]
        return Selection(
            self.model.classifier,
            self.model.n_fitted,
            self.model.seconds,
            [other.trial for other in ranked],
            left_out,
            choice.basis,
            runner.n_learned,
            len(self.images),
            self.n_trials,
            sum(other.n_found for other in self.runners),
            choice.slower,
            choice.overrun,
        )

    def _not_tried(self, runner: Runner) -> LeftOut:
        """A method that the race ended before, on the last rung or on any."""
        if not self.n_trials:
            return LeftOut(runner.name, Cause.TOO_FEW_IMAGES, "too few images to compare methods")
        if self.limit.is_timed:
            return LeftOut(runner.name, Cause.NO_TIME, "there was no time", runner.last_trial)
        return LeftOut(runner.name, Cause.NO_TRIALS_LEFT, "all trials were spent", runner.last_trial)

    def _give_up(self) -> None:
        reasons = "; ".join(f"{name}: {out.sentence}" for name, out in self.left_out.items())
        raise ValueError(f"no method could learn from these images. {reasons}")
