"""Images: which invariance helps, and what the method that `fit` picks gains from it, beside simple baselines."""

from typing import Any, NamedTuple

import numpy as np
from skimage.feature import local_binary_pattern
from sklearn.base import clone
from sklearn.svm import SVC

from invariance._core.randomness import spawn_rngs
from invariance.datasets import Dataset, load_textures
from invariance.methods import Advice, Evaluation, Selection, advise, evaluate, select_method
from invariance.methods.classifier import add_copies
from invariance.methods.comparison import PEERS, PixelClassifier
from invariance.transformations import Identity
from invariance.transformations.parsing import parse_transformations

SIDE = 64
N_LABELLED, N_NEW = 20, 100  # windows per material
SVM = "SVM of pixels"
COPIES = "SVM of pixels, transformed copies"
PATTERNS = "local binary patterns + SVM"
RINGS = ((8, 1), (16, 2), (24, 3))  # points and radius of local binary patterns
BUDGET = 20.0  # seconds for the advice, and for the selection


class PatternClassifier(PixelClassifier):
    """A classifier of histograms of uniform local binary patterns, a texture descriptor that ignores rotation."""

    def _rows(self, X: Any) -> np.ndarray:
        return np.stack([_count_patterns(np.rint(255 * np.asarray(image)).astype(np.uint8)) for image in X])


def _count_patterns(image: np.ndarray) -> np.ndarray:
    """Histograms of the patterns of an image (h, w) on all `RINGS`, one after the other."""
    codes = [local_binary_pattern(image, n, radius, "uniform").astype(int) for n, radius in RINGS]
    counts = [np.bincount(ring.ravel(), minlength=n + 2) for ring, (n, _) in zip(codes, RINGS, strict=True)]
    return np.sqrt(np.concatenate(counts) / image.size)


class ImageDemo(NamedTuple):
    """What was learned from labelled windows of materials, and how it does on new ones.

    Attributes
    ----------
    labelled, new : Dataset
    advice : Advice
    selection : Selection
        What `fit` picks, given the advice.
    invariant, plain : Evaluation
        Of the picked method on the new windows, ignoring what is advised, and nothing.
    peers : dict of str to float
        Accuracies of simple baselines on the new windows.
    """

    labelled: Dataset
    new: Dataset
    advice: Advice
    selection: Selection
    invariant: Evaluation
    plain: Evaluation
    peers: dict[str, float]

    @property
    def best_peer(self) -> str:
        """Name of the best baseline."""
        return max(self.peers, key=lambda name: self.peers[name])

    @property
    def sentence(self) -> str:
        """The result in one sentence."""
        best, method = self.best_peer, self.selection.method
        return (
            f"Images: `advise` says to ignore {self.advice.advised.name}; `fit` picks '{method}', whose accuracy on "
            f"{len(self.new)} new images rises from {self.plain.accuracy:.1%} to {self.invariant.accuracy:.1%}. "
            f"{_compare(self.invariant.accuracy, self.peers[best], best)}"
        )


def _compare(ours: float, theirs: float, name: str) -> str:
    verdict = "as accurate" if ours == theirs else "less accurate" if ours > theirs else "more accurate"
    return f"The best simple baseline, {name}, is {verdict}: {theirs:.1%}."


def run_images(random_state: int = 0, n_jobs: int | None = -1) -> ImageDemo:
    """Take advice on labelled windows, let `fit` pick a method, and classify new windows by it and by baselines.

    Labelled windows come from the upper halves of photographs, new ones from the lower halves.

    Parameters
    ----------
    random_state : int, default=0
    n_jobs : int or None, default=-1

    Returns
    -------
    result : ImageDemo
    """
    seeds = [int(rng.integers(2**31)) for rng in spawn_rngs(random_state, 2)]
    labelled = load_textures(N_LABELLED, SIDE, "train", seeds[0])
    new = load_textures(N_NEW, SIDE, "test", seeds[1])
    images, names = list(labelled.images), np.asarray(labelled.class_names)
    labels, new_labels = names[labelled.labels], names[new.labels]
    advice = advise(images, labels, budget=BUDGET, random_state=random_state, n_jobs=n_jobs)
    phi = parse_transformations(advice.text)
    selection = select_method(images, labels, phi, BUDGET, random_state, n_jobs)
    picked = selection.classifier
    without = clone(picked).set_params(transformations=Identity())
    judged = [evaluate(model.fit(images, labels), list(new.images), new_labels) for model in (picked, without)]
    copied, codes = add_copies(images, labelled.labels, picked.plan()._replace(computed=phi))
    trained_on = {COPIES: (copied, names[codes])}
    peers = {**PEERS, COPIES: PEERS[SVM], PATTERNS: PatternClassifier(SVC(C=10))}
    accuracies = {
        name: float(
            np.mean(clone(peer).fit(*trained_on.get(name, (images, labels))).predict(list(new.images)) == new_labels)
        )
        for name, peer in peers.items()
    }
    return ImageDemo(labelled, new, advice, selection, judged[0], judged[1], accuracies)
