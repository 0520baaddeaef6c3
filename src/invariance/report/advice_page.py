"""The report of advice on invariances: what to ignore, what that looks like, and what was found."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from invariance.cli.advise import chance_in_words, command_to_compare
from invariance.methods.advice_findings import HURTS, Advice, Finding
from invariance.methods.facts import SIDE, as_squares
from invariance.report import Report, image_grid_figure, orbit_figure
from invariance.report.advice_figures import advice_figure
from invariance.report.figures import RED
from invariance.transformations.parsing import parse_transformations

MOST_SHOWN = 16
N_EXAMPLES = 8
COLUMNS = ("ignored", "verdict", "right", "points", "95 % interval", "chance", "--invariant-to")


def advice_report(advice: Advice, images: Sequence[np.ndarray], command: str, settings: Mapping[str, Any]) -> Report:
    """The advice on these images as a page."""
    report = Report("What does not matter?", advice.sentence, settings)
    plain = advice.plain[advice.view]
    report.facts(
        {
            "right, nothing ignored": f"{plain.accuracy:.1%}",
            "right, as advised": f"{advice.advised.accuracy:.1%}",
            "--invariant-to": advice.text,
            "images compared": len(advice.rows),
        }
    )
    report.section("What was found").text(*advice.reasons)
    report.figure(
        advice_figure(advice),
        "What ignoring each thing does to the share of images right, with 95 % intervals; the line at zero is "
        "ignoring nothing.",
    )
    for view in sorted(advice.plain, key=lambda view: view != advice.view):
        report.table(COLUMNS, [_row(f.name, f) for f in advice.of_view(view)], f"Compared as {view}.")
    if advice.combinations:
        rows = [_row(f.text.replace(",", ", "), f) for f in advice.best_combinations()]
        report.table(COLUMNS[:-1], [row[:-1] for row in rows], "Several together, compared with nothing ignored.")
    _show_orbits(report, advice, images)
    _show_harm(report, advice, images)
    report.section("How it was found").text(
        "Each image is classified by all the others, by distances that ignore something: of whole images, as grey "
        f"squares of {SIDE} x {SIDE} pixels, the least distance over all transformed versions of either; of textures "
        "(images of 64 pixels or more), the distance of histograms of filter responses. Every candidate sees the "
        "same images. “Chance” is the probability that mere chance makes the errors of the class probabilities "
        "differ so much, image by image (a paired t-test of quadratic losses), corrected for the number of "
        "candidates after Holm. A candidate helps or hurts if that is below 5 % and the share right says the same.",
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
        chance_in_words(finding.p),
        finding.text,
    )


def _show_orbits(report: Report, advice: Advice, images: Sequence[np.ndarray]) -> None:
    if not advice.advised.parts:
        return
    square = as_squares([images[advice.rows[0]]], SIDE, 1)
    versions = parse_transformations(advice.text).operators(square.shape[1:]).apply(square)[0]
    chosen = np.unique(np.linspace(0, len(versions) - 1, min(MOST_SHOWN, len(versions))).astype(int))
    report.section("What counts as the same").figure(
        orbit_figure(versions[chosen], numbers=chosen.tolist()),
        f"{len(chosen)} of {len(versions)} versions of one image that count as the same, as advised.",
    )


def _show_harm(report: Report, advice: Advice, images: Sequence[np.ndarray]) -> None:
    """Images that the most harmful invariance gets wrong, and that are right without."""
    hurting = advice.of_view(advice.view, HURTS)
    if not hurting:
        return
    worst = hurting[-1]
    lost = np.flatnonzero(advice.plain[worst.view].is_right & ~worst.is_right)
    worst_first = lost[np.argsort(-worst.losses[lost], kind="stable")][:N_EXAMPLES]
    squares = as_squares([images[advice.rows[place]] for place in worst_first], 2 * SIDE, 1)
    names = advice.classes
    titles = [f"is {names[advice.codes[place]]}\nsaid {names[worst.predicted[place]]}" for place in worst_first]
    report.section("What it costs to ignore what matters").figure(
        image_grid_figure(list(squares), titles, frames=[RED] * len(squares)),
        f"Right with nothing ignored, wrong when ignoring {worst.name}; {len(lost)} images in all.",
    )
