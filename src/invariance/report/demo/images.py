"""Images: which invariance helps, and what the method that `fit` picks gains from it, beside simple baselines."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.ndimage import rotate, zoom
from sklearn.base import clone

from invariance._core.randomness import spawn_rngs
from invariance.datasets import Dataset, load_digits
from invariance.methods import Advice, Evaluation, Selection, advise, evaluate, select_method
from invariance.methods.classifier import add_copies
from invariance.methods.comparison import PEERS
from invariance.transformations import Identity
from invariance.transformations.parsing import parse_transformations

LEFT_OUT = 9  # at any angle it is a six
N_LABELLED, N_NEW = 10, 300  # per class, and of all classes
ENLARGED, BORDER = 2.5, 6  # times, and pixels around, so that nothing is cut off when a digit is turned
COPIES = ", turned copies"
COPIED = ("SVM of pixels", "HOG + SVM")
BUDGET = 20.0  # seconds for the advice, and for the selection


class ImageDemo(NamedTuple):
    """What was learned from labelled digits at any angle, and how it does on new ones.

    Attributes
    ----------
    labelled, new : Dataset
    advice : Advice
    selection : Selection
        What `fit` picks, given the advice.
    invariant, plain : Evaluation
        Of the picked method on the new digits, ignoring what is advised, and nothing.
    peers : dict of str to float
        Accuracies of simple baselines on the new digits.
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
            f"Images: advise says to ignore {self.advice.advised.name}; fit picks '{method}', whose accuracy on "
            f"{len(self.new)} new images rises from {self.plain.accuracy:.1%} to {self.invariant.accuracy:.1%}. "
            f"{_compare(self.invariant.accuracy, self.peers[best], best)}"
        )


def _compare(ours: float, theirs: float, name: str) -> str:
    verdict = "as accurate" if ours == theirs else "less accurate" if ours > theirs else "more accurate"
    return f"The best simple baseline, {name}, is {verdict}: {theirs:.1%}."


def run_images(random_state: int = 0, n_jobs: int | None = -1) -> ImageDemo:
    """Take advice on labelled digits, let `fit` pick a method, and classify new digits by it and by baselines.

    Parameters
    ----------
    random_state : int, default=0
    n_jobs : int or None, default=-1

    Returns
    -------
    result : ImageDemo
    """
    [rng] = spawn_rngs(random_state, 1)
    labelled, new = draw_digits(rng)
    assert labelled.labels is not None
    assert new.labels is not None
    images, labels = list(labelled.images), labelled.labels
    advice = advise(images, labels, budget=BUDGET, random_state=random_state, n_jobs=n_jobs)
    phi = parse_transformations(advice.text)
    selection = select_method(images, labels, phi, BUDGET, random_state, n_jobs)
    picked = selection.classifier
    without = clone(picked).set_params(transformations=Identity())
    judged = [evaluate(model.fit(images, labels), list(new.images), new.labels) for model in (picked, without)]
    copies = add_copies(images, labels, picked.plan()._replace(computed=phi))
    trained = {name: clone(peer).fit(images, labels) for name, peer in PEERS.items()}
    trained |= {f"{name}{COPIES}": clone(PEERS[name]).fit(*copies) for name in COPIED}
    peers = {name: float(np.mean(peer.predict(list(new.images)) == new.labels)) for name, peer in trained.items()}
    return ImageDemo(labelled, new, advice, selection, judged[0], judged[1], peers)


def draw_digits(rng: np.random.Generator) -> tuple[Dataset, Dataset]:
    """Return labelled and new handwritten digits without nines, each turned by a random angle."""
    digits = load_digits()
    assert digits.labels is not None
    order = rng.permutation(np.flatnonzero(digits.labels != LEFT_OUT))
    classes = np.unique(digits.labels[order])
    labelled = np.concatenate([order[digits.labels[order] == label][:N_LABELLED] for label in classes])
    drawn = digits.take(np.concatenate([labelled, np.setdiff1d(order, labelled, assume_unique=True)[:N_NEW]]))
    turned = [turn(image, angle) for image, angle in zip(drawn.images, rng.uniform(0, 360, len(drawn)), strict=True)]
    drawn = replace(drawn, images=np.stack(turned))
    return drawn.take(slice(len(labelled))), drawn.take(slice(len(labelled), None))


def turn(image: np.ndarray, angle: float) -> np.ndarray:
    """Enlarge a digit and turn it by degrees."""
    enlarged = np.pad(zoom(image, ENLARGED, order=1), BORDER)
    return rotate(enlarged, angle, reshape=False, order=1).clip(0, 1).astype(np.float32)
