"""Bikes among other images, [Moosmann06] sec. 4: clustering forests, k-means and unsupervised trees.

GRAZ-02's own background images are not available: bikes are classified against Caltech's background and against
GRAZ-02's cars; two similar digits are an example of small grey images. 150 training and 150 test images per class,
drawn again for every seed; of photographs that are nearly identical only one is used. Figures are accuracies at the
equal error rate, in per cent. All codebooks see the same windows. Whatever is chosen, the normalization of the counts
and T_max, is chosen on a third of the training images.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import roc_curve

from experiments.flowers17 import find_twins
from experiments.outcome import Curve, Outcome
from invariance.codebooks import BagOfFeatures, ClusteringForest, RandomWindows, equal_error_rate
from invariance.codebooks.classifier import make_svm
from invariance.codebooks.counting import informative_thresholds
from invariance.codebooks.voting import average_shares, shares_of_words
from invariance.datasets import load_caltech101, load_graz02, load_mnist
from invariance.images import read_image

N_EACH = 150
NORMALIZATIONS = ("sqrt", "binary", "sum")
VOTE = "vote"
C = 1.0
# False alarms in per cent at which the ROC curves are read.
FALSE_ALARMS = (0, 2, 5, 10, 15, 20, 30, 40, 60, 80, 100)
# The paper's figure is for bikes against GRAZ-02's own background, with binary counts.
PAPER = {("bikes or background", "forest, 5 trees, binary"): 84.4}


class Words(NamedTuple):
    """How images are turned into words, and how these are read.

    Attributes
    ----------
    codebook : estimator or tuple of estimators
        Of several, the one that is best on a third of the training images.
    is_supervised : bool
        Whether the codebook is fitted with labels.
    readings : mapping of str to tuple of str
        What is appended to the name of a row -> the normalizations of the counts of which the best is chosen; or
        `(VOTE,)`, the mean class shares of the leaves instead of a support vector machine.
    descriptor : Descriptor or None
    n_training_windows : int
        Windows per training image that the codebook is learned from.
    """

    codebook: Any
    is_supervised: bool = True
    readings: Mapping[str, tuple[str, ...]] = {"": NORMALIZATIONS}
    descriptor: Any = None
    n_training_windows: int = 67


class Draw(NamedTuple):
    """Training and test images with their labels, 0 and 1."""

    training: list
    labels: np.ndarray
    test: list
    test_labels: np.ndarray


class Fitted(NamedTuple):
    """What was learned from training images: a bag with its normalization, or votes, and a support vector machine."""

    bag: BagOfFeatures
    reading: str
    svm: Any


class Judged(NamedTuple):
    """Rate and hits at `FALSE_ALARMS` on test images, in per cent, and what they were found with."""

    rate: float
    hits: np.ndarray
    fitted: Fitted


class Row(NamedTuple):
    """The rates of one method, and its ROC curve."""

    outcome: Outcome
    roc: Curve


def _digits(digit: int) -> list[np.ndarray]:
    data = load_mnist(n=10_000)
    return list(data.images[data.labels == digit])


@cache
def _photos(name: str, load: Callable[[Sequence[str]], Any]) -> list:
    """The photographs of one class, the first of those that are nearly identical."""
    return without_twins(load([name]).paths)


def without_twins(paths: Sequence) -> list:
    """The images without those that are nearly identical to an earlier one."""
    has_earlier = np.triu(find_twins([_in_colour(read_image(path)) for path in paths]), 1).sum(axis=0)
    return [path for path, n_twins in zip(paths, has_earlier, strict=True) if n_twins == 0]


def _in_colour(image: np.ndarray) -> np.ndarray:
    return np.repeat(image[..., None], 3, axis=2) if image.ndim == 2 else image


TASKS: dict[str, Callable[[], Sequence[Sequence]]] = {
    "bikes or background": lambda: (_photos("bikes", load_graz02), _photos("BACKGROUND_Google", load_caltech101)),
    "bikes or cars": lambda: (_photos("bikes", load_graz02), _photos("cars", load_graz02)),
    "fours or nines": lambda: (_digits(4), _digits(9)),
}
CODEBOOKS: dict[str, Words] = {
    "forest, 5 trees": Words(
        ClusteringForest(5, n_leaves=1000), readings={"": NORMALIZATIONS, ", binary": ("binary",)}
    ),
    "forest, 1 tree": Words(ClusteringForest(1, n_leaves=1000)),
    "unsupervised trees": Words(ClusteringForest(5, n_leaves=1000), is_supervised=False),
}


def draw(classes: Sequence[Sequence], seed: int) -> Draw:
    """`N_EACH` training and as many test images of both classes."""
    rng = np.random.default_rng(seed)
    drawn = [[paths[i] for i in rng.permutation(len(paths))[: 2 * N_EACH]] for paths in classes]
    training = [path for paths in drawn for path in paths[:N_EACH]]
    test = [path for paths in drawn for path in paths[N_EACH:]]
    return Draw(training, np.repeat([0, 1], N_EACH), test, np.repeat([0, 1], N_EACH))


def fit(words: Words, images: Sequence, labels: np.ndarray, n_windows: int, seed: int) -> dict[str, Fitted]:
    """Learn from training images only; what was learned for every reading."""
    is_held = np.arange(len(labels)) % 3 == 0
    codebook = words.codebook
    if isinstance(codebook, tuple):
        codebook = codebook[int(np.argmax(_held_out_rates(words, images, labels, is_held, n_windows, seed)))]
    bag = make_bag(words._replace(codebook=codebook), images, labels, n_windows, seed)
    counts = bag.count(images)
    readings = {name: choose_reading(bag, some, counts, labels, is_held) for name, some in words.readings.items()}
    return {name: learn(bag, reading, counts, labels) for name, reading in readings.items()}


def choose_reading(bag: BagOfFeatures, readings: Sequence[str], counts, labels, is_held) -> str:
    """The reading that is best on held-out training images."""
    if len(readings) == 1:
        return readings[0]
    rates = [
        rate(learn(bag, reading, counts[~is_held], labels[~is_held]), counts[is_held], labels[is_held])
        for reading in readings
    ]
    return readings[int(np.argmax(rates))]


def _held_out_rates(words: Words, images, labels, is_held, n_windows: int, seed: int) -> list[float]:
    """The rate of every candidate on held-out training images, of which neither words nor machine have seen any."""
    rows, held = np.flatnonzero(~is_held), np.flatnonzero(is_held)
    rates = []
    for candidate in words.codebook:
        bag = make_bag(words._replace(codebook=candidate), [images[i] for i in rows], labels[rows], n_windows, seed)
        learned = learn(bag, NORMALIZATIONS[0], bag.count([images[i] for i in rows]), labels[rows])
        rates.append(rate(learned, bag.count([images[i] for i in held]), labels[held]))
    return rates


def make_bag(words: Words, images: Sequence, labels: np.ndarray, n_windows: int, seed: int) -> BagOfFeatures:
    """A bag whose words are learned from these images."""
    sampler = RandomWindows(n_windows, words.n_training_windows)
    bag = BagOfFeatures(words.codebook, words.descriptor, sampler, n_jobs=2, random_state=seed)
    return bag.fit(images, labels if words.is_supervised else None)


def learn(bag: BagOfFeatures, reading: str, counts: np.ndarray, labels: np.ndarray) -> Fitted:
    """Learn from the counts of words of training images; thresholds by mutual information are theirs, too."""
    if reading == VOTE:
        return Fitted(bag, reading, None)
    bag = copy(bag).set_params(normalization=reading)  # the words are shared, thresholds are not
    if reading == "information":
        bag.thresholds_ = informative_thresholds(counts, labels)
    bags = bag.normalize(counts)
    return Fitted(bag, reading, make_svm(bags, C).fit(bags, labels))


def score(fitted: Fitted, counts: np.ndarray) -> np.ndarray:
    """Scores of the second class, of counts of words."""
    if fitted.reading == VOTE:
        return average_shares(counts, shares_of_words(fitted.bag.codebook_, np.array([0, 1])))[:, 1]
    return fitted.svm.decision_function(fitted.bag.normalize(counts))


def rate(fitted: Fitted, counts: np.ndarray, labels: np.ndarray) -> float:
    """The rate in per cent at the equal error rate."""
    return 100 * equal_error_rate(labels == 1, score(fitted, counts))


def hits_at(false_alarms: Sequence[int], labels: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Hits in per cent on the ROC curve at false alarms in per cent; the largest where the curve is upright."""
    alarms, hits, _ = roc_curve(labels == 1, scores, drop_intermediate=False)
    highest = np.unique(alarms)
    return 100 * np.interp(np.array(false_alarms) / 100, highest, [hits[alarms == alarm].max() for alarm in highest])


