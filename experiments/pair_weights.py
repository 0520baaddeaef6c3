"""Weights for the pairs of classes that [Varma07] shows: textures, flowers and objects.

1. textures, figs 2 and 3: weights of levels of invariance, and how they change with the number of training images;
2. flowers, figs 4 to 6 and sec. 4.2: weights of shape, colour and texture, and which flowers have similar weights;
3. objects, fig. 7: shape does not separate round objects from each other, but a butterfly from a guitar.
Figures are shares of the weights in per cent, computed from the paper's weights where it gives weights. A weight of 0
in the paper is no target: most weights of any sparse solution are 0. Every pair is learned by itself; words are learned
from the images of the classes named here only.
"""

import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from experiments import caltech_objects, flowers17, uiuc_textures
from experiments.outcome import Curve, Outcome
from invariance.datasets import load_caltech101, load_flowers17, load_uiuc_textures
from invariance.tradeoff import TradeoffClassifier, class_shares, weights_by_size

Pair = tuple[str, str]

LEVELS = ("none", "rotation", "scale", "similarity", "bi-Lipschitz")
TEXTURES: dict[Pair, dict[str, float]] = {
    ("T23_knit", "T03_bark3"): {"bi-Lipschitz": 100.0},
    ("T23_knit", "T07_water"): {"rotation": 100 * 1.46 / 1.68, "bi-Lipschitz": 100 * 0.22 / 1.68},
    ("T07_water", "T04_wood1"): {"rotation": 100.0},
}
TEXTURES_BY_SIZE: tuple[Pair, ...] = (("T10_floor1", "T25_plaid"), ("T08_granite", "T15_brick2"))
SIZES = (3, 5, 10, 20)
N_SUBSETS = 10  # of every size and draw

CUES = ("shape", "colour", "texture")
FLOWERS: dict[Pair, dict[str, float]] = {
    ("dandelion", "tulip"): {"shape": 100.0},
    ("dandelion", "crocus"): {"shape": 100 * 0.42 / 2.88, "colour": 100 * 2.46 / 2.88},
    ("cowslip", "iris"): {"shape": 100 * 1.48 / 4.84, "colour": 100 * 2.00 / 4.84, "texture": 100 * 1.36 / 4.84},
}
DOMINANT = {"shape": 38.24, "colour": 60.29, "texture": 1.47}
RELATED: tuple[Pair, ...] = (("bluebell", "crocus"), ("sunflower", "daisy"))

KINDS = {"geometric blur": ("GB", "GBDist"), "appearance": ("AppGray", "AppColour"), "shape": ("Shape180", "Shape360")}
ROUND_OBJECTS: tuple[Pair, ...] = (("pizza", "soccer_ball"), ("pizza", "watch"), ("soccer_ball", "watch"))
SHAPED_OBJECTS: Pair = ("butterfly", "electric_guitar")
OBJECTS: dict[Pair, dict[str, float]] = {**{pair: {} for pair in ROUND_OBJECTS}, SHAPED_OBJECTS: {"shape": 100.0}}


def pair_shares(stack: np.ndarray, names: np.ndarray, pair: Pair) -> np.ndarray:
    """Shares (k,) in % of the weights of distances (k, n, n), learned for two of the classes `names` (n,)."""
    rows = np.flatnonzero(np.isin(names, pair))
    # Kernels of matched features of objects are not positive semi-definite; for all others nothing is corrected.
    model = TradeoffClassifier(kernels="distances", psd_correction="clip").fit(
        stack[:, rows[:, None], rows], names[rows]
    )
    return 100 * model.shares_[0]


def sum_by(groups: Sequence[Sequence[int]], shares: np.ndarray) -> np.ndarray:
    """Shares (..., k) summed over groups of the k: (..., groups)."""
    return np.stack([shares[..., list(group)].sum(axis=-1) for group in groups], axis=-1)


def level_groups(names: Iterable[str]) -> list[list[int]]:
    """Which descriptors have each of the `LEVELS`, the first word of their names."""
    return [[k for k, name in enumerate(names) if name.startswith(f"{level} (")] for level in LEVELS]


