"""How each experiment is run: a function of (runs, seed, is_quick) that returns what was `Found`.

`runs` are draws, splits or trials; they do not change the number of training or test images. Rehearsals
(`is_quick=True`) leave out methods and data, and their figures mean nothing.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from experiments.outcome import Curve, Found, Outcome, Plot, Table

# Titles and names of rows are those of the stored results, which are looked up by them.
EXAMPLES_NEEDED, FIVE_EXAMPLES = "examples per class for 65 % accuracy", "5 examples per class, accuracy in %"
ACCURACY = "accuracy in %"
FALSE_ALARMS, HITS = "false alarms in %", "hits in %"
UNMIXED = "windows that reach an unmixed leaf of bikes, in %"
UNSEEN_TEXTURES = f"combined, without images that settings were chosen on, {ACCURACY}"
WITHIN_ROTATIONS = "1 - K within rotations in % of that between images"
SHARE, SHARE_OF_SHAPE = "share of the weights in %", "share of shape in the weights in %"
DOMINANT_CUE, IN_COMMON = "cue that counts most, in % of all pairs", "shares of the weights in common in %"
SHARE_OF_NETWORK = "share of the network in the weights in %, one figure per label"
MISSED = "error in % of the movement"
INVARIANCE_WANTED = "share of the weights on large rotations in %, one figure per pair of digits"


def pick(methods: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Some of the methods."""
    return {name: methods[name] for name in names}


def yale_faces(runs: int, seed: int, is_quick: bool) -> Found:
    """Faces by trees and jungles."""
    from experiments import yale_faces as module

    methods = pick(module.METHODS, "TICJ, no transformations", "TICJ") if is_quick else module.METHODS
    return Found([Table("error in %", "lower", module.run(runs, methods, seed))])


def isbi_patches(runs: int, seed: int, is_quick: bool) -> Found:
    """Membranes by patches."""
    from experiments import isbi_patches as module

    methods = pick(module.METHODS, "TICJ") if is_quick else module.METHODS
    outcomes = module.run(runs, methods, seed, shrink=25 if is_quick else 1)
    return Found([Table("1 - F in %", "lower", outcomes, is_papers_task=False)])


def isbi_sections(runs: int, seed: int, is_quick: bool) -> Found:
    """Membranes, every pixel, from 18 labelled sections."""
    return _isbi("sections", runs, seed, is_quick, ("pixel forest", "segmenter, no context", "segmenter"))


def isbi_few(runs: int, seed: int, is_quick: bool) -> Found:
    """Membranes, every pixel, from one and three labelled sections."""
    return _isbi("few", runs, seed, is_quick, ("pixel forest", "segmenter"))


def isbi_unet(runs: int, seed: int, is_quick: bool) -> Found:
    """Membranes, every pixel, from 18 labelled sections, against a U-Net at several moments of its training."""
    names = ("pixel forest", "segmenter, no context", "segmenter", "segmenter, thorough")
    found = _isbi("sections", runs, seed, is_quick, names, unet=True)
    errors = found.tables[0]
    unet = {float(row.method.split()[1]): row.figures for row in errors.outcomes if row.method.startswith("U-Net")}
    curves = [Curve("U-Net", tuple(map(round, unet)), np.transpose([*unet.values()]))]
    curves += [
        Curve(row.method, (round(row.seconds),), row.figures[:, None])
        for row in errors.outcomes
        if not row.method.startswith("U-Net")
    ]
    return found._replace(plots=[Plot("ISBI 2012", "training seconds of the U-Net", errors.title, curves, True)])


def scribbles(runs: int, seed: int, is_quick: bool) -> Found:
    """Membranes, every pixel, from a few discs and strokes of one section, against other tools and a U-Net."""
    from experiments import scribbles as module

    return module.run(module.isbi_images, runs, seed, is_quick)


def scribbles_cells(runs: int, seed: int, is_quick: bool) -> Found:
    """Generated cells, every pixel, from a few discs and strokes of one image, against other tools and a U-Net."""
    from experiments import scribbles as module

    return module.run(module.cell_images, runs, seed, is_quick)


