"""The page of advice on invariances: what to ignore, what that looks like, and what was found."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from invariance.methods import Advice, Finding
from invariance.methods.findings import Verdict
from invariance.methods.preparation import SIDE, as_squares
from invariance.report import Report, image_grid_figure, orbit_figure
from invariance.report.advice_figures import advice_figure
from invariance.report.figures import RED
from invariance.transformations.parsing import parse_transformations

MAX_SHOWN = 16
N_EXAMPLES = 8
COLUMNS = ("ignored", "verdict", "accuracy", "points", "95 % interval", "p", "--invariant-to")


def advice_report(advice: Advice, images: Sequence[np.ndarray], command: str, settings: Mapping[str, Any]) -> Report:
    """The advice on these images as a page."""
    report = Report("What does not matter?", advice.sentence, settings)
    plain = advice.plain[advice.view]
    report.facts(
        {
            "accuracy, ignoring nothing": f"{plain.accuracy:.1%}",
            "accuracy, as advised": f"{advice.advised.accuracy:.1%}",
            "--invariant-to": advice.text,
            "images compared": len(advice.rows),
        }
    )
    report.section("What was found").text(*advice.reasons)
    report.figure(
        advice_figure(advice),
        "What ignoring each candidate does to the accuracy, with 95 % intervals; the line at zero is ignoring nothing.",
    )
    for view in sorted(advice.plain, key=lambda view: view != advice.view):
        report.table(COLUMNS, [_row(f.name, f) for f in advice.of_view(view)], f"Compared as {view}.")
    if advice.combinations:
        rows = [_row(f.text.replace(",", ", "), f) for f in advice.best_combinations()]
        report.table(COLUMNS[:-1], [row[:-1] for row in rows], "Combinations, compared with ignoring nothing.")
    _show_orbits(report, advice, images)
    _show_harm(report, advice, images)
    report.section("How it was found").text(
        "Each image is classified by all others, by distances that ignore something: of whole images, as grey squares "
        f"of {SIDE} x {SIDE} pixels, the minimum distance over all transformed versions of either; of textures "
        "(images of 64 pixels or more), the distance of histograms of filter responses. Every candidate sees the same "
        "images. p is the probability that chance alone makes the class probabilities differ so much, image by image "
        "(a paired t-test of quadratic losses), corrected for the number of candidates by Holm's method. A candidate "
        "helps or hurts if p is below 5 % and the accuracy says the same.",
    )
    return report.section("What to do next").text(command, command_to_compare(command))


def _row(name: str, finding: Finding) -> tuple[str, ...]:
    difference = finding.difference
    return (
        name,
        finding.verdict,
        f"{finding.accuracy:.1%}",
        f"{100 * difference.share:+.1f}",
        f"{100 * difference.low:+.1f} to {100 * difference.high:+.1f}",
        format_p(finding.p),
        finding.text,
    )


def _show_orbits(report: Report, advice: Advice, images: Sequence[np.ndarray]) -> None:
    if not advice.advised.parts:
        return
    square = as_squares([images[advice.rows[0]]], SIDE, 1)
    versions = parse_transformations(advice.text).operators(square.shape[1:]).apply(square)[0]
    chosen = np.unique(np.linspace(0, len(versions) - 1, min(MAX_SHOWN, len(versions))).astype(int))
    report.section("What counts as the same").figure(
        orbit_figure(versions[chosen], numbers=chosen.tolist()),
        f"{len(chosen)} of {len(versions)} versions of one image that count as the same, as advised.",
    )


def _show_harm(report: Report, advice: Advice, images: Sequence[np.ndarray]) -> None:
    """Images that the most harmful invariance gets wrong and that are correct without it."""
    hurting = advice.of_view(advice.view, Verdict.HURTS)
    if not hurting:
        return
    worst = hurting[-1]
    lost = np.flatnonzero(advice.plain[worst.view].is_right & ~worst.is_right)
    worst_first = lost[np.argsort(-worst.losses[lost], kind="stable")][:N_EXAMPLES]
    squares = as_squares([images[advice.rows[place]] for place in worst_first], 2 * SIDE, 1)
    names = advice.classes
    titles = [f"is {names[advice.codes[place]]}\npredicted {names[worst.predicted[place]]}" for place in worst_first]
    report.section("What ignoring too much costs").figure(
        image_grid_figure(list(squares), titles, frames=[RED] * len(squares)),
        f"Correct when nothing is ignored, wrong when ignoring {worst.name}; {len(lost)} images in all.",
    )


def command_to_compare(command: str) -> str:
    """Return the command that tries the advice with all methods, from the one that fits a model."""
    return command.replace("invariance fit", "invariance compare", 1).replace(" -o model.inv", "", 1)


def format_p(p: float) -> str:
    """Return a probability in per cent."""
    if p < 0.001:
        return "< 0.1 %"
    return f"{100 * p:.1f} %" if p < 0.1 else f"{100 * p:.0f} %"
