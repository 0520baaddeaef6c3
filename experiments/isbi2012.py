"""Neuronal membranes, every pixel of whole sections: [Laptev15] sec. 4.2 beside a pixel forest and a U-Net.

Tested on all pixels of sections 18-23 of the ISBI 2012 training stack (the challenge's test labels are not public),
after learning from sections 0-17, or from one or three sections. All methods learn from the same labels; seconds of
training include computing features. Sections 15-17 served to choose settings.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from experiments.peers.pixel_forest import UNLABELLED, PixelForest
from experiments.pixel_runs import FOREST, UNET, Predict, Run, judge, timed
from invariance.datasets import Dataset
from invariance.segmentation import JungleSegmenter


class Plan(NamedTuple):
    """What is run: which sections are labelled, which are tested on, and how long the U-Net trains."""

    training: Sequence[int] = tuple(range(18))
    few: Sequence[Sequence[int]] = ((0,), (0, 8, 16))
    test: Sequence[int] = tuple(range(18, 24))
    n_pixels: int = 50_000
    moments: Sequence[float] = (20, 50, 80, 120, 200)
    seed: int = 0


FULL = Plan()
# A rehearsal: everything is run, on little data.
QUICK = Plan(
    training=(0, 1),
    few=((0,),),
    test=(18, 19),
    n_pixels=2000,
    moments=(1, 2),
)


def train_forest(images: np.ndarray, masks: np.ndarray, n_pixels: int, seed: int) -> Predict:
    """The peer that every error is measured against."""
    return PixelForest(seed).fit(list(images), list(masks), n_pixels).predict_proba


def train_segmenter(images: np.ndarray, masks: np.ndarray, n_pixels: int, seed: int, **settings) -> Predict:
    """A `JungleSegmenter` with some settings other than its own."""
    model = JungleSegmenter(max_pixels=n_pixels, unlabelled=UNLABELLED, n_jobs=2, random_state=seed, **settings)
    model.fit(images, masks)
    return lambda image: model.predict_proba(image)[..., 1]


def train_thoroughly(images: np.ndarray, masks: np.ndarray, n_pixels: int, seed: int) -> Predict:
    """More rounds, pixels and trees, for those who can wait."""
    return train_segmenter(images, masks, 3 * n_pixels, seed, n_rounds=3, n_trees=300)


Methods = Mapping[str, Callable[..., Predict]]
METHODS: Methods = {
    FOREST: train_forest,
    "segmenter, no context": partial(train_segmenter, n_rounds=1),
    "segmenter": train_segmenter,
    "segmenter, thorough": train_thoroughly,
}


class Labels(NamedTuple):
    """What all methods of a comparison learn from: images (n, h, w) and masks of 0, 1 and, where unlabelled, -1."""

    task: str
    draw: str
    images: np.ndarray
    masks: np.ndarray
    seed: int


def run_sections(data: Dataset, plan: Plan = FULL, unet: bool = False, methods: Methods = METHODS) -> list[Run]:
    """All methods on all training sections."""
    return _compare(_whole_sections(data, plan.training, plan.seed), data, plan, methods, plan.moments if unet else ())


def run_few(data: Dataset, plan: Plan = FULL, unet: bool = False, methods: Methods = METHODS) -> list[Run]:
    """All methods on one section, and on three."""
    moments = plan.moments if unet else ()
    chosen = [_whole_sections(data, sections, plan.seed) for sections in plan.few]
    return [run for labels in chosen for run in _compare(labels, data, plan, methods, moments)]


def _whole_sections(data, sections, seed) -> Labels:
    """Some sections, in which all pixels are labelled."""
    task = f"{len(sections)} labelled section{'s' * (len(sections) > 1)}"
    chosen = list(sections)
    return Labels(task, f"seed {seed}", data.images[chosen], data.masks[chosen].astype(np.int8), seed)


def _compare(labels, data, plan, methods, moments) -> list[Run]:
    """Every method on the same labels, and the U-Net at these moments of its training."""
    task, draw, images, masks, seed = labels
    test_images, truths = data.images[list(plan.test)], data.masks[list(plan.test)]
    runs: list[Run] = []

    def report(method: str, seconds: float, predict: Predict) -> None:
        runs.append(judge(task, draw, method, seconds, predict, test_images, truths))
        print(runs[-1], flush=True)

    for method, train in methods.items():
        report(method, *timed(train, images, masks, plan.n_pixels, seed))
    if moments:
        # The name gives the moment that was asked for; a batch may end a little later, as the measured seconds show.
        names = iter([f"{UNET}, {moment:g} s" for moment in sorted(moments)])
        load_unet()(
            images,
            masks,
            max(moments),
            checkpoints=moments,
            random_state=seed,
            on_checkpoint=lambda seconds, predict: report(next(names), seconds, predict),
        )
    return runs


def load_unet() -> Callable:
    """`train_unet`, imported only where it is used because it needs PyTorch."""
    from experiments.peers.unet import train_unet

    return train_unet


def warm_up(data: Dataset) -> None:
    """Fit and predict once on little data, so that no method's seconds include compilation."""
    corner, truth = data.images[:1, :96, :96], np.asarray(data.masks)[:1, :96, :96].astype(np.int8)
    for train in (train_forest, train_segmenter):
        train(corner, truth, 1000, 0)(corner[0])


PARTS: dict[str, Callable[..., list[Run]]] = {"sections": run_sections, "few": run_few}
