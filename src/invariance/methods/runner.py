"""A method in a race: what it was tried on, its model, and how long it takes."""

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from invariance.methods.classifier import ImageClassifier
from invariance.methods.forecast import Forecast, Timing
from invariance.methods.heats import TIMES_MORE, Heat
from invariance.methods.kept_trials import KeptTrials
from invariance.methods.limits import Limit
from invariance.methods.method import Method
from invariance.methods.trial import Judged, Trial, join_folds, judge_fold


class Runner:
    """A method in a race: its trials on the last rung that it was on, and how long it takes.

    `n_found` is the number of trials that were known from an earlier race.

    Parameters
    ----------
    method : Method
    classifier : ImageClassifier
    n_images : int
    kept : KeptTrials
        What earlier races found out.
    limit : Limit
        Is charged with the time that something took in an earlier race, so that this one ends where that one did.
    is_suited : bool
        Whether the method is made for images of this kind.
    """

    def __init__(
        self,
        method: Method,
        classifier: ImageClassifier,
        n_images: int,
        kept: KeptTrials,
        limit: Limit,
        is_suited: bool,
    ):
        self.method, self.classifier, self.is_suited = method, classifier, is_suited
        self._kept, self._limit = kept, limit
        self.forecast = Forecast(method.growth, method.startup)
        self.rung, self.n_learned, self.n_found = -1, 0, 0
        self._trial: Trial | None = None
        self._judged: list[Judged] = []
        self._is_described = np.zeros(n_images, bool)

    @property
    def name(self) -> str:
        """The name of the method."""
        return self.method.name

    @property
    def trial(self) -> Trial:
        """Its predictions on its rung; only after `run`."""
        assert self._trial is not None
        return self._trial

    @property
    def last_trial(self) -> Trial | None:
        """Its predictions, or None before `run`."""
        return self._trial

    def run(self, images: Sequence[np.ndarray], labels: Any, heat: Heat) -> None:
        """Try the method on a fold, or find how it did in an earlier race."""
        training, held = heat.fold
        found = self._kept.find_trial(self.classifier, heat.fold)
        if found is None:
            judged = judge_fold(self.classifier, images, labels, heat.fold)
            self._kept.keep_trial(self.classifier, heat.fold, judged, self._limit.lap())
        else:
            judged, lap = found
            self.n_found += 1
            self._limit.charge(lap)
        self._judged = [*(self._judged if heat.rung == self.rung else ()), judged]
        self._trial = join_folds(self.name, self.classifier, labels, self._judged)
        self.rung, self.n_learned = heat.rung, len(training)
        described = max(judged.fit_saved / len(training), judged.predict_saved / len(held))
        n_learned = self._count_learned(len(training))
        self.forecast.note(Timing(n_learned, judged.fit_seconds, judged.predict_seconds / len(held), described))
        self._is_described[np.concatenate(heat.fold)] = True

    def fit(self, images: Sequence[np.ndarray], labels: Any, rows: np.ndarray) -> "Model":
        """Return a model of some rows, or find it in an earlier race."""
        found = self._kept.find_model(self.classifier, rows)
        if found is None:
            started = time.perf_counter()
            given = images if len(rows) == len(images) else [images[row] for row in rows]
            fitted = clone(self.classifier).fit(given, np.asarray(labels)[rows])
            seconds = time.perf_counter() - started
            self._kept.keep_model(self.classifier, rows, fitted, seconds, self._limit.lap())
        else:
            fitted, seconds, lap = found
            self._limit.charge(lap)
        if self.forecast.timings:
            self.forecast.note_fit(self._count_learned(len(rows)), seconds)
        self._is_described[rows] = True
        return Model(self, fitted, len(rows), seconds)

    def seconds_of_fold(self, heat: Heat) -> float:
        """Expected seconds of a heat; only after `run`."""
        training, held = heat.fold
        n_learned = self._count_learned(len(training))
        return self.forecast.fold(n_learned, len(held), self._count_new(np.concatenate(heat.fold)))

    def seconds_of_fit(self, n_images: int) -> float:
        """Expected seconds of fitting so many images; 0 where they are not known."""
        return self.forecast.fit(*self._count_fitted(n_images)) if self.is_known(n_images) else 0.0

    def least_seconds_of_fit(self, n_images: int) -> float:
        """Seconds that fitting so many images takes at least, if much of the time on few does not grow."""
        return 0.0 if self.is_guess(n_images) else self.forecast.fit_at_least(*self._count_fitted(n_images))

    def is_guess(self, n_images: int) -> bool:
        """Whether a forecast for so many images is a guess: from trials on as few as two rungs below."""
        return len(self.forecast.timings) == 1 and self._times_more(n_images) > TIMES_MORE**2

    def is_known(self, n_images: int) -> bool:
        """Whether fitting so many images can be forecast: one trial on few says too little, as does unseen growth."""
        timings = self.forecast.timings
        is_measured = self.forecast.n_noted > 1 and self.method.growth == 1
        return bool(timings) and (len(timings) > 1 or is_measured or self._times_more(n_images) <= 2 * TIMES_MORE)

    def room_to_learn(self, n_images: int) -> float:
        """How many times as many images it would learn from, given so many, as it did on its rung."""
        return self._count_learned(n_images) / self._count_learned(self.n_learned)

    def _count_learned(self, n_images: int) -> int:
        """Of so many images, how many the method learns from."""
        most = self.method.max_learned
        return n_images if most is None else min(n_images, most)

    def _count_fitted(self, n_images: int) -> tuple[int, int]:
        """Of so many images, how many the method learns from, and how many of these it has to describe."""
        n_learned = self._count_learned(n_images)
        share = n_learned / len(self._is_described)
        return n_learned, round(share * int((~self._is_described).sum()))

    def _times_more(self, n_images: int) -> float:
        """How many times as many images it would learn from, given so many, as in its largest timing."""
        return self._count_learned(n_images) / self.forecast.timings[-1].n_images

    def _count_new(self, rows: np.ndarray) -> int:
        return int((~self._is_described[rows]).sum())


class Model(NamedTuple):
    """A fitted classifier of a runner: to how many images, and in how many seconds."""

    runner: Runner
    classifier: ImageClassifier
    n_fitted: int
    seconds: float
