"""Experiments with their own code and rows, but on small made data, and with witnesses in place of all that is slow.

A witness learns nothing; it notes by row what it was given to learn from, so that a test can see all draws, rows and
figures of the papers without an hour of fitting.
"""

import hashlib
from collections import defaultdict
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from matplotlib.figure import Figure

from experiments import (
    all_methods,
    caltech_objects,
    flowers17,
    graz02,
    isbi2012,
    isbi_patches,
    learned_weights,
    low_rank,
    mnist_digits,
    pair_weights,
    photographed_objects,
    pixel_runs,
    pretrained,
    rotated_images,
    rotated_mnist,
    rotation_distributions,
    sample_complexity,
    scribbles,
    tangent_digits,
    tangent_faces,
    tangent_images,
    uiuc_textures,
    word_maps,
    yale_faces,
)
from experiments.catalogue import EXPERIMENTS
from invariance.datasets import Dataset, make_membranes


class Stage:
    """An experiment that is ready to run: what its rows have learned from so far, in order."""

    def __init__(self, name, monkeypatch):
        self.name, self.patch = name, monkeypatch
        self.learned = defaultdict(list)
        ARRANGEMENTS[name](self)

    def run(self, runs, seed=0):
        """The tables, and what every row learned from: {row: [digest, ...]}."""
        self.learned.clear()
        tables = EXPERIMENTS[self.name].run(runs, seed, False).tables
        return tables, {row: list(seen) for row, seen in self.learned.items()}

    def note(self, row, *data):
        """Note what a row learns from."""
        text = b"".join(np.ascontiguousarray(part).tobytes() for part in data)
        self.learned[row].append(hashlib.sha256(text).hexdigest())

    def set(self, module, **values):
        """Replace names of a module."""
        for name, value in values.items():
            self.patch.setattr(module, name, value)


class Witness:
    """An estimator of some row of a stage."""

    def __init__(self, stage, row):
        self.stage, self.row = stage, row

    def fit(self, X, y):
        self.stage.note(self.row, X, y)
        self.classes = np.unique(y)
        return self

    def predict(self, X):
        return np.resize(self.classes, len(X))

    def predict_proba(self, X):
        return np.tile([0.4, 0.6], (len(X), 1))


def noise(*shape):
    return np.random.default_rng(0).integers(0, 256, shape, np.uint8)


def made(n_classes, n_each, *shape, **named):
    """Images of noise, class by class."""
    names = tuple(f"class {number}" for number in range(n_classes))
    labels = np.repeat(np.arange(n_classes), n_each)
    return Dataset("made", noise(n_classes * n_each, *shape), labels, **{"class_names": names, **named})


def yale(stage):
    faces = made(15, 11, 4, 4)
    rows = {row: (paper, lambda seed, row=row: Witness(stage, row)) for row, (paper, _) in yale_faces.METHODS.items()}
    stage.set(yale_faces, load_yale=lambda size: faces, METHODS=rows)


@cache
def sections():
    data = make_membranes(24, (24, 24), random_state=0)
    return replace(data, images=np.round(255 * data.images).astype(np.uint8))


def patches(stage):
    data = sections()
    stage.set(isbi_patches, load_isbi2012=lambda: data, N_TRAINING=180, N_TEST=60)
    rows = {
        row: (paper, lambda image, rows, cols: image[rows, cols], lambda seed, row=row: Witness(stage, row))
        for row, (paper, *_) in isbi_patches.METHODS.items()
    }
    stage.set(isbi_patches, METHODS=rows)


def pixels(stage):
    data = sections()

    def train(row):
        def learn(images, masks, n_pixels, seed):
            stage.note(row, images, masks, np.array(seed))
            return lambda image: np.clip(1 - image / 255, 0, 1)

        return learn

    stage.patch.setattr("invariance.datasets.load_isbi2012", lambda: data)
    scores = SimpleNamespace(cell_f=0.5, v_rand=0.5, v_info=0.5)
    stage.set(pixel_runs, segmentation_scores=lambda *_, **__: scores)
    stage.set(isbi2012, warm_up=lambda data: None, METHODS={row: train(row) for row in isbi2012.METHODS})


