"""Objects in photographs, [Moosmann06] sec. 4: VOC 2005 and the INRIA horses.

The paper's settings where it gives them: SIFT; for VOC 2005 73 training windows per image of at most 30 % of its size,
four trees of 7,500 leaves and 10,000 windows per image; for the horses 100 training windows, four trees and 10,000
windows. Counts are binary. Figures are accuracies at the equal error rate, in per cent. Nothing is chosen on test
images. Words are learned from whole images (setting 1) or from windows labelled by the boxes they lie on (setting 2).
"""

import time
from collections.abc import Mapping

import numpy as np

from experiments.graz02 import C
from experiments.outcome import Outcome
from invariance.codebooks import BagOfFeatures, ClusteringForest, RandomWindows, equal_error_rate
from invariance.codebooks.classifier import make_svm
from invariance.datasets import Dataset, load_inria_horses, load_voc2005
from invariance.descriptors import SiftWindows

VOC_PAPER = {"motorbikes": 95.8, "bicycles": 90.1, "people": 94.0, "cars": 96.0}
HORSES_PAPER = 85.3
ON_BOXES = ", words of boxes"


def run_voc(n_seeds: int, seed: int, n_windows: int = 10_000, n_leaves: int = 7500) -> list[Outcome]:
    """Each class against the others: learned from "train" and "val", tested on "test1"."""
    data = load_voc2005()
    training, test = np.union1d(data.splits["train"], data.splits["val"]), data.splits["test1"]
    test = np.setdiff1d(test, training)
    shown = {name: np.isin(np.arange(len(data)), data.splits[name]) for name in data.class_names}
    bag = make_bag(RandomWindows(n_windows, 73, max_scale=0.3), n_leaves)
    outcomes = []
    for suffix in ("", ON_BOXES):
        started, rates = time.perf_counter(), []
        for number in range(seed, seed + n_seeds):
            rates.append(judge(bag, data, training, test, shown, number, on_boxes=suffix == ON_BOXES))
        seconds = (time.perf_counter() - started) / n_seeds
        for name in data.class_names:
            paper = None if suffix else VOC_PAPER[name]
            outcomes.append(Outcome(f"{name}{suffix}", np.array([found[name] for found in rates]), paper, seconds))
            print(outcomes[-1], flush=True)
    return outcomes


def run_horses(n_seeds: int, seed: int, n_windows: int = 10_000, n_leaves: int = 1000) -> list[Outcome]:
    """Horses against other images, on random halves."""
    data = load_inria_horses()
    shown = {"horse": np.asarray(data.labels) == 1}
    bag = make_bag(RandomWindows(n_windows, 100), n_leaves)
    outcomes = []
    for suffix in ("", ON_BOXES):
        started, rates = time.perf_counter(), []
        for number in range(seed, seed + n_seeds):
            training, test = split_halves(np.asarray(data.labels), number)
            rates.append(judge(bag, data, training, test, shown, number, on_boxes=suffix == ON_BOXES)["horse"])
        seconds = (time.perf_counter() - started) / n_seeds
        outcomes.append(Outcome(f"forest{suffix}", np.array(rates), None if suffix else HORSES_PAPER, seconds))
        print(outcomes[-1], flush=True)
    return outcomes


def make_bag(sampler: RandomWindows, n_leaves: int) -> BagOfFeatures:
    """Binary counts of words of SIFT, four trees."""
    return BagOfFeatures(
        ClusteringForest(4, n_leaves=n_leaves), SiftWindows(), sampler, normalization="binary", n_jobs=2
    )


def split_halves(labels: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Training and test rows: a random half of every class, and the other."""
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(np.flatnonzero(labels == label)) for label in np.unique(labels)]
    halves = [np.concatenate([order[i::2] for order in orders]) for i in (0, 1)]
    return halves[0], halves[1]


def judge(
    bag: BagOfFeatures,
    data: Dataset,
    training: np.ndarray,
    test: np.ndarray,
    shown: Mapping[str, np.ndarray],
    seed: int,
    on_boxes: bool,
) -> dict[str, float]:
    """The rate of every class, of machines on words learned from the training rows."""
    old = data.take(training)
    bag.set_params(random_state=seed).fit(old.paths, old.labels, old.box_masks() if on_boxes else None)
    bags, test_bags = bag.transform(old.paths), bag.transform(data.take(test).paths)
    rates = {}
    for name, is_shown in shown.items():
        scores = make_svm(bags, C).fit(bags, is_shown[training]).decision_function(test_bags)
        rates[name] = 100 * equal_error_rate(is_shown[test], scores)
    return rates
