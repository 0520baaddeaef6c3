"""A figure of advice on invariances: how the accuracy changes when each candidate is ignored."""

from matplotlib.figure import Figure

from invariance.methods import Advice, Finding
from invariance.methods.findings import Verdict
from invariance.report.figures import BLUE, GREEN, GREY, INK, PALE, RED, SMALL_SIZE, printable

COLOURS = {Verdict.HELPS: GREEN, Verdict.HURTS: RED, Verdict.NO_DIFFERENCE: BLUE, Verdict.UNCLEAR: GREY}
# Distinguishable without colours as well.
MARKERS = {Verdict.HELPS: "^", Verdict.HURTS: "v", Verdict.NO_DIFFERENCE: "s", Verdict.UNCLEAR: "o"}


def advice_figure(advice: Advice) -> Figure:
    """Draw the change in accuracy when each candidate is ignored, with 95 % intervals, the best first.

    Parameters
    ----------
    advice : Advice
        The result of `advise`.

    Returns
    -------
    figure : matplotlib.figure.Figure
        One panel per way of comparing images; combinations are below the single candidates, and the advised invariance
        is bold.
    """
    views = sorted(advice.plain, key=lambda view: view != advice.view)
    combinations = advice.best_combinations()
    panels = [[*advice.of_view(view), *(f for f in combinations if f.view == view)] for view in views]
    longest_name = max((len(finding.name) for panel in panels for finding in panel), default=10)
    n_rows = sum(len(panel) for panel in panels)
    figure = Figure(
        figsize=(4.4 + 0.075 * longest_name, 0.75 + 0.27 * n_rows + 0.8 * len(panels)),
        layout="constrained",
    )
    heights = [len(panel) + 1.5 for panel in panels]
    all_axes = figure.subplots(len(panels), squeeze=False, height_ratios=heights, sharex=True)[:, 0]
    for axes, view, panel in zip(all_axes, views, panels, strict=True):
        _show_panel(axes, panel, advice.advised)
        axes.set_title(
            f"{view}: accuracy {100 * advice.plain[view].accuracy:.1f} % ignoring nothing", fontsize=10, loc="left"
        )
    all_axes[-1].set_xlabel("difference in accuracy, points")
    handles = [
        all_axes[0].plot([], [], MARKERS[verdict], color=COLOURS[verdict], label=verdict)[0] for verdict in COLOURS
    ]
    figure.legend(
        handles=handles, loc="outside lower center", ncols=4, frameon=False, fontsize=SMALL_SIZE, labelcolor=INK
    )
    return figure


def _show_panel(axes, findings: list[Finding], advised: Finding) -> None:
    axes.axvline(0, color=INK, linewidth=1)
    for row, finding in enumerate(findings):
        share, low, high = (100 * value for value in finding.difference[:3])
        colour = COLOURS[finding.verdict]
        axes.plot([low, high], [row, row], color=colour, linewidth=1.8)
        axes.plot(share, row, MARKERS[finding.verdict], color=colour, markersize=7)
    n_single = sum(len(finding.parts) == 1 for finding in findings)
    if 0 < n_single < len(findings) and len(findings[n_single].parts) > 1:
        axes.axhline(n_single - 0.5, color=PALE, linewidth=1)
    axes.set_yticks(range(len(findings)), [printable(finding.name) for finding in findings])
    for label, finding in zip(axes.get_yticklabels(), findings, strict=True):
        label.set_fontweight("bold" if (finding.parts, finding.view) == (advised.parts, advised.view) else "normal")
    axes.set_ylim(max(len(findings), 1) - 0.4, -0.6)
    axes.grid(axis="x", color=PALE, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelbottom=True)
    axes.spines[["top", "right", "left"]].set_visible(False)
