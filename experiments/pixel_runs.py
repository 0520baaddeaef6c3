"""A method that labels pixels, trained once and scored on test sections."""

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from invariance.segmentation import segmentation_scores

# An image (h, w) -> the probability of membrane at every pixel (h, w).
Predict = Callable[[np.ndarray], np.ndarray]
FOREST, UNET = "pixel forest", "U-Net"


class Run(NamedTuple):
    """Scores of a trained method on all test sections together.

    `task` says how much was labelled and `draw` which pixels: runs that agree in both learned from the same labels.
    `error` is 1 - F of the cell class in per cent; `section_seconds` is the median time of labelling one section.
    """

    task: str
    draw: str
    method: str
    error: float
    v_rand: float
    v_info: float
    training_seconds: float
    section_seconds: float

    def __str__(self) -> str:
        return (
            f"{self.task}, {self.draw}: {self.method}: 1 - F {self.error:.2f} %, V_rand {self.v_rand:.3f}, V_info "
            f"{self.v_info:.3f}, trained in {self.training_seconds:.1f} s, {self.section_seconds:.2f} s per section"
        )


def timed(function: Callable, *arguments: Any) -> tuple[float, Any]:
    """(seconds, result)."""
    started = time.perf_counter()
    result = function(*arguments)
    return time.perf_counter() - started, result


def judge(
    task: str, draw: str, method: str, training_seconds: float, predict: Predict, images: np.ndarray, truths: np.ndarray
) -> Run:
    """The run of a trained method on test sections (n, h, w) whose truths (n, h, w) are True on membranes."""
    seconds, maps = zip(*(timed(predict, image) for image in images), strict=True)
    scores = segmentation_scores(np.stack(maps), truths, n_jobs=2)
    error = 100 * (1 - scores.cell_f)
    return Run(task, draw, method, error, scores.v_rand, scores.v_info, training_seconds, float(np.median(seconds)))


def group(runs: Sequence[Run]) -> dict[str, dict[str, list[Run]]]:
    """The runs by task and method, in order of first occurrence."""
    groups: dict[str, dict[str, list[Run]]] = {}
    for run in runs:
        groups.setdefault(run.task, {}).setdefault(run.method, []).append(run)
    return groups
