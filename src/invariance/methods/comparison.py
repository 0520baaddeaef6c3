"""Compare methods, each with its default and with given invariances, on the same folds of the same images."""

import time
from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from invariance._core.checks import check_number
from invariance._core.progress import track
from invariance.images import encode_labels
from invariance.methods.classifier import ImageClassifier
from invariance.methods.method import Method
from invariance.methods.paired import LEVEL, compare_paired, correct_for_many
from invariance.methods.preparation import SIDE, Facts, as_squares, learn_facts
from invariance.methods.registry import get_method, get_methods
from invariance.methods.trial import Fold, Trial, cross_validate, draw_folds
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


PEERS = {"nearest neighbour": KNeighborsClassifier(1), "SVM of pixels": SVC(C=10)}


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
) -> Comparison:
    """Cross-validate methods with their defaults and with given invariances.

    What is expected to be fastest is tried first; after the budget no fold is started.

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
    chosen, untried = _suitable(facts, len(folds[0][0])) if methods is None else ([*map(get_method, methods)], {})
    ring = _Ring(images, labels, folds, deadline)
    for name, peer in PEERS.items():
        ring.let_in(name, None, PixelClassifier(peer, facts.n_channels))
    waiting = {}
    for (text, phi), method in product(phis.items(), chosen):
        try:
            plan = method.plan(phi).check(method.name)
        except ValueError as error:
            untried[name_of(method.name, text)] = str(error)
            continue
        if phi is None or not plan.amounts_to(method.plan()):
            waiting[method.name, text] = ImageClassifier(method.name, phi, n_jobs=n_jobs, random_state=random_state)
    for _ in track(range(len(waiting)), "comparing methods"):
        name, text = min(waiting, key=lambda pair: ring.expected_seconds(pair[0], waiting[pair]))
        ring.let_in(name, text, waiting.pop((name, text)))
    n_compared, n_drawn = sum(len(held) for _, held in folds), sum(map(len, folds[0]))
    contestants = rank_contestants(ring.contestants)
    seconds = time.monotonic() - started
    return Comparison(contestants, untried | ring.untried, facts, n_compared, n_drawn, len(folds), seconds)


class _Ring:
    """Contestants are tried as long as there is time."""

    def __init__(self, images: Sequence[np.ndarray], labels: Any, folds: list[Fold], deadline: float):
        self.images, self.labels, self.folds, self.deadline = images, labels, folds, deadline
        self.contestants: list[Contestant] = []
        self.untried: dict[str, str] = {}

    def let_in(self, method: str, invariance: str | None, classifier: Any) -> None:
        """Try a classifier, unless one fold of it is expected to take more time than is left."""
        name = name_of(method, invariance)
        left, expected = self.deadline - time.monotonic(), self.expected_seconds(method, classifier)
        if left <= 0 or expected > left:
            about = f"; a fold takes about {expected:.0f} s" if expected else ""
            self.untried[name] = f"too little time was left{about}"
            return
        try:
            trial = cross_validate(name, classifier, self.images, self.labels, self.folds, self.deadline)
        except ValueError as error:
            self.untried[name] = str(error)
            return
        self.contestants.append(Contestant(method, invariance, trial))

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


def name_of(method: str, invariance: str | None) -> str:
    """Return a contestant in words."""
    return method if invariance is None else f"{method} ignoring {invariance}"


def _suitable(facts: Facts, n_training: int) -> tuple[list[Method], dict[str, str]]:
    """Methods that suit the images, and why others do not."""
    suitable, why = [], {}
    for method in get_methods():
        min_side = max(method.min_side, method.auto_min_side)
        if n_training > method.max_images:
            why[method.name] = f"takes at most {method.max_images} images"
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