def _isbi(part: str, runs: int, seed: int, is_quick: bool, methods: Sequence[str], unet: bool = False) -> Found:
    from experiments import isbi2012, pixel_runs
    from invariance.datasets import load_isbi2012

    data, plan = load_isbi2012(), isbi2012.QUICK if is_quick else isbi2012.FULL
    chosen = pick(isbi2012.METHODS, *methods[: 2 if is_quick else None])
    plans = [plan._replace(seed=number) for number in range(seed, seed + runs)]
    isbi2012.warm_up(data)
    found = [run for plan in plans for run in isbi2012.PARTS[part](data, plan, unet, chosen)]
    tables = []
    for task, by_method in pixel_runs.group(found).items():
        for title, better, field in (("1 - F in %", "lower", "error"), ("V_rand in %", "higher", "v_rand")):
            outcomes = [
                Outcome(
                    method,
                    np.array([getattr(run, field) for run in found]) * (1 if field == "error" else 100),
                    None,
                    float(np.mean([run.training_seconds for run in found])),
                )
                for method, found in by_method.items()
            ]
            tables.append(Table(f"{task}, {title}", better, outcomes, is_papers_task=False))
    return Found(tables)


def mnist_digits(runs: int, seed: int, is_quick: bool) -> Found:
    """Digits by jungles."""
    from experiments import mnist_digits as module

    return Found([Table("error in %", "lower", module.run(runs, seed, 100 if is_quick else module.N_TRAINING))])


def rotated_mnist(runs: int, seed: int, is_quick: bool) -> Found:
    """Digits turned by any angle."""
    from experiments import rotated_mnist as module

    return Found(module.run(runs, seed, (100,), 200) if is_quick else module.run(runs, seed))


def graz02(runs: int, seed: int, is_quick: bool) -> Found:
    """Bikes by forests, with and without labels, of one tree and of five."""
    from experiments import graz02 as module

    tasks = pick(module.TASKS, "fours or nines") if is_quick else module.TASKS
    found = module.run(runs, 200 if is_quick else 2000, module.CODEBOOKS, tasks, seed)
    tables = [_graz_table(f"{task}, {ACCURACY}", rows) for task, rows in found.items()]
    curves = {task: [row.roc for row in rows] for task, rows in found.items()}
    return Found(tables, [Plot(f"{task}, ROC", FALSE_ALARMS, HITS, some) for task, some in curves.items()])


def graz02_8000(runs: int, seed: int, is_quick: bool) -> Found:
    """Bikes or cars with as many windows as the paper, by forests and k-means."""
    from experiments.graz02 import CODEBOOKS, Words
    from invariance.codebooks import KMeansCodebook

    codebooks = pick(CODEBOOKS, "forest, 5 trees")
    if not is_quick:
        codebooks["k-means, 5,000 words"] = Words(KMeansCodebook(5000))
    return _bikes_or_cars(codebooks, runs, 100 if is_quick else 8000, seed)


def graz02_windows(runs: int, seed: int, is_quick: bool) -> Found:
    """Forests, unsupervised trees and k-means, by how many windows of an image are counted, and by how."""
    from experiments.graz02 import NORMALIZATIONS, Words
    from invariance.codebooks import ClusteringForest, KMeansCodebook

    forest = ClusteringForest(5, n_leaves=1000)
    readings = {"": NORMALIZATIONS, ", binary": ("binary",), ", mutual information": ("information",)}
    codebooks = {
        "forest, 5 trees": Words(forest, readings=readings),
        "unsupervised trees": Words(forest, is_supervised=False, readings=readings),
    }
    if not is_quick:
        codebooks["k-means, 5,000 words"] = Words(
            KMeansCodebook(5000, batch_size=1024, n_init=1, max_iter=300, init="random", reassignment_ratio=0.01)
        )
    return _graz_curves(
        {n: (codebooks, n) for n in ((50, 100) if is_quick else (100, 300, 1000))}, "windows per image", runs, seed
    )