def of_textures(
    n_draws: int,
    seed: int = 0,
    table: Mapping[str, uiuc_textures.Entry] = uiuc_textures.TABLE,
    sizes: Sequence[int] = SIZES,
) -> tuple[dict[Pair, list[Outcome]], dict[Pair, list[Curve]]]:
    """Figs 2 and 3: shares of every level of invariance for three pairs, and by size for two more."""
    started = time.perf_counter()
    pairs = (*TEXTURES, *TEXTURES_BY_SIZE)
    data = load_uiuc_textures(sorted({name for pair in pairs for name in pair}))
    codes, groups = np.asarray(data.labels), level_groups(table)
    names = np.asarray(data.class_names)[codes]
    found: dict[Pair, list[np.ndarray]] = defaultdict(list)
    by_size: dict[Pair, list[np.ndarray]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as cache:
        for number in range(seed, seed + n_draws):
            training, _ = uiuc_textures.draw_split(codes, number)
            stack = uiuc_textures.distance_stack(data.paths, codes, number, Path(cache), dict(table))
            stack = stack[:, training[:, None], training]
            for pair in TEXTURES:
                found[pair].append(sum_by(groups, pair_shares(stack, names[training], pair)))
            for pair in TEXTURES_BY_SIZE:
                rows = np.flatnonzero(np.isin(names[training], pair))
                weigher, some = TradeoffClassifier(kernels="distances"), stack[:, rows[:, None], rows]
                shares = weights_by_size(weigher, some, names[training][rows], sizes, N_SUBSETS, number)
                by_size[pair].append(100 * sum_by(groups, shares[:, 0]))
    seconds = (time.perf_counter() - started) / n_draws
    curves = {
        pair: [Curve(level, tuple(sizes), np.stack(draws)[:, :, place]) for place, level in enumerate(LEVELS)]
        for pair, draws in by_size.items()
    }
    return {pair: _rows(LEVELS, draws, TEXTURES[pair], seconds) for pair, draws in found.items()}, curves


def of_flowers(
    numbers: Sequence[int], every: int = 1
) -> tuple[dict[Pair, list[Outcome]], list[Outcome], list[Outcome]]:
    """Figs 4 to 6: shares of three pairs, how often each cue dominates, and overlaps of related flowers."""
    started = time.perf_counter()
    kinds = np.asarray(load_flowers17().class_names)
    found: dict[Pair, list[np.ndarray]] = defaultdict(list)
    dominant, common = [], []
    for number in numbers:
        split = flowers17.measure_split(number, transformers=flowers17.PAPERS_THREE, every=every)
        names = kinds[split.labels]
        for pair in FLOWERS:
            found[pair].append(pair_shares(split.training, names, pair))
        model = TradeoffClassifier(kernels="distances").fit(split.training, names)
        dominant.append(100 * np.bincount(model.shares_.argmax(axis=1), minlength=len(CUES)) / len(model.shares_))
        common.append(in_common(dict(zip(model.classes_, class_shares(model), strict=True))))
    seconds = (time.perf_counter() - started) / len(numbers)
    likeness = [
        Outcome(name, np.array(figures), None, seconds)
        for name, figures in zip(("related flowers", "others"), zip(*common, strict=True), strict=True)
    ]
    tables = {pair: _rows(CUES, draws, FLOWERS[pair], seconds) for pair, draws in found.items()}
    return tables, _rows(CUES, dominant, DOMINANT, seconds), likeness


def in_common(shares: Mapping[str, np.ndarray]) -> tuple[float, float]:
    """Mean overlap in % of the shares of two related flowers, and of two that are not related."""
    overlaps: dict[bool, list[float]] = {True: [], False: []}
    for first, second in combinations([name for pair in RELATED for name in pair], 2):
        overlaps[(first, second) in RELATED].append(100 * float(np.minimum(shares[first], shares[second]).sum()))
    return float(np.mean(overlaps[True])), float(np.mean(overlaps[False]))


def of_objects(
    n_draws: int, seed: int = 0, measures: Mapping[str, caltech_objects.Measure] = caltech_objects.MEASURES
) -> dict[Pair, list[Outcome]]:
    """Fig. 7: shares of geometric blur, appearance and shape for four pairs, 15 images per class, drawn per seed."""
    started = time.perf_counter()
    data = load_caltech101(sorted({name for pair in OBJECTS for name in pair}))
    assert data.labels is not None
    places = {name: place for place, name in enumerate(measures)}
    groups = [[places[name] for name in names if name in places] for names in KINDS.values()]
    found: dict[Pair, list[np.ndarray]] = defaultdict(list)
    for number in range(seed, seed + n_draws):
        training, _ = caltech_objects.draw(data.labels, number)
        names, images = np.asarray(data.class_names)[data.labels[training]], data.images[training]
        stack = np.stack([measure(images, images[:1])[0] for measure in measures.values()])
        for pair in OBJECTS:
            found[pair].append(sum_by(groups, pair_shares(stack, names, pair)))
    seconds = (time.perf_counter() - started) / n_draws
    return {pair: _rows(tuple(KINDS), draws, OBJECTS[pair], seconds) for pair, draws in found.items()}


def _rows(
    names: Sequence[str], draws: Sequence[np.ndarray], paper: Mapping[str, float], seconds: float
) -> list[Outcome]:
    """One row per name, with the paper's figure if it has one."""
    figures = np.stack(draws)
    return [Outcome(name, figures[:, place], paper.get(name), seconds) for place, name in enumerate(names)]
