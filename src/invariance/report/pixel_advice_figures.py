"""A figure of advice on invariances for pixels: how the accuracy changes when each candidate is ignored."""

import numpy as np
from matplotlib.figure import Figure

from invariance.methods import PixelAdvice
from invariance.report.advice_figures import COLOURS, MARKERS
from invariance.report.figures import INK, PALE, SMALL_SIZE, printable

RUN_OFFSET = 0.28  # rows below a candidate at which its runs are drawn


def pixel_advice_figure(advice: PixelAdvice) -> Figure:
    """Draw the change in balanced accuracy when each candidate is ignored, the best first.

    Parameters
    ----------
    advice : PixelAdvice
        The result of `advise_pixels`.

    Returns
    -------
    figure : matplotlib.figure.Figure
        A marker is the mean with its 95 % interval, the dots below it are the runs. Combinations are below the single
        candidates, and the advised invariance is bold.
    """
    single, combinations = advice.ranked(), advice.ranked_combinations()
    findings = [*single, *combinations]
    longest_name = max(len(finding.name) for finding in findings)
    figure = Figure(figsize=(4.4 + 0.075 * longest_name, 1.55 + 0.34 * len(findings)), layout="constrained")
    axes = figure.subplots()
    axes.axvline(0, color=INK, linewidth=1)
    for row, finding in enumerate(findings):
        share, low, high = (100 * value for value in finding.difference[:3])
        colour = COLOURS[finding.verdict]
        axes.plot([low, high], [row, row], color=colour, linewidth=1.8)
        axes.plot(share, row, MARKERS[finding.verdict], color=colour, markersize=7)
        runs = 100 * np.asarray(finding.gains)
        axes.plot(runs, np.full(len(runs), row + RUN_OFFSET), "o", color=colour, markersize=2.5, alpha=0.6, mew=0)
    if combinations:
        axes.axhline(len(single) - 0.4, color=PALE, linewidth=1)
    axes.set_yticks(range(len(findings)), [printable(finding.name) for finding in findings])
    for label, finding in zip(axes.get_yticklabels(), findings, strict=True):
        label.set_fontweight("bold" if finding.parts == advice.advised.parts else "normal")
    axes.set_ylim(len(findings) - 0.3, -0.6)
    axes.grid(axis="x", color=PALE, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_title(
        f"held-out pixels: balanced accuracy {100 * advice.plain.accuracy:.1f} % ignoring nothing",
        fontsize=10,
        loc="left",
    )
    axes.set_xlabel("difference in balanced accuracy, points")
    handles = [axes.plot([], [], MARKERS[verdict], color=COLOURS[verdict], label=verdict)[0] for verdict in COLOURS]
    figure.legend(
        handles=handles, loc="outside lower center", ncols=4, frameon=False, fontsize=SMALL_SIZE, labelcolor=INK
    )
    return figure
