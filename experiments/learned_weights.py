"""What learned weights say about a task, [Varma07] sec. 1 and 4, on MNIST: 6 or 9 needs to know up from down.

Four base kernels ignore more and more of a digit's turning: nothing, small turns (by tangents), turns up to 60°, all
turns. They are weighed for every pair of digits, upright and with every digit turned by an angle of its own:
1. weights against training digits per class, means over three times as many draws: of few digits, they vary widely;
2. which pairs of upright digits are alike by their weights, and whether other digits of the same pairs say so too;
3. a prior: weights learned on the digits 0 to 4 say what kernels cost for 5 to 9, of which there are very few. All
   digits are drawn anew for every draw. "Wrong prior" is that of the other kind of task, upright or turned.
The paper has no figures for this. Its claim, for textures, is that fewer samples want more invariance (fig. 3).
Run it with: python -m experiments.learned_weights [folder of the figures] [number of draws]
"""

import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from skimage.transform import rotate

from experiments.outcome import Outcome, as_text
from invariance._core.progress import track
from invariance.datasets import load_mnist
from invariance.report import similarity_figure, weights_by_size_figure
from invariance.tangents import JitteredDistance, TangentDistance
from invariance.tangents.psd import PsdCorrection
from invariance.tradeoff import TradeoffClassifier, prior_from, task_similarity, weights_by_size
from invariance.tradeoff.base import inverse_mean
from invariance.transformations import Identity, Rotations

PIXELS = TangentDistance(Identity(), blur=0.8)
KERNELS = {
    "no turns": PIXELS,
    "small turns": TangentDistance(Rotations(3)),
    "turns to 60°": JitteredDistance(Rotations(7, limit=60), PIXELS),
    "all turns": JitteredDistance(Rotations(16), PIXELS),
}
OTHER_KIND = {"upright": "turned", "turned": "upright"}
PAIRS = ("6 or 9", "1 or 7", "3 or 8")
SIZES = (2, 5, 10, 20, 40)
FEW = (2, 3, 5)  # digits per class, where a prior may help
BASELINE = "learned"
Tables = dict[tuple[str, int], list[Outcome]]
# Shares (sizes, tasks, k) for both kinds; the weigher of all upright digits; shares (tasks, k) of other digits.
Weighed = tuple[dict[str, np.ndarray], "DistanceWeigher", np.ndarray]


class DistanceWeigher(TradeoffClassifier):
    """Takes distances (k, n, n). Repairs are of its own digits: of more, they favour the least definite kernels."""

    def __init__(self, kernels="precomputed", weights="learned", sigma=1.0):
        super().__init__(kernels, weights=weights, sigma=sigma)

    def fit(self, X, y) -> "DistanceWeigher":
        """Widths, repairs, and weights for every pair of classes."""
        self.parts_ = [(inverse_mean(squared), PsdCorrection("clip")) for squared in X]
        super().fit([part.fit_transform(np.exp(-g * D)) for D, (g, part) in zip(X, self.parts_, strict=True)], y)
        return self

    def predict(self, X) -> np.ndarray:
        """Classes (m,) by distances (k, m, n)."""
        return super().predict([part.transform(np.exp(-g * D)) for D, (g, part) in zip(X, self.parts_, strict=True)])


def draw_digits(images: np.ndarray, labels: np.ndarray, n_each: int, seed: int) -> tuple[dict, np.ndarray]:
    """`n_each` digits of every class, class by class, "upright" and "turned" (n, h, w), and their labels."""
    rng = np.random.default_rng(seed)
    drawn = np.concatenate([rng.permutation(np.flatnonzero(labels == name))[:n_each] for name in np.unique(labels)])
    upright, angles = images[drawn], rng.uniform(0, 360, len(drawn))
    turned = [rotate(image, angle, order=1) for image, angle in zip(upright, angles, strict=True)]
    return {"upright": upright, "turned": np.stack(turned)}, labels[drawn]


def measure(images: np.ndarray) -> np.ndarray:
    """Squared distances (k, n, n) of images, a matrix a base kernel."""
    return np.stack([kernel.squared(images) for kernel in KERNELS.values()])


def weigh(images, labels, n_each: int = 80, sizes: Sequence[int] = SIZES, n_draws: int = 60) -> Weighed:
    """Weights against digits per class; those of all `n_each` upright digits per class, and of as many others."""
    digits, labels = draw_digits(images, labels, 2 * n_each, seed=0)
    part = np.arange(len(labels)) % (2 * n_each) < n_each
    stacks = {kind: measure(digits[kind][part]) for kind in OTHER_KIND}
    weigher = DistanceWeigher()
    by_size = {kind: weights_by_size(weigher, stacks[kind], labels[part], sizes, n_draws) for kind in stacks}
    again = weigher.fit(measure(digits["upright"][~part]), labels[~part]).shares_
    return by_size, weigher.fit(stacks["upright"], labels[part]), again


