"""All methods, each by itself and with given invariances, on the same folds of the same images."""

import time
from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from invariance._core.checks import check_choice, check_number
from invariance._core.progress import track
from invariance.images import encode_labels
from invariance.methods.catalogue import COMBINED, COMBINED_TIMES, LARGE, METHODS
from invariance.methods.classifier import MAX_COPIES, ImageClassifier
from invariance.methods.facts import SIDE, Facts, as_squares, learn_facts
from invariance.methods.paired import LEVEL, compare_paired, correct_for_many
from invariance.methods.trial import Fold, Trial, cross_validate, draw_folds
from invariance.transformations import TransformationSet
from invariance.transformations.parsing import parse_transformations
from invariance.transformations.sets import with_border

MOST = 1000
N_FOLDS = 5
STANDARD = ("rotations:16", "rotations:5:15", "shifts:1")
N_JITTERS = 9  # of the tangent distance by itself
CHEAP_FIRST = ("texture", "tangent", "jungle", "codebook", "hierarchy", "objects", "tradeoff")


class OnSquares(ClassifierMixin, BaseEstimator):
    """A classifier of vectors on the pixels of 32 x 32 squares; it is certain of the class that it predicts."""

    def __init__(self, classifier, n_channels=1):
        self.classifier = classifier
        self.n_channels = n_channels

    def fit(self, X: Sequence[np.ndarray], y) -> "OnSquares":
        """Learn from images and their labels."""
        self.classifier_ = clone(self.classifier).fit(self._rows(X), y)
        self.classes_ = self.classifier_.classes_
        return self

    def predict(self, X: Sequence[np.ndarray]) -> np.ndarray:
        """The class of every image."""
        return self.classifier_.predict(self._rows(X))

    def predict_proba(self, X: Sequence[np.ndarray]) -> np.ndarray:
        """1 for the class predicted and 0 for the others, (n, K)."""
        return (self.predict(X)[:, None] == self.classes_).astype(float)

    def _rows(self, X: Sequence[np.ndarray]) -> np.ndarray:
        return as_squares(X, SIDE, self.n_channels).reshape(len(X), -1)


PEERS = {"nearest neighbour": KNeighborsClassifier(1), "SVM of pixels": SVC(C=10)}


class Contestant(NamedTuple):
    """A method with what it is told to ignore (None: what it ignores by itself), and how it did.

    `p` is the chance that it is as good as the best and only looks worse, corrected for all contestants.
    """

    method: str
    invariance: str | None
    trial: Trial
    p: float = 1.0

    @property
    def is_peer(self) -> bool:
        """Whether it is not of this library."""
        return self.method in PEERS

    @property
    def is_among_the_best(self) -> bool:
        """Whether these images cannot tell it from the best."""
        return self.p >= LEVEL


class Comparison(NamedTuple):
    """Contestants, the best first; untried : names and why; n_compared : images that were held
    out; n_drawn : these and those only learned from.
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
        """The best of the library's methods."""
        return next((contestant for contestant in self.contestants if not contestant.is_peer), None)


