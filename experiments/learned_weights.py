"""What learned weights say about a task, [Varma07] sec. 1 and 4, on MNIST: 6 or 9 needs to know up from down.

Four base kernels ignore increasingly large rotations of a digit: none, small ones (by tangents), up to 60°, all. Their
weights are learned for every pair of digits, upright and with every digit rotated by an angle of its own:
1. weights against training digits per class, means over three times as many draws: with few digits they vary widely;
2. whether the weights of a pair of upright digits are alike when they are learned from other images of the same pair;
3. a prior: weights learned on the digits 0 to 4 set the costs of the kernels for 5 to 9, of which there are very few.
   Digits are drawn again for every draw. "Wrong prior" is that of the other kind of task, upright or rotated.
The paper has no figures for this. Its claim, for textures, is that fewer samples need more invariance (fig. 3).
"""

import time
from collections import defaultdict
from collections.abc import Sequence
from itertools import product

import numpy as np
from skimage.transform import rotate

from experiments.outcome import Outcome
from invariance._core.progress import track
from invariance.datasets import load_mnist
from invariance.tangents import JitteredDistance, TangentDistance
from invariance.tangents.psd import PsdCorrection
from invariance.tradeoff import TradeoffClassifier, prior_from, weights_by_size
from invariance.tradeoff.base import inverse_mean
from invariance.transformations import Identity, Rotations

PIXELS = TangentDistance(Identity(), blur=0.8)
KERNELS = {
    "no rotations": PIXELS,
    "small rotations": TangentDistance(Rotations(3)),
    "rotations to 60°": JitteredDistance(Rotations(7, limit=60), PIXELS),
    "all rotations": JitteredDistance(Rotations(16), PIXELS),
}
OTHER_KIND = {"upright": "rotated", "rotated": "upright"}
SIZES = (2, 5, 10, 20, 40)
FEW = (2, 3, 5)  # digits per class, where a prior may help
Tables = dict[tuple[str, int], list[Outcome]]
# Shares (sizes, tasks, k) for both kinds; shares (tasks, k) of all upright digits; shares (tasks, k) of other digits.
Weighed = tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]


class DistanceWeigher(TradeoffClassifier):
    """Learns weights of kernels from distances (k, n, n).

    Gram matrices are made positive semi-definite on the digits of the fit alone: with further digits, the correction
    would favour the kernels with the most negative eigenvalues.
    """

    def __init__(self, kernels="precomputed", weights="learned", sigma=1.0):
        super().__init__(kernels, weights=weights, sigma=sigma)

    def fit(self, X, y) -> "DistanceWeigher":
        """Find widths and corrections of the kernels, and weights for every pair of classes."""
        self.parts_ = [(inverse_mean(squared), PsdCorrection("clip")) for squared in X]
        super().fit([part.fit_transform(np.exp(-g * D)) for D, (g, part) in zip(X, self.parts_, strict=True)], y)
        return self

    def predict(self, X) -> np.ndarray:
        """Classes (m,) by distances (k, m, n)."""
        return super().predict([part.transform(np.exp(-g * D)) for D, (g, part) in zip(X, self.parts_, strict=True)])


def draw_digits(images: np.ndarray, labels: np.ndarray, n_each: int, seed: int) -> tuple[dict, np.ndarray]:
    """`n_each` digits of every class, class by class, "upright" and "rotated" (n, h, w), and their labels."""
    rng = np.random.default_rng(seed)
    drawn = np.concatenate([rng.permutation(np.flatnonzero(labels == name))[:n_each] for name in np.unique(labels)])
    upright, angles = images[drawn], rng.uniform(0, 360, len(drawn))
    rotated = [rotate(image, angle, order=1) for image, angle in zip(upright, angles, strict=True)]
    return {"upright": upright, "rotated": np.stack(rotated)}, labels[drawn]


def measure(images: np.ndarray) -> np.ndarray:
    """Squared distances (k, n, n) of images, one matrix per base kernel."""
    return np.stack([kernel.squared(images) for kernel in KERNELS.values()])


def weigh(images, labels, n_each: int = 80, sizes: Sequence[int] = SIZES, n_draws: int = 60) -> Weighed:
    """Weights against digits per class; those of all `n_each` upright digits per class, and of equally many others."""
    digits, labels = draw_digits(images, labels, 2 * n_each, seed=0)
    part = np.arange(len(labels)) % (2 * n_each) < n_each
    stacks = {kind: measure(digits[kind][part]) for kind in OTHER_KIND}
    weigher = DistanceWeigher()
    by_size = {kind: weights_by_size(weigher, stacks[kind], labels[part], sizes, n_draws) for kind in stacks}
    again = weigher.fit(measure(digits["upright"][~part]), labels[~part]).shares_
    return by_size, weigher.fit(stacks["upright"], labels[part]).shares_, again


def overlaps(shares: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Shares in common in %: (tasks,) of a task with the same task on other digits, and (tasks,) with all tasks."""
    common = 100 * np.minimum(shares[:, None], others).sum(axis=2)
    return common.diagonal(), common.mean(axis=1)


def compare_priors(images, labels, n_draws: int = 20, n_each: int = 60) -> Tables:
    """Accuracy in % on the upper half of the classes, from their first few digits, with priors of the lower half."""
    started, rates = time.perf_counter(), defaultdict(list)
    for seed in track(range(1, n_draws + 1), "transferring priors"):
        digits, drawn = draw_digits(images, labels, n_each, seed)
        lower, upper = np.split(np.arange(len(drawn)).reshape(-1, n_each), 2)
        known, test = lower.ravel(), upper[:, max(FEW) :].ravel()  # the same test digits for all of FEW
        stacks = {kind: measure(digits[kind]) for kind in OTHER_KIND}
        sources = {kind: DistanceWeigher().fit(stacks[kind][:, known[:, None], known], drawn[known]) for kind in stacks}
        for kind, n_few in product(OTHER_KIND, FEW):
            training = upper[:, :n_few].ravel()
            weighers = {
                "learned": DistanceWeigher(),
                "equal weights": DistanceWeigher(weights="equal"),
                "learned, prior": DistanceWeigher(sigma=prior_from(sources[kind])),
                "weights of 0 to 4": DistanceWeigher(weights=sources[kind].shares_.mean(axis=0)),
                "learned, wrong prior": DistanceWeigher(sigma=prior_from(sources[OTHER_KIND[kind]])),
            }
            for name, weigher in weighers.items():
                weigher.fit(stacks[kind][:, training[:, None], training], drawn[training])
                is_right = weigher.predict(stacks[kind][:, test[:, None], training]) == drawn[test]
                rates[kind, n_few, name].append(100 * np.mean(is_right))
    seconds, tables = (time.perf_counter() - started) / n_draws, defaultdict(list)
    for (kind, n_few, name), figures in rates.items():
        tables[kind, n_few].append(Outcome(name, np.array(figures), None, seconds))
    return dict(tables)


def run(n_draws: int = 20) -> tuple[Weighed, Tables]:
    """Weights of MNIST's digits, and accuracies with and without priors."""
    data = load_mnist()
    images, labels = np.asarray(data.images, np.float32) / 255, np.asarray(data.labels)
    return weigh(images, labels, n_draws=3 * n_draws), compare_priors(images, labels, n_draws)