def graz02_forests(runs: int, seed: int, is_quick: bool) -> Found:
    """Forests by how many trees they have, and by how many leaves are left of each tree."""
    from experiments.graz02 import Words
    from invariance.codebooks import ClusteringForest

    n_windows, few = 50 if is_quick else 1000, slice(2 if is_quick else None)
    of_trees = {
        n: ({"1,000 leaves per tree": Words(ClusteringForest(n, n_leaves=1000))}, n_windows) for n in [1, 2, 5, 10][few]
    }
    of_leaves = {
        n: ({"5 trees": Words(ClusteringForest(5, n_leaves=n))}, n_windows) for n in [50, 200, 1000, 3000][few]
    }
    trees, leaves = _graz_curves(of_trees, "trees", runs, seed), _graz_curves(of_leaves, "leaves per tree", runs, seed)
    return Found([*trees.tables, *leaves.tables], [*trees.plots, *leaves.plots])


def graz02_features(runs: int, seed: int, is_quick: bool) -> Found:
    """Forests by how many windows they are grown from and how many leaves they have."""
    from experiments.graz02 import Words
    from invariance.codebooks import ClusteringForest

    n_windows, few = 50 if is_quick else 1000, slice(2 if is_quick else None)
    settings = {
        n: (
            {
                f"{300 * m:,} features": Words(ClusteringForest(5, n_leaves=n), n_training_windows=m)
                for m in [17, 67, 267][few]
            },
            n_windows,
        )
        for n in [50, 200, 1000, 3000][few]
    }
    return _graz_curves(settings, "leaves per tree", runs, seed)


def graz02_trials(runs: int, seed: int, is_quick: bool) -> Found:
    """Forests by T_max, the tests that are tried per node, and with T_max chosen on held-out training images."""
    from experiments.graz02 import Words
    from invariance.codebooks import ClusteringForest

    n_windows, trials = (50, [1, 50]) if is_quick else (1000, [1, 5, 15, 50, 150])
    forests = {n: ClusteringForest(5, n_leaves=1000, max_trials=n) for n in trials}
    found = _graz_curves({n: ({"forest": Words(forests[n])}, n_windows) for n in trials}, "trials", runs, seed)
    chosen = {"forest, trials by validation": Words(tuple(forests.values()))}
    [table] = _bikes_or_cars(chosen, runs, n_windows, seed).tables
    [by_trials] = found.tables
    return found._replace(tables=[by_trials._replace(outcomes=[*by_trials.outcomes, *table.outcomes])])


def graz02_pruning(runs: int, seed: int, is_quick: bool) -> Found:
    """Forests grown fully and pruned, pruned while they grow, and not pruned."""
    from experiments.graz02 import Words
    from invariance.codebooks import ClusteringForest

    n_leaves = 100 if is_quick else 1000
    codebooks = {
        "grown fully, then pruned": Words(ClusteringForest(5, n_leaves=n_leaves)),
        "pruned while growing": Words(ClusteringForest(5, n_leaves=n_leaves, pruning="during")),
        "not pruned": Words(ClusteringForest(5, n_leaves=None)),
    }
    return _bikes_or_cars(codebooks, runs, 50 if is_quick else 1000, seed)


def graz02_votes(runs: int, seed: int, is_quick: bool) -> Found:
    """Words of leaves and a support vector machine, and leaves that vote."""
    from experiments.graz02 import NORMALIZATIONS, VOTE, Words
    from invariance.codebooks import ClusteringForest

    readings = {", words": NORMALIZATIONS, ", leaves vote": (VOTE,)}
    codebooks = {
        "1,000 leaves per tree": Words(ClusteringForest(5, n_leaves=1000), readings=readings),
        "not pruned": Words(ClusteringForest(5, n_leaves=None), readings=readings),
    }
    return _bikes_or_cars(codebooks, runs, 50 if is_quick else 1000, seed)


def graz02_descriptors(runs: int, seed: int, is_quick: bool) -> Found:
    """Forests on colours, wavelets of colours, and SIFT."""
    from experiments.graz02 import Words
    from invariance.codebooks import ClusteringForest
    from invariance.descriptors import HaarPatches, HslPatches, SiftWindows

    descriptors = {"HSL colours": HslPatches(), "Haar wavelets": HaarPatches(), "SIFT": SiftWindows()}
    codebooks = {
        name: Words(ClusteringForest(5, n_leaves=1000), descriptor=descriptor)
        for name, descriptor in descriptors.items()
    }
    return _bikes_or_cars(codebooks, runs, 50 if is_quick else 1000, seed)