def compare_priors(images, labels, n_draws: int = 20, n_each: int = 60) -> Tables:
    """Right in % of the upper half of the classes, from their first few digits, with priors of the lower half."""
    started, rates = time.perf_counter(), defaultdict(list)
    for seed in track(range(1, n_draws + 1), "carrying priors over"):
        digits, drawn = draw_digits(images, labels, n_each, seed)
        lower, upper = np.split(np.arange(len(drawn)).reshape(-1, n_each), 2)
        known, test = lower.ravel(), upper[:, max(FEW) :].ravel()  # the same test digits for all of FEW
        stacks = {kind: measure(digits[kind]) for kind in OTHER_KIND}
        sources = {kind: DistanceWeigher().fit(stacks[kind][:, known[:, None], known], drawn[known]) for kind in stacks}
        for kind, n_few in product(OTHER_KIND, FEW):
            training = upper[:, :n_few].ravel()
            weighers = {
                BASELINE: DistanceWeigher(),
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


def gains(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Points above learned weights without a prior, draw by draw."""
    [baseline] = [outcome.figures for outcome in outcomes if outcome.method == BASELINE]
    return [o._replace(figures=o.figures - baseline) for o in outcomes if o.method != BASELINE]


def plot_gains(tables: Tables) -> Figure:
    """Points above learned weights without a prior, with the errors of the means, against digits per class."""
    figure = Figure(figsize=(8.4, 3.8), layout="constrained")
    for axes, kind in zip(figure.subplots(1, 2, sharey=True), OTHER_KIND, strict=True):
        for place, found in enumerate(zip(*(gains(tables[kind, n_few]) for n_few in FEW), strict=True)):
            means, errors = np.transpose([(o.mean, o.deviation / np.sqrt(len(o.figures))) for o in found])
            places = np.arange(len(FEW)) + 0.06 * (place - 1.5)
            axes.errorbar(places, means, errors, fmt="o-", ms=4, capsize=2, label=found[0].method)
        axes.axhline(0, color="grey", linewidth=0.8)
        axes.set_xticks(range(len(FEW)), FEW)
        axes.set(title=f"digits 5 to 9, {kind}", xlabel="training digits per class")
        axes.spines[["top", "right"]].set_visible(False)
    figure.axes[0].set_ylabel("points above weights without a prior")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    return figure


def make_figures(weighed: Weighed, tables: Tables, sizes: Sequence[int] = SIZES) -> dict[str, Figure]:
    """Weights by size of some pairs; similarity of 20 pairs, from least to most turning ignored; gains by priors."""
    by_size, weigher, _ = weighed
    names, shares = weigher.task_names_, weigher.shares_
    figures = {"priors": plot_gains(tables)}
    for kind, pair in product(OTHER_KIND, PAIRS):
        of_pair = by_size[kind][:, [names.index(pair)]]
        figures[f"weights {pair} {kind}"] = weights_by_size_figure(of_pair, sizes, list(KERNELS), f"{pair}, {kind}")
    shown = np.argsort(shares @ np.arange(len(KERNELS)))[np.linspace(0, len(names) - 1, 20).astype(int)]
    similarity, title = task_similarity(weigher), "upright pairs, least to most turning ignored"
    figures["similar"] = similarity_figure(similarity[np.ix_(shown, shown)], [names[i] for i in shown], title)
    return figures


def run(n_draws: int = 20) -> tuple[Weighed, Tables]:
    """What the weights of MNIST's digits say, and what priors are worth."""
    data = load_mnist()
    images, labels = np.asarray(data.images, np.float32) / 255, np.asarray(data.labels)
    return weigh(images, labels, n_draws=3 * n_draws), compare_priors(images, labels, n_draws)


if __name__ == "__main__":
    weighed, tables = run(int(sys.argv[2]) if len(sys.argv) > 2 else 20)
    by_size, weigher, again = weighed
    for kind, pair in product(OTHER_KIND, PAIRS):
        shares = by_size[kind][:, weigher.task_names_.index(pair)]
        print(f"{pair}, {kind}, {SIZES} digits per class, shares of {', '.join(KERNELS)}:\n{shares.round(2)}")
    overlaps = np.minimum(weigher.shares_[:, None], again).sum(axis=2)
    same = overlaps.diagonal().mean()
    print(f"overlap of weights on other digits: {same:.2f} for the same pair, {overlaps.mean():.2f} for any two")
    for (kind, n_few), outcomes in tables.items():
        print(as_text(f"digits 5 to 9, {kind}, {n_few} a class, right in %", outcomes))
        print(as_text("points above learned weights without a prior, draw by draw", gains(outcomes)))
    for name, figure in make_figures(weighed, tables).items() if len(sys.argv) > 1 else ():
        Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
        figure.savefig(Path(sys.argv[1]) / f"{name.replace(' ', '_')}.png", dpi=150)
