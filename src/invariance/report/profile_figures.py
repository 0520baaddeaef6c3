"""Figures of invariance profiles: Q-Q plots, and means with standard deviations, [Wibisono10] fig. 2."""

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from invariance.report.figures import BLUE, INK, ORANGE, PALE, TITLE_SIZE, printable
from invariance.transformations import InvarianceProfile


def profile_figure(profiles: Mapping[str, InvarianceProfile], title: str = "") -> Figure:
    """Draw quantiles of distances between images against those within orbits, and the means of both.

    A curve above the diagonal means that versions of one image are closer to each other than different images are; a
    vertical start means that many versions coincide.

    Parameters
    ----------
    profiles : mapping of str to InvarianceProfile
        Named profiles, for example of several representations.
    title : str, default=""

    Returns
    -------
    figure : matplotlib.figure.Figure
    """
    n = len(profiles)
    figure = Figure(figsize=(2.6 * n + 3.2, 3.2), layout="constrained")
    *plots, bars = figure.subplots(1, n + 1, width_ratios=[1.0] * n + [1.15])
    for axes, (name, profile) in zip(plots, profiles.items(), strict=True):
        within, between = profile.quantiles()
        limit = max(within[-1], between[-1]) or 1.0
        axes.plot([0, limit], [0, limit], color=PALE, zorder=0)
        axes.plot(within, between, ".", color=BLUE, markersize=4)
        axes.set(xlabel="within orbits", aspect="equal", xlim=(0, 1.03 * limit), ylim=(0, 1.03 * limit))
        axes.set_title(f"{printable(name)}\nratio {profile.ratio:.2f}", fontsize=10)
        axes.ticklabel_format(style="sci", scilimits=(-2, 3))
    plots[0].set_ylabel("between images")
    _show_means(bars, profiles)
    figure.suptitle(printable(title), fontsize=TITLE_SIZE, wrap=True)
    return figure


def _show_means(axes, profiles: Mapping[str, InvarianceProfile]) -> None:
    """Draw means and standard deviations of both distances, in units of the mean distance between images."""
    for row, profile in enumerate(profiles.values()):
        unit = profile.between.mean() or 1.0
        for offset, values, colour in ((-0.13, profile.within, ORANGE), (0.13, profile.between, BLUE)):
            axes.errorbar(
                np.mean(values) / unit, row + offset, xerr=np.std(values) / unit, fmt="o", color=colour, capsize=3
            )
    axes.set_yticks(range(len(profiles)), [printable(name) for name in profiles])
    axes.set_ylim(len(profiles) - 0.5, -0.5)
    axes.set_xlim(left=0)
    axes.set_xlabel("distance / mean between images")
    axes.plot([], [], "o", color=ORANGE, label="within orbits")
    axes.plot([], [], "o", color=BLUE, label="between images")
    axes.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, 1.18), ncols=2, labelcolor=INK)
    axes.spines[["top", "right"]].set_visible(False)