def word_maps(runs: int, seed: int, is_quick: bool) -> Found:
    """Where the words of bikes occur in images that the words were not learned from."""
    from experiments import word_maps as module

    rows, drawings = module.run(runs, seed, *((10, 500, 2) if is_quick else (150, 8000, 4)))
    return Found([Table(UNMIXED, "higher", rows)], drawings=drawings)


def pascal_2005(runs: int, seed: int, is_quick: bool) -> Found:
    """Each of four classes of objects against the others."""
    from experiments import photographed_objects as module

    return Found([Table(ACCURACY, "higher", module.run_voc(runs, seed, *((50, 50) if is_quick else ())))])


def horses(runs: int, seed: int, is_quick: bool) -> Found:
    """Horses against other images."""
    from experiments import photographed_objects as module

    return Found([Table(ACCURACY, "higher", module.run_horses(runs, seed, *((50, 50) if is_quick else ())))])


def _bikes_or_cars(codebooks: Mapping[str, Any], runs: int, n_windows: int, seed: int) -> Found:
    """One table."""
    from experiments import graz02 as module

    [rows] = module.run(runs, n_windows, codebooks, pick(module.TASKS, "bikes or cars"), seed).values()
    return Found([_graz_table(f"bikes or cars, {ACCURACY}", rows)])


def _graz_table(title: str, rows: Sequence[Any]) -> Table:
    return Table(title, "higher", [row.outcome for row in rows], is_papers_task=False)


def _graz_curves(settings: Mapping[int, tuple[dict, int]], places: str, runs: int, seed: int) -> Found:
    """Codebooks and windows per image for every place -> a table of all, and curves."""
    from experiments import graz02 as module

    [task] = tasks = pick(module.TASKS, "bikes or cars")
    found = {n: module.run(runs, windows, books, tasks, seed)[task] for n, (books, windows) in settings.items()}
    by_place = {n: [row.outcome for row in rows] for n, rows in found.items()}
    rows = [
        row._replace(method=f"{row.method}, {n:,} {places}", paper=None) for n, rows in by_place.items() for row in rows
    ]
    names = [row.method for row in next(iter(by_place.values()))]
    curves = [
        Curve(name, tuple(by_place), np.transpose([rows[i].figures for rows in by_place.values()]))
        for i, name in enumerate(names)
    ]
    title = f"{task}, {ACCURACY}, by {places}"
    return Found([Table(title, "higher", rows, is_papers_task=False)], [Plot(title, places, ACCURACY, curves, True)])


def rotation_distributions(runs: int, seed: int, is_quick: bool) -> Found:
    """Rotated copies of an image beside other images."""
    from experiments import rotation_distributions as module
    from experiments.rotated_images import SETS

    found, plots = module.run(runs, pick(SETS, "MNIST") if is_quick else SETS, seed)
    return Found([Table(f"{name}, {WITHIN_ROTATIONS}", "lower", rows) for name, rows in found.items()], plots)


def rotated_images(runs: int, seed: int, is_quick: bool) -> Found:
    """Rotated images found again."""
    from experiments import rotated_images as module

    sets, methods = (pick(module.SETS, "MNIST"), ("inner", "L2")) if is_quick else (module.SETS, module.METHODS)
    found = module.run(runs, methods, sets, seed)
    return Found([Table(f"{name}, rates in %", "higher", rows) for name, rows in found.items()])


def sample_complexity(runs: int, seed: int, is_quick: bool) -> Found:
    """How many examples per class are needed."""
    from experiments import sample_complexity as module

    methods, counts = (("2 layers", "L2"), (1, 5)) if is_quick else (module.METHODS, module.COUNTS)
    curves = module.run(runs, methods, counts, seed)
    needed = [
        Outcome(c.method, np.array([module.count_needed(c)]), module.NEEDED_IN_PAPER.get(c.method), float("nan"))
        for c in curves
    ]
    from_five = [Outcome(c.method, c.rates[:, c.places.index(5)], None, float("nan")) for c in curves]
    tables = [Table(EXAMPLES_NEEDED, "lower", needed), Table(FIVE_EXAMPLES, "higher", from_five)]
    return Found(tables, [Plot("MNIST 2-9, shifted", "training images per class", ACCURACY, curves)])


