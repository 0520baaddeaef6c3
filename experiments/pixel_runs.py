"""What was measured of methods that label pixels: single runs, a table of them, and errors against seconds."""

import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

from invariance.report.figures import BLUE, GREEN, INK, ORANGE, PALE, RED
from invariance.segmentation import segmentation_scores

# An image (h, w) -> the probability of membrane at every pixel (h, w).
Predict = Callable[[np.ndarray], np.ndarray]
FOREST, UNET = "pixel forest", "U-Net"
MARKERS, COLOURS = "sovD^", (ORANGE, BLUE, GREEN, INK, PALE)


class Run(NamedTuple):
    """A method trained once, and its scores on all test sections together.

    `task` says how much was labelled and `draw` what: runs with the same two learned from the same labels. `error` is
    1 - F of the cell class in per cent; seconds are those of training and, the median, of labelling one section.
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
            f"{self.v_info:.3f}, trained in {self.training_seconds:.1f} s, a section in {self.section_seconds:.2f} s"
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


def as_table(runs: Sequence[Run], paper: Mapping[str, float] = MappingProxyType({})) -> str:
    """One table a task: means over the draws, the error also as a share of the forest's on the same draws.

    `paper` holds the paper's errors of some methods.
    """
    width = max(len(run.method) for run in runs)
    head = "paper  1 - F %  deviation  runs  of forest's  V_rand  V_info  training s  section s"
    lines = []
    for task, methods in group(runs).items():
        lines += [task, f"  {'method':{width}}  {head}"]
        for method, found in methods.items():
            errors = [run.error for run in found]
            deviation = f"{np.std(errors, ddof=1):.2f}" if len(found) > 1 else "-"
            v_rand, v_info, training, section = np.mean([run[-4:] for run in found], axis=0)
            lines.append(
                f"  {method:{width}}  {paper.get(method, '-'):>5}  {np.mean(errors):7.2f}  {deviation:>9}  "
                f"{len(found):4d}  {_share_of_forest(found, methods):>11}  "
                f"{v_rand:6.3f}  {v_info:6.3f}  {training:10.1f}  {section:9.2f}"
            )
    return "\n".join(lines)


def _share_of_forest(found: Sequence[Run], methods: Mapping[str, Sequence[Run]]) -> str:
    """Mean error over that of the forest; draws differ in difficulty, so only those that both learned from count."""
    forest = {run.draw: run.error for run in methods.get(FOREST, ())}
    pairs = [(run.error, forest[run.draw]) for run in found if run.draw in forest]
    return f"{np.divide(*np.sum(pairs, axis=0)):.2f}" if pairs else "-"


def group(runs: Sequence[Run]) -> dict[str, dict[str, list[Run]]]:
    """The runs by task and method, in the order in which each came first."""
    groups: dict[str, dict[str, list[Run]]] = {}
    for run in runs:
        groups.setdefault(run.task, {}).setdefault(run.method, []).append(run)
    return groups


def seconds_figure(runs: Sequence[Run], columns: int = 3) -> Figure:
    """Error against training seconds, means over the draws: a panel a task, the U-Net's moments joined to a curve."""
    tasks = group(runs)
    columns = min(columns, len(tasks))
    rows = -(-len(tasks) // columns)
    figure = Figure(figsize=(max(3.4 * columns, 5.0), 2.9 * rows + 0.6), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False)
    others = dict.fromkeys(run.method for run in runs if not run.method.startswith(UNET))
    styles = {method: (MARKERS[i % 5], COLOURS[i % 5]) for i, method in enumerate(others)}
    handles: dict[str, Any] = {}
    for axes, (task, methods) in zip(panels.flat, tasks.items(), strict=False):
        places = {
            method: np.mean([(run.training_seconds, run.error) for run in found], axis=0)
            for method, found in methods.items()
        }
        for method, (marker, colour) in styles.items():
            if method in places:
                [handles[method]] = axes.plot(*places[method], marker, color=colour, markersize=7)
        curve = np.array([place for method, place in places.items() if method not in styles])
        if len(curve):
            [handles[UNET]] = axes.plot(*curve.T, "-o", color=RED, markersize=4)
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.set_title(task, fontsize=10, color=INK)
        axes.set(xlabel="training seconds", ylabel="1 - F of cells in %")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color=PALE, linewidth=0.5)
    for axes in panels.flat[len(tasks) :]:
        axes.axis("off")
    figure.legend(handles.values(), handles, loc="outside lower center", ncols=3, frameon=False)
    return figure
