"""Compare methods, each with its default and with given invariances, on the same folds of the same images."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from invariance._core.checks import check_number
from invariance._core.notebook import html_table
from invariance._core.progress import track
from invariance._core.running import Ended, InThisProcess, OnDask, Workers, give_out
from invariance.encoders import OnnxEncoder
from invariance.images import encode_labels
from invariance.methods.classifier import ImageClassifier
from invariance.methods.method import Method
from invariance.methods.paired import LEVEL, compare_paired, correct_for_many
from invariance.methods.preparation import SIDE, Facts, as_squares, learn_facts
from invariance.methods.registry import get_method, get_methods
from invariance.methods.trial import Fold, Judged, Trial, draw_folds, join_folds, judge_fold
from invariance.transformations import TransformationSet
from invariance.transformations.parsing import parse_transformations

MAX_IMAGES = 1000
N_FOLDS = 5
STANDARD = ("rotations:16", "rotations:5:15", "shifts:1")


class PixelClassifier(ClassifierMixin, BaseEstimator):
    """A classifier of the pixels of 32 x 32 squares; the predicted class has probability 1.

    Parameters
    ----------
    classifier : estimator
    n_channels : int, default=1
    """

    def __init__(self, classifier, n_channels=1):
        self.classifier = classifier
        self.n_channels = n_channels

    def fit(self, X: Sequence[np.ndarray], y) -> "PixelClassifier":
        """Learn from images and their labels."""
        self.classifier_ = clone(self.classifier).fit(self._rows(X), y)
        self.classes_ = self.classifier_.classes_
        return self

    def predict(self, X: Sequence[np.ndarray]) -> np.ndarray:
        """Return the class of every image."""
        return self.classifier_.predict(self._rows(X))

    def predict_proba(self, X: Sequence[np.ndarray]) -> np.ndarray:
        """Return 1 for the predicted class and 0 for the others, (n, n_classes)."""
        return (self.predict(X)[:, None] == self.classes_).astype(float)

    def _rows(self, X: Sequence[np.ndarray]) -> np.ndarray:
        return as_squares(X, SIDE, self.n_channels).reshape(len(X), -1)


class HogClassifier(PixelClassifier):
    """A classifier of the histograms of oriented gradients (HOG, Dalal and Triggs 2005) of grey 64 x 64 squares."""

    def _rows(self, X: Sequence[np.ndarray]) -> np.ndarray:
        from skimage.feature import hog

        return np.stack(
            [hog(square, pixels_per_cell=(8, 8), cells_per_block=(2, 2)) for square in as_squares(X, 64, 1)]
        )


PEERS: dict[str, PixelClassifier] = {
    "nearest neighbour": PixelClassifier(KNeighborsClassifier(1)),
    "SVM of pixels": PixelClassifier(SVC(C=10)),
    "HOG + SVM": HogClassifier(SVC(C=10)),
}


class Contestant(NamedTuple):
    """A method with an invariance, and how it did.

    Attributes
    ----------
    method : str
    invariance : str or None
        What it ignores, as text; None is its default.
    trial : Trial
    p : float
        Probability that it is as good as the best and only looks worse, corrected for all contestants.
    """

    method: str
    invariance: str | None
    trial: Trial
    p: float = 1.0

    @property
    def is_peer(self) -> bool:
        """Whether it is a baseline from outside of this library."""
        return self.method in PEERS

    @property
    def is_among_the_best(self) -> bool:
        """Whether it cannot be distinguished from the best on these images."""
        return self.p >= LEVEL


class Comparison(NamedTuple):
    """A ranking of methods.

    Attributes
    ----------
    contestants : list of Contestant
        The best first.
    untried : dict of str to str
        What was not tried, and why.
    facts : Facts
    n_compared : int
        Number of images that were held out in some fold.
    n_drawn : int
        These, and those that were only trained on.
    n_folds : int
    seconds : float
    """

    contestants: list[Contestant]
    untried: dict[str, str]
    facts: Facts
    n_compared: int
    n_drawn: int
    n_folds: int
    seconds: float

    def __repr__(self) -> str:
        return f"<Comparison: {len(self.contestants)} contestants on {self.n_compared} images>"

    def _repr_html_(self) -> str:
        """Show the ranking in a notebook."""
        rows = [
            (
                name_of(contestant.method, contestant.invariance),
                f"{contestant.trial.accuracy:.1%}",
                "yes" if contestant.is_among_the_best else "",
                f"{1000 * contestant.trial.image_seconds:.1f}",
            )
            for contestant in self.contestants
        ]
        sentence = f"{self.n_compared} images, each classified by models that have not seen it."
        return html_table(sentence, ("method", "accuracy", "among the best", "ms per image"), rows)

    @property
    def winner(self) -> Contestant | None:
        """The best of the registered methods."""
        return next((contestant for contestant in self.contestants if not contestant.is_peer), None)


def compare(
    images: Sequence[np.ndarray],
    labels: Any,
    invariances: Sequence[str] = STANDARD,
    methods: Sequence[str] | None = None,
    budget: float = 300.0,
    max_images: int = MAX_IMAGES,
    random_state: int = 0,
    n_jobs: int | None = None,
    client: Any = None,
    encoder: OnnxEncoder | None = None,
) -> Comparison:
    """Cross-validate methods with their defaults and with given invariances.

    What is expected to be fastest is tried first; after the budget no fold is started. So the budget limits what is
    tried, depending on the speed of the machine or cluster; the predictions of what is tried do not depend on it.
    Baselines and, where it is installed, a pretrained network are always among the contestants.

    Parameters
    ----------
    images : sequence of ndarray of shape (h, w) or (h, w, c)
    labels : array-like of shape (n,)
    invariances : sequence of str
        As for `--invariant-to`.
    methods : sequence of str or None, default=None
        None takes all that suit the images.
    budget : float, default=300
        Seconds.
    max_images : int, default=1000
        Draw about this many images at random if there are more.
    random_state : int, default=0
    n_jobs : int or None, default=None
    client : distributed.Client or None, default=None
        Spreads folds and methods over its workers, to which the images are sent; None tries one fold after the other.
    encoder : OnnxEncoder or None, default=None
        The pretrained network of methods that take one; None is the default one.

    Returns
    -------
    comparison : Comparison
    """
    started = time.monotonic()
    deadline = started + check_number("budget", budget, 0)
    phis: dict[str | None, TransformationSet | None] = {None: None}
    phis.update({text: parse_transformations(text, "edge") for text in invariances})
    facts = learn_facts(images, encode_labels(labels, len(images))[1])
    folds = draw_folds(labels, N_FOLDS, max_images, random_state)
    chosen, untried = _suitable(facts) if methods is None else ([*map(get_method, methods)], {})
    waiting: dict[tuple[str, str | None], Any] = {
        (name, None): clone(peer).set_params(n_channels=facts.n_channels) for name, peer in PEERS.items()
    }
    for (text, phi), method in [*_always(chosen, untried), *product(phis.items(), chosen)]:
        try:
            plan = method.plan(phi).check(method.name)
        except ValueError as error:
            untried[name_of(method.name, text)] = str(error)
            continue
        if phi is None or not plan.amounts_to(method.plan()):
            waiting[method.name, text] = ImageClassifier(
                method.name, phi, n_jobs=n_jobs, random_state=random_state, encoder=encoder
            )
    ring = _Ring(labels, folds, deadline, waiting)
    for _ in track(ring.run(images, client), "comparing methods", len(waiting)):
        pass
    n_compared, n_drawn = sum(len(held) for _, held in folds), sum(map(len, folds[0]))
    contestants = rank_contestants(ring.contestants)
    seconds = time.monotonic() - started
    return Comparison(contestants, untried | ring.untried, facts, n_compared, n_drawn, len(folds), seconds)


class _Entry:
    """A contestant whose folds are being computed."""

    def __init__(self, method: str, invariance: str | None, classifier: Any):
        self.method, self.invariance, self.classifier = method, invariance, classifier
        self.n_begun = 0
        self.is_begun = False  # whether no further fold will begin
        self.judged: dict[int, Judged] = {}
        self.errors: dict[int, BaseException] = {}

    @property
    def is_over(self) -> bool:
        return self.is_begun and len(self.judged) + len(self.errors) == self.n_begun


class _Ring:
    """Contestants are tried as long as there is time."""

    def __init__(self, labels: Any, folds: list[Fold], deadline: float, waiting: dict[tuple[str, str | None], Any]):
        self.labels, self.folds, self.deadline, self.waiting = labels, folds, deadline, waiting
        self.contestants: list[Contestant] = []
        self.untried: dict[str, str] = {}
        self._in_ring: list[_Entry] = []
        self._begun: list[tuple[_Entry, int]] = []  # contestant and fold of everything that was given out

    def run(self, images: Sequence[np.ndarray], client: Any) -> Iterator[int]:
        """Try all that are waiting; yield how many are over or not tried, whenever another is."""
        workers: Workers = InThisProcess() if client is None else OnDask(client, blocks_per_worker=1)
        rows = np.sort(np.concatenate(self.folds[0]))
        # Only what was drawn is sent to workers; the rows stay as they are.
        drawn = images if client is None else _Drawn({int(row): images[row] for row in rows}, len(images))
        final = Exception if client is None else ValueError
        n_over = 0
        for ended in give_out(self._draw(), self._make_work, workers, [workers.share(drawn)], final=final):
            for one in ended:
                self._end(*self._begun[one.number], one)
            n_before, n_over = n_over, len(self.contestants) + len(self.untried)
            yield from range(n_before, n_over)

    def _draw(self) -> Iterator[int]:
        """Yield the number of the next fold to begin, when there is room for it."""
        while self.waiting:
            name, text = min(self.waiting, key=self._turn)
            classifier = self.waiting.pop((name, text))
            if not self._has_time(name, text, classifier):
                continue
            entry = _Entry(name, text, classifier)
            self._in_ring.append(entry)
            for number in range(len(self.folds)):
                if entry.errors or (number and time.monotonic() > self.deadline):
                    break
                entry.n_begun += 1
                entry.is_begun = entry.n_begun == len(self.folds)
                self._begun.append((entry, number))
                yield len(self._begun) - 1
            entry.is_begun = True
            self._conclude(entry)

    def _turn(self, pair: tuple[str, str | None]) -> tuple[bool, bool, float]:
        """Baselines first, then what is expected to be fastest; what combines others after those that are at work."""
        name, _ = pair
        is_known = name in PEERS or name in {c.method for c in self.contestants}
        waits = bool(self._in_ring) and not is_known and bool(get_method(name).combines)
        return name not in PEERS, waits, self.expected_seconds(name, self.waiting[pair])

    def _make_work(self, number: int) -> "_JudgeFold":
        entry, fold = self._begun[number]
        return _JudgeFold(entry.classifier, self.labels, self.folds[fold])

    def _end(self, entry: _Entry, fold: int, ended: Ended) -> None:
        if ended.error is None:
            entry.judged[fold] = ended.result
        elif isinstance(ended.error, ValueError):
            entry.errors[fold] = ended.error
        else:
            raise ended.error
        self._conclude(entry)

    def _conclude(self, entry: _Entry) -> None:
        """Make a contestant of what has no folds left to begin or to wait for."""
        if not entry.is_over or entry not in self._in_ring:
            return
        self._in_ring.remove(entry)
        name = name_of(entry.method, entry.invariance)
        if entry.errors:
            self.untried[name] = str(entry.errors[min(entry.errors)])
            return
        judged = [entry.judged[fold] for fold in sorted(entry.judged)]
        trial = join_folds(name, entry.classifier, self.labels, judged)
        self.contestants.append(Contestant(entry.method, entry.invariance, trial))

    def _has_time(self, method: str, invariance: str | None, classifier: Any) -> bool:
        """Return whether one fold is expected to end in time; otherwise note that it is not tried."""
        left, expected = self.deadline - time.monotonic(), self.expected_seconds(method, classifier)
        if left > 0 and expected <= left:
            return True
        why = "the time was over" if left <= 0 else f"a fold takes about {expected:.1f} s, {left:.1f} s were left"
        self.untried[name_of(method, invariance)] = why
        return False

    def expected_seconds(self, name: str, classifier: Any) -> float:
        """Return the expected seconds of one fold, by what the method took before; 0 if it is not known."""
        if name in PEERS:
            return 0.0
        method, n_held = get_method(name), len(self.folds[0][1])
        took = {c.method: c.trial.fit_seconds + n_held * c.trial.image_seconds for c in self.contestants[::-1]}
        slowdown = method.cost(classifier.plan()) / method.cost(method.plan())
        if method.combines and name not in took:
            return method.combines * slowdown * sum(seconds for other, seconds in took.items() if other not in PEERS)
        return slowdown * took.get(name, 0.0)


class _Drawn(Sequence[np.ndarray]):
    """Some images of a sequence, by their rows in it; only those that are there may be asked for."""

    def __init__(self, images: dict[int, np.ndarray], length: int):
        self._images, self._length = images, length

    def __getitem__(self, row: Any) -> Any:
        return self._images[int(row)]

    def __len__(self) -> int:
        return self._length


@dataclass(frozen=True)
class _JudgeFold:
    """One fold of one contestant. A callable that can be sent to a worker."""

    classifier: Any
    labels: Any
    fold: Fold

    def __call__(self, images: Sequence[np.ndarray]) -> Judged:
        """Fit and predict."""
        return judge_fold(self.classifier, images, self.labels, self.fold)


def _always(chosen: list[Method], untried: dict[str, str]) -> list[tuple[tuple[None, None], Method]]:
    """The defaults of methods that are always compared, unless they were chosen anyway or are not installed."""
    wanted = {method.name: method for method in get_methods() if method.always_compared and method not in chosen}
    untried.update({name: method.missing() for name, method in wanted.items() if method.missing()})
    added = [method for method in wanted.values() if not method.missing()]
    for method in added:
        untried.pop(method.name, None)
    return [((None, None), method) for method in added]


def name_of(method: str, invariance: str | None) -> str:
    """Return a contestant in words."""
    return method if invariance is None else f"{method} ignoring {invariance}"


def _suitable(facts: Facts) -> tuple[list[Method], dict[str, str]]:
    """Methods that suit the images, and why others do not."""
    suitable, why = [], {}
    for method in get_methods():
        min_side = max(method.min_side, method.auto_min_side)
        if method.missing():
            why[method.name] = method.missing()
        elif facts.side < min_side:
            asked = "; name it in --methods to try it" if facts.side >= method.min_side else ""
            why[method.name] = f"for images of at least {min_side} pixels per side{asked}"
        else:
            suitable.append(method)
    return suitable, why


def rank_contestants(contestants: list[Contestant]) -> list[Contestant]:
    """Return the most accurate first, of equals the faster; with the p-value of each against the first.

    A standard error is subtracted from the accuracies, so that luck with few images, where time ran out, puts nobody
    first. Two are compared on the images that both were judged by.
    """
    ranked = sorted(contestants, key=lambda c: (c.trial.error_of_accuracy - c.trial.accuracy, c.trial.image_seconds))
    if len(ranked) < 2:
        return ranked
    best = ranked[0].trial
    chances = []
    for contestant in ranked[1:]:
        both = best.is_judged & contestant.trial.is_judged
        difference = compare_paired(contestant.trial.is_right[both], best.is_right[both])
        chances.append(difference.p if difference.share < 0 else 1.0)
    corrected = correct_for_many(chances)
    others = [contestant._replace(p=float(p)) for contestant, p in zip(ranked[1:], corrected, strict=True)]
    return [ranked[0], *others]