def low_rank_5(runs: int, seed: int, is_quick: bool) -> Found:
    """Layers with few components, 5 training images per class."""
    return _low_rank("fig. 4", runs, seed, is_quick)


def low_rank_30(runs: int, seed: int, is_quick: bool) -> Found:
    """Layers with few components, 30 training images per class."""
    return _low_rank("fig. 5", runs, seed, is_quick)


def _low_rank(name: str, runs: int, seed: int, is_quick: bool) -> Found:
    from experiments import low_rank as module

    experiment = module.FIGURES[name]
    if is_quick:
        shortest = {
            key: method._replace(components=method.components[:1]) for key, method in experiment.methods.items()
        }
        experiment = module.Experiment(5, shortest)
    curves = module.run(runs, experiment, name, seed)
    rows = [
        Outcome(f"{c.method}, {k}" if len(c.places) > 1 else c.method, c.rates[:, i], None, float("nan"))
        for c in curves
        for i, k in enumerate(c.places)
    ]
    title = f"{experiment.n_training} training images per class, {ACCURACY}"
    return Found([Table(title, "higher", rows)], [Plot(title, "components at each layer", ACCURACY, curves)])


def tangent_digits(runs: int, seed: int, is_quick: bool) -> Found:
    """Digits from 300 examples with kernels that know small transformations."""
    from experiments import tangent_digits as module

    size, names = (30, ["RBF", "virtual, rotations and scales"]) if is_quick else (300, [*module.METHODS])
    [rows] = module.run(runs, 200 if is_quick else module.N_TEST, pick(module.METHODS, *names), (size,), seed).values()
    return Found([Table("error in %", "lower", rows, is_papers_task=False)])


def tangent_digits_1000(runs: int, seed: int, is_quick: bool) -> Found:
    """Digits from 1,000 examples with the best kernels of `tangent_digits`."""
    from experiments import tangent_digits as module

    names = ("RBF",) if is_quick else module.FOR_MANY
    size, n_test = (30, 200) if is_quick else (1000, module.N_TEST)
    [rows] = module.run(runs, n_test, pick(module.METHODS, *names), (size,), seed).values()
    return Found([Table("error in %", "lower", [row._replace(paper=None) for row in rows], is_papers_task=False)])


def tangent_digits_sizes(runs: int, seed: int, is_quick: bool) -> Found:
    """The same against the number of training digits."""
    from experiments import tangent_digits as module

    sizes, names = ((20, 30), ("RBF",)) if is_quick else ((30, 100, 300), module.IN_FIGURE)
    found = module.run(runs, 200 if is_quick else module.N_TEST, pick(module.METHODS, *names), sizes, seed)
    tables = [
        Table(f"{size} digits, error in %", "lower", [row._replace(paper=None) for row in rows], is_papers_task=False)
        for size, rows in found.items()
    ]
    curves = [
        Curve(name, tuple(found), np.transpose([rows[i].figures for rows in found.values()]))
        for i, name in enumerate(names)
    ]
    return Found(tables, [Plot("MNIST", "training digits", "error in %", curves, True)])


def tangent_images(runs: int, seed: int, is_quick: bool) -> Found:
    """Faces moved along tangents by gradients and by finite differences."""
    from experiments import tangent_images as module

    moves = pick(module.MOVES, module.DIFFERENCES) if is_quick else module.MOVES
    curves = module.run(runs, seed, moves)
    tables = [
        Table(
            f"rotated by {angle}°, {MISSED}",
            "lower",
            [Outcome(c.method, c.rates[:, place], None, float("nan")) for c in curves],
        )
        for place, angle in enumerate(module.ANGLES)
        if angle < module.STEP  # which differences have by construction
    ]
    return Found(tables, [Plot("Yale, 64 x 64", "rotation in degrees", MISSED, curves)])


def tangent_faces(runs: int, seed: int, is_quick: bool) -> Found:
    """Faces with kernels that know small transformations."""
    from experiments import tangent_faces as module

    methods = pick(module.METHODS, "RBF", "jittered, shifts") if is_quick else module.METHODS
    preparations = pick(module.PREPARATIONS, "normalized") if is_quick else module.PREPARATIONS
    found = module.run(runs, preparations, methods, seed)
    return Found([Table(f"images {name}, error in %", "lower", rows) for name, rows in found.items()])


