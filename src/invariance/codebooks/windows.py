"""The windows of images, drawn and described one image at a time: never are all descriptors held."""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from invariance._core.parallel import iterate_jobs
from invariance.images import draw_boxes, read_image


class Sampling(NamedTuple):
    """How windows are drawn: how many, and their sides as shares of the image's shorter side.

    `in_colour` gives grey images three equal channels, so that they are described like those in colour.
    """

    n_windows: int
    min_scale: float
    max_scale: float
    in_colour: bool


class Described(NamedTuple):
    """The windows of one image: boxes (n, 3) of top, left, side, and descriptors (n, d)."""

    boxes: np.ndarray
    descriptors: np.ndarray


def describe_windows(image: Any, descriptor: Any, sampling: Sampling, rng: np.random.Generator) -> Described:
    """Random windows of an image, given as an array or a path, and their descriptors."""
    if isinstance(image, str | os.PathLike):
        image = read_image(image)
    image = np.asarray(image)
    if image.ndim not in (2, 3) or image.size == 0:
        raise ValueError(f"an image must be (h, w) or (h, w, c) with at least one pixel; got shape {image.shape}.")
    if sampling.in_colour and (image.ndim == 2 or image.shape[2] == 1):
        image = np.repeat(image.reshape(*image.shape[:2], 1), 3, axis=2)
    boxes = draw_boxes(image.shape, sampling.n_windows, rng, sampling.min_scale, sampling.max_scale)
    return Described(boxes, descriptor.describe(image, boxes))


def for_each_image(
    function: Callable[[Described], Any],
    images: Sequence[Any],
    descriptor: Any,
    sampling: Sampling,
    rngs: Sequence[np.random.Generator],
    n_jobs: int | None,
    label: str,
) -> Iterator[Any]:
    """`function` of the described windows of every image, in order, an image per thread."""
    work = partial(_describe_one, function, images, descriptor, sampling)
    return iterate_jobs(work, list(enumerate(rngs)), n_jobs, label)


def _describe_one(function, images, descriptor, sampling, task):
    index, rng = task
    return function(describe_windows(images[index], descriptor, sampling, rng))