def marks(stage):
    data = make_membranes(24, (48, 48), random_state=0)

    def train(row):
        def learn(image, mask, seed):
            stage.note(row, image, mask)
            return lambda image: np.clip(1 - image, 0, 1)

        return learn

    def train_unet(images, masks, seconds, *, checkpoints, random_state, on_checkpoint):
        stage.note("U-Net", *images, *masks)
        for moment in checkpoints:
            on_checkpoint(moment, lambda image: np.clip(1 - image, 0, 1))

    stage.set(
        scribbles,
        load_isbi2012=lambda: data,
        FULL=scribbles.FULL._replace(side=96, n_test_cells=1),
        METHODS={row: train(row) for row in scribbles.METHODS},
        warm_up=lambda methods, images: methods,
        has_torch=lambda: True,
        segmentation_scores=lambda *_, **__: SimpleNamespace(cell_f=0.5),
        load_unet=lambda: train_unet,
    )


def mnist(stage):
    data = made(10, 20, 4, 4)
    rows = {row: lambda seed, row=row: Witness(stage, row) for row in mnist_digits.METHODS}
    stage.set(mnist_digits, load_mnist=lambda part: data, METHODS=rows, N_TRAINING=30)


def turned_digits(stage):
    data = made(10, 20, 4, 4)
    rows = {row: lambda seed, row=row: Witness(stage, row) for row in rotated_mnist.METHODS}
    stage.set(rotated_mnist, load_mnist=lambda part: data, METHODS=rows, MAX_SLOW=10**6)


def photographs(stage):
    def paths(task):
        return [[f"{task}: {number}" for number in numbers] for numbers in (range(320), range(400, 720))]

    stage.set(graz02, TASKS={task: lambda task=task: paths(task) for task in graz02.TASKS})

    def judge(words, drawn, n_windows, seed):
        for suffix in words.readings:
            task = drawn.training[0].partition(":")[0]
            stage.note(f"{task}, {words!r}, {n_windows}, {suffix}", np.array(drawn.training))
        hits = np.zeros(len(graz02.FALSE_ALARMS))
        return {suffix: graz02.Judged(50.0, hits, None) for suffix in words.readings}

    stage.set(graz02, judge=judge)


def maps(stage):
    photographs(stage)

    def learn(drawn, seed):
        for row in ("images of bikes", "images of cars"):
            stage.note(row, np.array(drawn.training))

    stage.set(word_maps, learn_words=learn, share_unmixed=lambda *_: 1.0)
    stage.set(word_maps, draw_maps=lambda *_: Figure(), draw_words=lambda *_: Figure())


def objects_in_photographs(stage):
    voc_names = tuple(photographed_objects.VOC_PAPER)
    splits = {"train": np.arange(4), "val": np.arange(4, 8), "test1": np.arange(8, 16)}
    voc = made(4, 4, 2, 2, class_names=voc_names)
    voc = replace(voc, splits={**splits, **{name: np.flatnonzero(voc.labels == i) for i, name in enumerate(voc_names)}})
    horses = made(2, 20, 2, 2)
    stage.set(photographed_objects, load_voc2005=lambda: voc, load_inria_horses=lambda: horses)

    def judge(bag, data, training, test, shown, seed, on_boxes):
        for name in shown:
            given = training if stage.name == "horses" else np.array(seed)  # VOC has one split
            stage.note(f"{name} {on_boxes}", given)
        return dict.fromkeys(shown, 50.0)

    stage.set(photographed_objects, judge=judge)