def uiuc_textures(runs: int, seed: int, is_quick: bool) -> Found:
    """Textures by eight descriptors; the splits are those of seeds 0, 1, ..."""
    from experiments import uiuc_textures as module

    if is_quick:
        few = pick(module.TABLE, "none (MR)", "rotation (MR)")
        names = ("the eight, learned, one against one", "the eight, block-l1, one against one")
        combinations = pick(module.COMBINATIONS, *names)
        found = module.run(1, table=few, more={}, combinations=combinations, classes=("T01_bark1", "T25_plaid"))
    else:
        found = module.run(runs)
    return Found([Table(f"{name}, {ACCURACY}", "higher", rows) for name, rows in found.items()])


def flowers17(runs: int, seed: int, is_quick: bool) -> Found:
    """Flowers by three and by six descriptors; the splits are the official ones."""
    from experiments import flowers17 as module

    whole, without = module.run(range(1, runs + 1), *(("test", module.PAPERS_THREE, 20) if is_quick else ()))
    titles = ACCURACY, f"without near-identical images, {ACCURACY}"
    return Found([Table(title, "higher", rows) for title, rows in zip(titles, (whole, without), strict=True)])


def caltech_few(runs: int, seed: int, is_quick: bool) -> Found:
    """Objects of some classes by six descriptors."""
    return _caltech(3 if is_quick else 12, runs, seed, is_papers_task=False)


def caltech_objects(runs: int, seed: int, is_quick: bool) -> Found:
    """Objects of all 102 classes by six descriptors."""
    return _caltech(3 if is_quick else None, runs, seed, is_papers_task=True)


def _caltech(n_classes: int | None, runs: int, seed: int, is_papers_task: bool) -> Found:
    from experiments import caltech_objects as module

    rows = module.run(module.choose_classes(n_classes), runs, seed=seed)
    if not is_papers_task:
        rows = [row._replace(paper=None) for row in rows]  # the paper's figures are for 102 classes
    return Found([Table(ACCURACY, "higher", rows, is_papers_task)])


def all_methods(runs: int, seed: int, is_quick: bool) -> Found:
    """All methods of the library combined, on digits and faces."""
    from experiments import all_methods as module

    if is_quick:
        few = pick(module.COMBINATIONS, "all, equal weights")
        found = module.run(runs, pick(module.TASKS, "Yale faces"), few, seed)
    else:
        tasks = pick(module.TASKS, "small digits", "MNIST, 300 digits", "Yale faces")
        found = module.run(runs, tasks, seed=seed)
    return Found([Table(f"{task}, {ACCURACY}", "higher", rows) for task, rows in found.items()])


def all_methods_textures(runs: int, seed: int, is_quick: bool) -> Found:
    """All methods of the library combined, on textures."""
    from experiments import all_methods as module

    combinations = pick(module.COMBINATIONS, "all, equal weights") if is_quick else module.COMBINATIONS
    task = partial(module.draw_uiuc, n_each=2) if is_quick else module.draw_uiuc
    [rows] = module.run(runs, {"UIUC textures": task}, combinations, seed).values()
    return Found([Table(f"UIUC textures, {ACCURACY}", "higher", rows)])


def pretrained_flowers(runs: int, seed: int, is_quick: bool) -> Found:
    """Flowers by a pretrained network and by words; the splits are the official ones."""
    from experiments import pretrained as module

    rows = module.run(range(1, runs + 1), 8 if is_quick else 1)
    return Found([Table(ACCURACY, "higher", rows)])


def network_weights(runs: int, seed: int, is_quick: bool) -> Found:
    """The weight of a pretrained network among all kernels."""
    from experiments import pretrained as module

    outcomes, drawings = module.weigh(seed, pick(module.TASKS, "faces") if is_quick else module.TASKS)
    return Found([Table(SHARE_OF_NETWORK, "neither", outcomes)], drawings=drawings)


