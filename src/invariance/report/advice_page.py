"""The page of advice on invariances: what to ignore, what that looks like, and the evidence."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from invariance.methods import Advice, Finding
from invariance.methods.advice import MIN_TEXTURE_SIDE
from invariance.methods.findings import Verdict
from invariance.methods.preparation import SIDE, as_squares
from invariance.report import Report, image_grid_figure, orbit_figure
from invariance.report.advice_figures import advice_figure
from invariance.report.figures import RED, pick_evenly
from invariance.transformations.parsing import parse_transformations
from invariance.transformations.photometric import normalize_intensities

MAX_VERSIONS = 16
MAX_EXAMPLES = 8
SMALLEST_P = 0.001  # smaller p-values are not distinguished
COLUMNS = ("ignored", "verdict", "accuracy", "points", "95 % interval", "p", "--invariant-to")


def advice_report(
    advice: Advice, images: Sequence[np.ndarray], commands: Sequence[str], settings: Mapping[str, Any]
) -> Report:
    """Return the page of the advice on images.

    Parameters
    ----------
    advice : Advice
        The result of `advise`.
    images : sequence of ndarray
        The images that the advice is about.
    commands : sequence of str
        What to run next.
    settings : mapping of str to object
        Listed at the end.

    Returns
    -------
    report : Report
    """
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
        "Change in accuracy when each candidate is ignored, with 95 % intervals; zero is the accuracy when nothing is "
        "ignored.",
    )
    for view in sorted(advice.plain, key=lambda view: view != advice.view):
        report.table(COLUMNS, [_row(f.name, f) for f in advice.of_view(view)], f"Compared as {view}.")
    if advice.combinations:
        rows = [_row(f.text.replace(",", ", "), f) for f in advice.best_combinations()]
        report.table(COLUMNS[:-1], [row[:-1] for row in rows], "Combinations, compared with ignoring nothing.")
    _show_orbits(report, advice, images)
    _show_harm(report, advice, images)
    report.section("How it was found").text(
        "Each image is classified by its distances to all other images, and these distances ignore something. Whole "
        f"images are compared as grey squares of {SIDE} x {SIDE} pixels, by the minimum distance over all transformed "
        f"versions of either; textures (images of at least {MIN_TEXTURE_SIDE} pixels per side) by the distance between "
        "histograms of filter responses. All candidates are tried on the same images. p is the p-value of a paired "
        "t-test of the quadratic losses of the class probabilities, corrected for the number of candidates by Holm's "
        "method. A candidate helps or hurts if p is below 5 % and the accuracy changes in the same direction.",
    )
    return report.section("What to do next").code("\n".join(commands))


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
    phi = parse_transformations(advice.text)
    versions = phi.operators(square.shape[1:]).apply(normalize_intensities(square, phi))[0]
    chosen = pick_evenly(len(versions), MAX_VERSIONS)
    report.section("What counts as the same").figure(
        orbit_figure(versions[chosen], numbers=chosen.tolist()),
        f"{len(chosen)} of {len(versions)} versions of one image that count as the same, as advised.",
    )


def _show_harm(report: Report, advice: Advice, images: Sequence[np.ndarray]) -> None:
    """Add images that are classified wrongly with the most harmful invariance and correctly without it."""
    hurting = advice.of_view(advice.view, Verdict.HURTS)
    if not hurting:
        return
    worst = hurting[-1]
    lost = np.flatnonzero(advice.plain[worst.view].is_right & ~worst.is_right)
    worst_first = lost[np.argsort(-worst.losses[lost], kind="stable")][:MAX_EXAMPLES]
    squares = as_squares([images[advice.rows[place]] for place in worst_first], 2 * SIDE, 1)
    names = advice.classes
    titles = [f"is {names[advice.codes[place]]}\npredicted {names[worst.predicted[place]]}" for place in worst_first]
    report.section("What ignoring too much costs").figure(
        image_grid_figure(list(squares), titles, frames=[RED] * len(squares)),
        f"{len(worst_first)} of {len(lost)} images that are classified correctly when nothing is ignored, and wrongly "
        f"when {worst.name} are ignored.",
    )


def format_p(p: float) -> str:
    """Return a p-value in percent."""
    if p < SMALLEST_P:
        return f"< {100 * SMALLEST_P:g} %"
    return f"{100 * p:.1f} %" if p < 0.1 else f"{100 * p:.0f} %"