def rotated(stage):
    photos = rotated_images.Images(np.float32(noise(150, 6, 6) / 255), np.repeat(np.arange(3), 50), (2, 4), 1)
    for name in rotated_images.SETS:
        stage.patch.setitem(rotated_images.SETS, name, lambda name=name: photos._replace(hop=name))

    def judge(method, photos, trial, seed):
        for task in rotated_images.TASKS:
            stage.note(f"{photos.hop}, {method}, {task}", trial.originals, trial.rotated, trial.others)
        return 10.0, 20.0

    def compare(kernel, photos, seed):
        stage.note(f"{photos.hop}, {kernel}", np.array(seed))
        return rotation_distributions.Distributions(np.arange(1.0, 5.0), np.arange(2.0, 6.0))

    stage.set(rotated_images, judge=judge)
    stage.set(rotation_distributions, compare=compare)


def shifted(stage):
    data = made(10, 60, 6, 6)
    stage.set(sample_complexity, load_mnist=lambda: data, N_TEST=5, N_TEMPLATE_IMAGES=40)

    def note(row, drawn):
        stage.note(row, drawn.template_images, *drawn.training)

    def rates(method, drawn, counts, seed):
        note(method, drawn)
        return [50.0] * len(counts)

    def judge(method, n_components, trial, seed):
        note(f"{method}, {n_components}", trial)
        return 50.0

    stage.set(sample_complexity, _rates=rates)
    stage.set(low_rank, judge=judge)


class KernelWitness:
    """A machine of `tangent_digits`, which learns and predicts in one step."""

    def __init__(self, stage, row):
        self.stage, self.row = stage, row

    def predict(self, trial):
        self.stage.note(self.row, trial.training, trial.labels)
        return np.resize(np.unique(trial.labels), len(trial.test))


def tangents(stage):
    digits, faces = made(10, 110, 3, 3), made(15, 11, 4, 4)

    def machine(row):
        return lambda: _SizedWitness(stage, row)

    of_digits = {row: (paper, machine(row)) for row, (paper, _) in tangent_digits.METHODS.items()}
    stage.set(tangent_digits, load_mnist=lambda part="train": digits, METHODS=of_digits)
    stage.set(
        tangent_faces,
        load_yale=lambda size: faces,
        METHODS={row: machine(row) for row in tangent_faces.METHODS},
        PREPARATIONS={name: lambda images, n=n: images + n for n, name in enumerate(tangent_faces.PREPARATIONS)},
    )


class _SizedWitness(KernelWitness):
    """A row per number of training images, and per preparation of the images."""

    def predict(self, trial):
        self.row = f"{self.row}, {len(trial.labels)}, {int(trial.training.min())}"
        return super().predict(trial)


def moved_faces(stage):
    faces = made(15, 11, 4, 4)

    def move(row):
        def moved(images, angle):
            if angle == tangent_images.ANGLES[0]:
                stage.note(row, images)
            return images[:, None].repeat(2, axis=1)

        return moved

    stage.set(tangent_images, load_yale=lambda size: faces, MOVES={row: move(row) for row in tangent_images.MOVES})
    stage.set(tangent_images, rotate_both_ways=lambda images, angle: 1 + images[:, None].repeat(2, axis=1))


def textures(stage):
    names = ("T03_bark3", "T04_wood1", "T07_water", "T08_granite", "T10_floor1", "T15_brick2", "T23_knit", "T25_plaid")
    data = made(8, 40, 2, 2, class_names=names, paths=tuple(Path(f"{number}.png") for number in range(320)))
    stage.set(uiuc_textures, load_uiuc_textures=lambda classes: data)
    stage.set(pair_weights, load_uiuc_textures=lambda classes: data)

    def distance_stack(paths, labels, seed, cache, table):
        """Matrices that are told apart by their number, in place of distances."""
        return np.arange(len(table), dtype=float)[:, None, None] * np.ones((len(paths), len(paths)))

    def predict(kind):
        def predicted(what, *rest):
            *_, labels, training, test = rest if kind == "combined" else (what, *rest)
            stage.note(f"{kind}, {what.mean() if kind != 'combined' else (repr(what), len(rest[0]))}", training)
            return labels[test]

        return predicted

    stage.set(uiuc_textures, distance_stack=distance_stack, predict_nearest=predict("1NN"))
    stage.set(uiuc_textures, predict_svm=predict("SVM"), predict_combination=predict("combined"))
    draw_split = uiuc_textures.draw_split

    def split(labels, seed):
        training, test = draw_split(labels, seed)
        if stage.name == "texture_weights":
            stage.note("all pairs", training)
        return training, test

    stage.set(uiuc_textures, draw_split=split)
    stage.set(pair_weights, pair_shares=lambda stack, names, pair: np.full(len(stack), 100 / len(stack)))
    stage.set(pair_weights, weights_by_size=lambda w, stack, y, sizes, *_: np.ones((len(sizes), 1, len(stack))) / 8)