def run(
    n_seeds: int = 3,
    n_windows: int = 2000,
    codebooks: Mapping[str, Words] = CODEBOOKS,
    tasks: Mapping[str, Callable[[], Sequence[Sequence]]] = TASKS,
    seed: int = 0,
) -> dict[str, list[Row]]:
    """Every codebook on every task, on the draws of `seed` and the seeds after it."""
    tables: dict[str, list[Row]] = {}
    for task, load in tasks.items():
        classes = load()
        for name, words in codebooks.items():
            started = time.perf_counter()
            judged = [judge(words, draw(classes, number), n_windows, number) for number in range(seed, seed + n_seeds)]
            seconds = (time.perf_counter() - started) / n_seeds
            for suffix in words.readings:
                method, of_reading = f"{name}{suffix}", [run[suffix] for run in judged]
                rates, hits = (np.array([getattr(one, field) for one in of_reading]) for field in ("rate", "hits"))
                outcome = Outcome(method, rates, PAPER.get((task, method)), seconds)
                tables.setdefault(task, []).append(Row(outcome, Curve(method, FALSE_ALARMS, hits)))
                print(outcome, flush=True)
    return tables


def judge(words: Words, drawn: Draw, n_windows: int, seed: int) -> dict[str, Judged]:
    """Rate and ROC curve on the test images, for every reading."""
    fitted = fit(words, drawn.training, drawn.labels, n_windows, seed)
    counts = next(iter(fitted.values())).bag.count(drawn.test)
    return {
        name: Judged(
            rate(learned, counts, drawn.test_labels),
            hits_at(FALSE_ALARMS, drawn.test_labels, score(learned, counts)),
            learned,
        )
        for name, learned in fitted.items()
    }