def compare(
    images: Sequence[np.ndarray],
    labels: Any,
    invariances: Sequence[str] = STANDARD,
    methods: Sequence[str] | None = None,
    budget: float = 300.0,
    most: int = MOST,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Comparison:
    """Cross-validate methods without and with invariances, written as for `--invariant-to`, within `budget` seconds.

    What is expected to take least is tried first; after the budget no fold is begun. At most `most` images are
    drawn. `methods=None` takes all that suit the images.
    """
    started = time.monotonic()
    deadline = started + check_number("budget", budget, 0)
    phis: dict[str | None, TransformationSet | None] = {None: None}
    phis.update({text: with_border(parse_transformations(text), "edge") for text in invariances})
    for name in methods or ():
        check_choice("methods", name, tuple(METHODS))
    facts = learn_facts(images, encode_labels(labels, len(images))[1])
    folds = draw_folds(labels, N_FOLDS, most, random_state)
    ring = _Ring(images, labels, folds, deadline)
    for name, peer in PEERS.items():
        ring.let_in(name, None, OnSquares(peer, facts.n_channels))
    untried = {} if methods else _unsuitable(facts, len(folds[0][0]))
    chosen = [name for name in CHEAP_FIRST if (name in methods if methods else name not in untried)]
    common = {"random_state": random_state, "n_jobs": n_jobs}
    waiting = {}
    for (text, phi), name in product(phis.items(), chosen):
        try:
            if not _is_known(name, phi, facts):
                waiting[name, text] = ImageClassifier(name, phi, **common)
        except ValueError as error:  # it cannot ignore that
            untried[name_of(name, text)] = str(error)
    for _ in track(range(len(waiting)), "comparing methods"):
        name, text = min(waiting, key=lambda pair: ring.expected_seconds(pair[0], waiting[pair]))
        ring.let_in(name, text, waiting.pop((name, text)))
    n_compared, n_drawn = sum(len(held) for _, held in folds), sum(map(len, folds[0]))
    contestants = _rank(ring.contestants)
    seconds = time.monotonic() - started
    return Comparison(contestants, untried | ring.untried, facts, n_compared, n_drawn, len(folds), seconds)


class _Ring:
    """Where contestants are tried out, as long as there is time."""

    def __init__(self, images: Sequence[np.ndarray], labels: Any, folds: list[Fold], deadline: float):
        self.images, self.labels, self.folds, self.deadline = images, labels, folds, deadline
        self.contestants: list[Contestant] = []
        self.untried: dict[str, str] = {}

    def let_in(self, method: str, invariance: str | None, classifier: Any) -> None:
        """Try a classifier out, unless one fold of it is expected to take more time than is left."""
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

    def expected_seconds(self, method: str, classifier: Any) -> float:
        """For one fold, by what the method took before; 0 if it is not known.

        The trade-off does the work of all others, and more.
        """
        n_held = len(self.folds[0][1])
        took = {c.method: c.trial.fit_seconds + n_held * c.trial.image_seconds for c in self.contestants[::-1]}
        phi = getattr(classifier, "transformations", None)
        longer = 1 if phi is None else _times_as_long(method, phi)
        if method == COMBINED and method not in took:
            return COMBINED_TIMES * longer * sum(seconds for name, seconds in took.items() if name not in PEERS)
        return longer * took.get(method, 0.0)


def _times_as_long(method: str, phi: TransformationSet) -> float:
    """About how many times as long a method takes with Φ as it takes by itself."""
    n_members = len(phi.members((SIDE, SIDE)))
    if METHODS[method].copies:
        return min(n_members, MAX_COPIES)
    if method == "tangent":
        return n_members / N_JITTERS
    return 1.0 if method == "texture" else 1 + n_members / 8


def name_of(method: str, invariance: str | None) -> str:
    """A contestant in words."""
    return method if invariance is None else f"{method} ignoring {invariance}"


def _unsuitable(facts: Facts, n_training: int) -> dict[str, str]:
    """Methods that need not be tried, and why."""
    why = {name: f"takes at most {method.most} images" for name, method in METHODS.items() if n_training > method.most}
    if facts.side < LARGE:
        too_small = f"for images of {LARGE} x {LARGE} pixels or more"
        why |= {"texture": f"{too_small}; ask for it with --methods", "objects": too_small}
    return why


def _is_known(name: str, phi: TransformationSet | None, facts: Facts) -> bool:
    """Whether a method makes the same of Φ as of none, so that trying it would only repeat what is known."""
    method = METHODS[name]
    if phi is None or method.copies:
        return False
    made = [str(method.make(some, facts, {"n_jobs": None, "random_state": 0}).get_params()) for some in (None, phi)]
    return made[0] == made[1]


def _rank(contestants: list[Contestant]) -> list[Contestant]:
    """The largest share right first, the faster first of equals; with the chance that each is as good as the first.

    A standard error is taken off the shares, so that luck with few images, where time ran out, puts nobody first.
    Two are compared on the images that both were judged by.
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