def flowers(stage):
    names = (*flowers17.PAPERS_THREE, *flowers17.MORE)
    kinds = sorted({name for pair in (*pair_weights.FLOWERS, *pair_weights.RELATED) for name in pair})
    labels = np.repeat(np.arange(len(kinds)), 2)
    rng = np.random.default_rng(0)

    def measure_split(number, judged_on="test", transformers=None, every=1):
        n, chosen = len(labels), names if transformers is None else tuple(transformers)
        stage.note("all rows", np.array(number))
        stacks = (rng.random((len(chosen), n, n)) for _ in range(2))
        return flowers17.Split(chosen, *stacks, labels, labels, np.zeros(n, bool))

    stage.set(flowers17, measure_split=measure_split, weigh=lambda *_, **__: labels, predict=lambda *_: labels)
    model = SimpleNamespace(shares_=np.eye(3), classes_=kinds)
    stage.set(
        pair_weights,
        load_flowers17=lambda: made(len(kinds), 2, 2, 2, class_names=tuple(kinds)),
        pair_shares=lambda stack, names, pair: np.full(3, 100 / 3),
        TradeoffClassifier=lambda kernels: SimpleNamespace(fit=lambda stack, names: model),
        class_shares=lambda model: np.full((len(kinds), 3), 1 / 3),
    )


def network(stage):
    data = made(3, 40, 2, 2)
    order = np.random.default_rng(0).permutation(120)
    splits = {f"{part}{number}": np.roll(order, 30 * number)[:60] for part in ("train", "test") for number in (1, 2, 3)}
    rows = {row: lambda row=row: Witness(stage, row) for row in pretrained.METHODS}
    stage.set(pretrained, load_flowers17=lambda: replace(data, splits=splits), METHODS=rows)

    def weigher(method, n_jobs, random_state):
        shares = SimpleNamespace(shares_=np.eye(2), kernel_names_=["words", pretrained.NETWORK])
        return SimpleNamespace(fit=lambda X, y: stage.note(f"{len(X)} images", X, y) or SimpleNamespace(model_=shares))

    tasks = {name: lambda seed, n=n: (noise(n, 2, 2), np.arange(n)) for n, name in enumerate(pretrained.TASKS, 2)}
    stage.set(pretrained, ImageClassifier=weigher, TASKS=tasks, weights_figure=lambda model, name: Figure())


def objects(stage):
    names = sorted({name for pair in pair_weights.OBJECTS for name in pair})
    data = made(5, 32, 2, 2, class_names=tuple(names))
    stage.set(caltech_objects, load_caltech101=lambda *classes: data)
    stage.set(pair_weights, load_caltech101=lambda *classes: data)
    stage.set(caltech_objects, weigh=lambda measured, labels, **_: np.resize(labels, n_tested(measured)))
    stage.set(caltech_objects, predict=lambda peer, measured, labels: np.resize(labels, n_tested(measured)))
    stage.set(pair_weights, pair_shares=lambda stack, names, pair: np.full(len(stack), 100 / len(stack)))
    for name in caltech_objects.MEASURES:

        def measure(training, test, name=name):
            stage.note(name, training)
            return np.ones((len(training), len(training))), np.ones((len(test), len(training)))

        stage.patch.setitem(caltech_objects.MEASURES, name, measure)