def learned_weights(runs: int, seed: int, is_quick: bool) -> Found:
    """Weights of a task, and what priors are worth; the digits are those of seeds 0, 1, ..."""
    from experiments import learned_weights as module
    from invariance.datasets import load_mnist

    if is_quick:
        data = load_mnist()
        images, labels = np.asarray(data.images, np.float32) / 255, np.asarray(data.labels)
        tables = module.compare_priors(images, labels, 1, 8)
        return Found(
            [Table(f"{kind}, {n} per class, {ACCURACY}", "higher", rows) for (kind, n), rows in tables.items()]
        )
    (by_size, shares, again), tables = module.run(runs)
    found = [Table(f"{kind}, {n} per class, {ACCURACY}", "higher", rows) for (kind, n), rows in tables.items()]
    rows = zip(("the same pair of digits", "all pairs of digits"), module.overlaps(shares, again), strict=True)
    in_common = [Outcome(name, figures, None, float("nan")) for name, figures in rows]
    found.append(Table(f"{IN_COMMON}, learned from other images, one figure per pair", "neither", in_common))
    plots, n_blind = [], len(module.KERNELS) // 2
    for kind, shares in by_size.items():  # (sizes, pairs of digits, k), from the smallest to the largest rotations
        wanted = [
            Outcome(f"{size} per class", 100 * of_size[:, n_blind:].sum(axis=1), None, float("nan"))
            for size, of_size in zip(module.SIZES, shares, strict=True)
        ]
        found.append(Table(f"{INVARIANCE_WANTED}, {kind}", "higher", wanted))
        curves = [
            Curve(name, module.SIZES, 100 * shares[:, :, k].mean(axis=1)[None]) for k, name in enumerate(module.KERNELS)
        ]
        plots.append(Plot(f"weights, {kind} digits", "training digits per class", "share of the weights in %", curves))
    return Found(found, plots)


def texture_weights(runs: int, seed: int, is_quick: bool) -> Found:
    """Weights of levels of invariance for pairs of textures, also with few training images."""
    from experiments import pair_weights as module
    from experiments.uiuc_textures import TABLE

    some: dict[str, Any] = {"table": pick(TABLE, "none (MR)", "rotation (MR)"), "sizes": (3, 20)} if is_quick else {}
    found, by_size = module.of_textures(runs, seed, **some)
    tables = _shares(found)
    for pair, curves in by_size.items():
        rows = [
            Outcome(f"{curve.method}, {size} per class", curve.rates[:, place], None, float("nan"))
            for curve in curves
            for place, size in enumerate(curve.places)
        ]
        tables.append(Table(f"{name_pair(pair)}, {SHARE}", "neither", rows))
    plots = [
        Plot(name_pair(pair), "training images per class", SHARE, curves, is_log=True)
        for pair, curves in by_size.items()
    ]
    return Found(tables, plots)


def flower_weights(runs: int, seed: int, is_quick: bool) -> Found:
    """Shape, colour or texture for pairs of flowers; the splits are the official ones."""
    from experiments import pair_weights as module

    found, dominant, likeness = module.of_flowers(range(1, runs + 1), 20 if is_quick else 1)
    tables = [Table(DOMINANT_CUE, "neither", dominant), Table(IN_COMMON, "neither", likeness)]
    return Found([*_shares(found), *tables])


def object_weights(runs: int, seed: int, is_quick: bool) -> Found:
    """Shape, appearance or geometric blur for pairs of objects."""
    from experiments import pair_weights as module
    from experiments.caltech_objects import MEASURES

    measures = pick(MEASURES, "Shape180", "Shape360") if is_quick else MEASURES
    found = module.of_objects(runs, seed, measures)
    of_shape = [
        row._replace(method=name_pair(pair), paper=None)  # judged in the tables of the pairs
        for pair, rows in found.items()
        for row in rows
        if row.method == "shape"
    ]
    return Found([*_shares(found), Table(SHARE_OF_SHAPE, "neither", of_shape)])


def name_pair(pair: tuple[str, str]) -> str:
    """Two classes in words."""
    return f"{pair[0]} or {pair[1]}"


def _shares(found: Mapping[tuple[str, str], list[Outcome]]) -> list[Table]:
    return [Table(f"{name_pair(pair)}, {SHARE}", "neither", rows) for pair, rows in found.items()]
