"""Every pixel from a few marks in one image: the segmenter beside other tools for pixels, and a U-Net.

All methods learn from the same marks: discs, labelled as in the true mask, or strokes as a hand draws them. They are
tested on all pixels of other images. Tools whose package is not installed are left out.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np

from experiments.isbi2012 import load_unet
from experiments.outcome import Found, Outcome, Table
from experiments.peers.pixel_forest import UNLABELLED, PixelForest
from experiments.pixel_runs import FOREST, UNET, Predict, timed
from experiments.strokes import draw_scribbles, draw_strokes, paint
from invariance.datasets import load_isbi2012, make_membranes
from invariance.segmentation import JungleSegmenter, segmentation_scores

RADIUS = 5
N_BINS = 15
SEGMENTER, APOC = "segmenter", "apoc"
WARM_UP_SIDE = 128


class Plan(NamedTuple):
    """How many marks in which images, the images that are tested on, and the moments of the U-Net's training.

    `side` is that of the square that is used of an image, for marks as for tests.
    """

    n_marks: Sequence[int] = (10, 40, 160)
    sections: Sequence[int] = (0, 8, 16)
    test: Sequence[int] = tuple(range(18, 24))
    n_test_cells: int = 2
    moments: Sequence[float] = (20, 50, 100)
    side: int = 512


FULL = Plan()
# A rehearsal on little data.
QUICK = Plan(n_marks=(10,), sections=(0,), test=(18,), n_test_cells=1, moments=(1, 2), side=256)


class Images(NamedTuple):
    """The image (h, w) that marks are made in, with its true mask, and images (n, h, w) to test on, with theirs."""

    image: np.ndarray
    mask: np.ndarray
    test_images: np.ndarray
    truths: np.ndarray


def isbi_images(run: int, plan: Plan) -> Iterator[Images]:
    """Sections of ISBI 2012, the same in every run; only the marks differ."""
    data = load_isbi2012()
    images, masks = (np.asarray(stack)[:, : plan.side, : plan.side] for stack in (data.images, data.masks))
    for section in plan.sections:
        yield Images(images[section], masks[section], images[list(plan.test)], masks[list(plan.test)])


def cell_images(run: int, plan: Plan) -> Iterator[Images]:
    """Generated cells, others for every draw of every run, half as high and wide as sections."""
    shape = (plan.side // 2, plan.side // 2)
    for number in range(len(plan.sections)):
        data = make_membranes(1 + plan.n_test_cells, shape, random_state=np.random.default_rng((run, number)))
        images, masks = np.asarray(data.images), np.asarray(data.masks)
        yield Images(images[0], masks[0], images[1:], masks[1:])


def mark_discs(mask: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """A mask (h, w) of 0 and 1 inside `n` discs of 11 pixels, and -1 elsewhere."""
    return draw_scribbles(mask, n, RADIUS, rng)


def mark_strokes(mask: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """A mask (h, w) of the labels of `n` strokes of a hand, about as many pixels as discs have, and -1 elsewhere."""
    return paint(draw_strokes(mask, n, rng), mask.shape)


MARKS: Mapping[str, Callable[..., np.ndarray]] = {"discs": mark_discs, "strokes": mark_strokes}


def train_segmenter(image: np.ndarray, mask: np.ndarray, seed: int) -> Predict:
    """A `JungleSegmenter` with its own settings."""
    model = JungleSegmenter(unlabelled=UNLABELLED, n_jobs=2, random_state=seed).fit([image], [mask])
    return lambda image: model.predict_proba(image)[..., 1]


def train_forest(image: np.ndarray, mask: np.ndarray, seed: int) -> Predict:
    """The peer that every error is measured against."""
    return PixelForest(seed).fit([image], [mask]).predict_proba


def train_skimage(image: np.ndarray, mask: np.ndarray, seed: int) -> Predict:
    """The tool of scikit-image."""
    from experiments.peers.trainable_segmenter import SkimageSegmenter

    return SkimageSegmenter(seed).fit([image], [mask]).predict_proba


def train_fast_filters(image: np.ndarray, mask: np.ndarray, seed: int) -> Predict:
    """The filters and the classifier of ilastik."""
    from experiments.peers.fast_filters import FastFiltersForest

    return FastFiltersForest(seed).fit([image], [mask]).predict_proba


def train_apoc(image: np.ndarray, mask: np.ndarray, seed: int) -> Predict:
    """The classifier of apoc, which has a seed of its own."""
    from experiments.peers.apoc_pixels import ApocPixels

    return ApocPixels().fit([image], [mask]).predict_proba


Methods = Mapping[str, Callable[[np.ndarray, np.ndarray, int], Predict]]
METHODS: Methods = {
    SEGMENTER: train_segmenter,
    FOREST: train_forest,
    "TrainableSegmenter": train_skimage,
    "fastfilters2 and forest": train_fast_filters,
    APOC: train_apoc,
}


class Run(NamedTuple):
    """One method, trained on some marks and tested on all pixels of other images.

    `error` is 1 - F of the background in per cent, `calibration` the expected calibration error in points, and
    `image_seconds` the median time of labelling one image.
    """

    marks: str
    method: str
    error: float
    calibration: float
    training_seconds: float
    image_seconds: float

    def __str__(self) -> str:
        return (
            f"{self.marks}: {self.method}: 1 - F {self.error:.2f} %, calibration error {self.calibration:.1f}, trained "
            f"in {self.training_seconds:.1f} s, {self.image_seconds:.2f} s per image"
        )


def run(make_images: Callable[[int, Plan], Iterator[Images]], runs: int, seed: int, is_quick: bool) -> Found:
    """All methods on one draw of marks per image and run, with one figure each."""
    plan = QUICK if is_quick else FULL
    # apoc compiles every forest, for too long in a rehearsal.
    chosen = {name: train for name, train in METHODS.items() if not (is_quick and name == APOC)}
    methods, moments = warm_up(chosen, make_images(seed, plan)), plan.moments if has_torch() else ()
    found: list[Run] = []
    for number in range(seed, seed + runs):
        for place, images in enumerate(make_images(number, plan)):
            for kind, (marks, mark) in enumerate(MARKS.items()):
                for n in plan.n_marks:
                    mask = mark(images.mask, n, np.random.default_rng((kind, n, place, number)))
                    found += compare(f"{n} {marks}", images, mask, number, methods, moments)
    return Found(tables_of(found))


def warm_up(methods: Methods, images: Iterator[Images]) -> Methods:
    """The methods that can be run; each has been fitted to little data, so that no seconds include compilation."""
    first, runnable = next(images), {}
    corner = (slice(WARM_UP_SIDE), slice(WARM_UP_SIDE))
    for name, train in methods.items():
        try:
            train(first.image[corner], first.mask[corner].astype(np.int8), 0)(first.image[corner])
        except ImportError as error:
            print(f"{name} is left out: {error}", flush=True)
        else:
            runnable[name] = train
    return runnable


def has_torch() -> bool:
    """Whether the U-Net can be trained."""
    if find_spec("torch") is None:
        print(f"{UNET} is left out: it needs PyTorch. Try: pip install '.[bench]'", flush=True)
        return False
    return True


def compare(
    marks: str, images: Images, mask: np.ndarray, seed: int, methods: Methods, moments: Sequence[float]
) -> list[Run]:
    """Every method on the same marks, and the U-Net at these moments of its training."""
    runs: list[Run] = []

    def report(method: str, seconds: float, predict: Predict) -> None:
        runs.append(judge(marks, method, seconds, predict, images))
        print(runs[-1], flush=True)

    for method, train in methods.items():
        report(method, *timed(train, images.image, mask, seed))
    if moments:
        names = iter([f"{UNET}, {moment:g} s" for moment in sorted(moments)])
        load_unet()(
            [images.image],
            [mask],
            max(moments),
            checkpoints=moments,
            random_state=seed,
            on_checkpoint=lambda seconds, predict: report(next(names), seconds, predict),
        )
    return runs


def judge(marks: str, method: str, training_seconds: float, predict: Predict, images: Images) -> Run:
    """The run of a trained method on the test images."""
    seconds, maps = zip(*(timed(predict, image) for image in images.test_images), strict=True)
    # One threshold, since scores of regions are not used; F takes the best of all thresholds.
    error = 100 * (1 - segmentation_scores(np.stack(maps), images.truths, thresholds=(0.5,)).cell_f)
    calibration = calibration_error(np.stack(maps).ravel(), images.truths.ravel())
    return Run(marks, method, error, calibration, training_seconds, float(np.median(seconds)))


def calibration_error(probabilities: np.ndarray, truth: np.ndarray, n_bins: int = N_BINS) -> float:
    """The expected calibration error in points: how far probabilities are from the share of pixels of class 1.

    Probabilities (n,) are put into bins of equal width; the mean probability of a bin is compared with the share of its
    pixels whose truth (n,) is True, and bins count by their pixels.
    """
    bins = np.minimum((probabilities * n_bins).astype(int), n_bins - 1)
    expected, seen = (np.bincount(bins, values, n_bins) for values in (probabilities, truth))
    return float(100 * np.abs(expected - seen).sum() / len(truth))


def tables_of(runs: Sequence[Run]) -> list[Table]:
    """For each number of marks: errors with seconds of training, ratios to the forest, calibration with seconds."""
    groups: dict[str, dict[str, list[Run]]] = {}
    for one in runs:
        groups.setdefault(one.marks, {}).setdefault(one.method, []).append(one)
    return [table for marks, by_method in groups.items() for table in _tables(marks, by_method)]


def _tables(marks: str, by_method: Mapping[str, list[Run]]) -> Iterator[Table]:
    table = partial(Table, better="lower", is_papers_task=False)
    columns = {method: list(zip(*runs, strict=True))[2:] for method, runs in by_method.items()}
    errors = {method: np.array(column[0]) for method, column in columns.items()}
    trained, labelled = ({method: float(np.mean(column[k])) for method, column in columns.items()} for k in (2, 3))
    yield table(
        f"{marks}, 1 - F in %", outcomes=[Outcome(method, errors[method], None, trained[method]) for method in errors]
    )
    yield table(
        f"{marks}, 1 - F in % of the pixel forest's",
        outcomes=[
            Outcome(method, 100 * errors[method] / errors[FOREST], None, trained[method])
            for method in errors
            if method != FOREST
        ],
    )
    yield table(
        f"{marks}, calibration error in points",
        outcomes=[Outcome(method, np.array(columns[method][1]), None, labelled[method]) for method in columns],
    )
