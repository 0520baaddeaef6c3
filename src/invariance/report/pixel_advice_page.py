"""The page of advice on invariances for pixels: what to ignore, the evidence, and what the segmenter does with it."""

from collections.abc import Mapping
from typing import Any

from invariance.methods import PixelAdvice, PixelFinding
from invariance.report import Report
from invariance.report.advice_page import COLUMNS, format_p
from invariance.report.pixel_advice_figures import pixel_advice_figure


def pixel_advice_report(advice: PixelAdvice, command: str, settings: Mapping[str, Any]) -> Report:
    """Return the page of the advice on pixels.

    Parameters
    ----------
    advice : PixelAdvice
        The result of `advise_pixels`.
    command : str
        What to run next.
    settings : mapping of str to object
        Listed at the end.

    Returns
    -------
    report : Report
    """
    report = Report("What does not matter to pixels?", advice.sentence, settings)
    report.facts(
        {
            "balanced accuracy, ignoring nothing": f"{advice.plain.accuracy:.1%}",
            "balanced accuracy, as advised": f"{advice.advised.accuracy:.1%}",
            "--invariant-to": advice.text,
            "pixels used": advice.n_pixels,
        }
    )
    report.section("What was found").text(*advice.reasons)
    report.figure(
        pixel_advice_figure(advice),
        "Change in balanced accuracy of held-out pixels when each candidate is ignored, with 95 % intervals; the dots "
        "are the runs. Zero is the accuracy when learned filters ignore nothing.",
    )
    report.table(COLUMNS, [_row(finding.name, finding) for finding in advice.ranked()], "Candidates one by one.")
    if advice.combinations:
        rows = [_row(finding.text.replace(",", ", "), finding) for finding in advice.ranked_combinations()]
        report.table(COLUMNS[:-1], [row[:-1] for row in rows], "Combinations, compared with ignoring nothing.")
    report.section("What the segmenter does with it").text(
        *(f"{part.text} ({part.treatment}): {part.sentence}" for part in advice.plan)
    )
    report.section("How it was found").text(
        f"Of the labelled pixels, {advice.n_pixels:,} were drawn at random, as many of each class as possible. In each "
        f"of {advice.n_runs} runs, some {advice.unit} are held out; from pixels of the others, {advice.n_learned:,} at "
        f"most, a segmenter with one round is fitted for each candidate. Balanced accuracy is the mean over the "
        f"classes of the shares of held-out pixels that are predicted correctly. All candidates are tried on the same "
        f"pixels. p is the p-value of the corrected resampled t-test of Nadeau and Bengio (2003) over the runs, "
        f"corrected for the number of candidates by Holm's method. A candidate helps or hurts if p is below 5 %.",
    )
    return report.section("What to do next").code(command)


def _row(name: str, finding: PixelFinding) -> tuple[str, ...]:
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