def n_tested(measured):
    """How many images are tested on."""
    return len(next(iter(measured.values()))[1])


def together(stage):
    from invariance.tradeoff import default_kernels

    names = [kernel.name for kernel in default_kernels()]

    def kernels(random_state, n_jobs):
        return [
            SimpleNamespace(
                name=name,
                cost=1.0,
                fit_gram=lambda images, labels, name=name: stage.note(name, images, labels) or np.eye(len(labels)),
                rows=lambda images: np.ones((len(images), 4)),
            )
            for name in names
        ]

    class Together:
        def __init__(self, *_, **__):
            pass

        def fit(self, grams, labels):
            return self

        def predict(self, rows):
            return np.zeros(np.shape(rows)[1] if np.ndim(rows) == 3 and len(rows) <= len(names) else len(rows))

    def draw(seed, task="UIUC textures"):
        images = np.random.default_rng((seed, len(task))).random((20, 2, 2))
        return all_methods.Draw(images[:8], np.arange(8) % 2, images[8:], np.arange(12) % 2)

    stage.set(all_methods, default_kernels=kernels, TradeoffClassifier=Together, draw_uiuc=draw)
    for task in all_methods.TASKS:
        stage.patch.setitem(all_methods.TASKS, task, partial(draw, task=task))


def weights(stage):
    n_pairs, draw_digits = 45, learned_weights.draw_digits
    of_pairs = np.full((n_pairs, len(learned_weights.KERNELS)), 0.25)
    by_size = {kind: np.stack([of_pairs] * len(learned_weights.SIZES)) for kind in learned_weights.OTHER_KIND}

    def draw(*arguments):
        digits, labels = draw_digits(*arguments)
        stage.note("all rows", digits["upright"])
        return digits, labels

    class Weigher:
        shares_ = of_pairs

        def __init__(self, **settings):
            pass

        def fit(self, stack, labels):
            return self

        def predict(self, stack):
            return np.zeros(stack.shape[1])

    stage.set(
        learned_weights,
        load_mnist=lambda: made(10, 70, 3, 3),
        draw_digits=draw,
        weigh=lambda *_, **__: (by_size, of_pairs, of_pairs),
        measure=lambda images: np.zeros((1, len(images), len(images))),
        DistanceWeigher=Weigher,
        prior_from=lambda source: 1.0,
    )


ARRANGEMENTS = {
    "yale_faces": yale,
    "isbi_patches": patches,
    **dict.fromkeys(("isbi_sections", "isbi_few"), pixels),
    **dict.fromkeys(("scribbles", "scribbles_cells"), marks),
    "mnist_digits": mnist,
    "rotated_mnist": turned_digits,
    **dict.fromkeys((name for name in EXPERIMENTS if name.startswith("graz02")), photographs),
    "word_maps": maps,
    **dict.fromkeys(("pascal_2005", "horses"), objects_in_photographs),
    **dict.fromkeys(("rotation_distributions", "rotated_images"), rotated),
    **dict.fromkeys(("sample_complexity", "low_rank_5", "low_rank_30"), shifted),
    **dict.fromkeys(("tangent_digits", "tangent_digits_1000", "tangent_digits_sizes", "tangent_faces"), tangents),
    "tangent_images": moved_faces,
    **dict.fromkeys(("uiuc_textures", "texture_weights"), textures),
    **dict.fromkeys(("flowers17", "flower_weights"), flowers),
    **dict.fromkeys(("pretrained_flowers", "network_weights"), network),
    **dict.fromkeys(("caltech_few", "caltech_objects", "object_weights"), objects),
    **dict.fromkeys(("all_methods", "all_methods_textures"), together),
    "learned_weights": weights,
}
