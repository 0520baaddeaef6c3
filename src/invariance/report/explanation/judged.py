"""How a classifier does on labelled images: what it confuses, examples, and how far to trust its probabilities."""

from typing import Any

import numpy as np

from invariance.report.answers import Answers, measure_reliability
from invariance.report.evaluation_figures import reliability_figure
from invariance.report.figures import GREEN, RED, confusion_figure
from invariance.report.report import Report

MAX_CLASSES_SHOWN = 16  # of a legible matrix
N_CONFUSIONS = 20
N_EXAMPLES = 12


def show_confusions(report: Report, answers: Answers) -> None:
    """A matrix of few classes, else the most frequent confusions; and what each class comes to."""
    counts, names = answers.confusion, [str(name) for name in answers.classes]
    is_judged = counts.sum(axis=1) > 0
    report.section("How often it is right").text(
        "All figures are about the images given to this report. If the model has learned from some of these, they "
        "are better than what is to be expected of new ones."
    )
    if not is_judged.all():
        missing = [name for name, judged in zip(names, is_judged, strict=True) if not judged]
        report.text(f"There are no images of {', '.join(missing)}, so nothing is known of these.")
    if len(names) <= MAX_CLASSES_SHOWN:
        report.figure(confusion_figure(counts, names), "True class against the class given; dark is a large share.")
    else:
        rows = _confusions(answers, names)
        report.table(
            ("true class", "taken for", "times", "share of the class"), rows, "The most frequent confusions."
        ) if rows else report.text("Nothing was confused.")
    report.table(
        ("class", "images", "recall", "precision", "mostly taken for"),
        [_class_row(code, counts, names) for code in np.flatnonzero(is_judged)],
        "Class by class: the share of its images that were found (recall), and of the images that were given its "
        "name the share that deserve it (precision).",
    )


def show_examples(report: Report, answers: Answers, rng: np.random.Generator) -> None:
    """Some right answers drawn at random, and the wrong ones that the classifier was surest of."""
    report.section("Right and wrong")
    right, wrong = np.flatnonzero(answers.is_right), np.flatnonzero(~answers.is_right)
    surest = wrong[np.argsort(-answers.confidence[wrong], kind="stable")][:N_EXAMPLES]
    some = np.sort(rng.permutation(right)[:N_EXAMPLES])
    if len(wrong):
        report.images(
            [answers.images[row] for row in surest],
            [f"said {_said(answers, row)}\nis {answers.classes[answers.codes[row]]}" for row in surest],
            f"Of {len(wrong)} wrong answers those it was surest of. An image with a wrong label would be here, too.",
            [RED] * len(surest),
        )
    else:
        report.text("No answer is wrong.")
    if len(right):
        report.images(
            [answers.images[row] for row in some],
            [_said(answers, row) for row in some],
            f"Of {len(right)} right answers some drawn at random.",
            [GREEN] * len(some),
        )
    else:
        report.text("No answer is right.")


def show_calibration(report: Report, answers: Answers) -> None:
    """Whether answers of probability p are right with frequency p."""
    reliability = measure_reliability(answers.confidence, answers.is_right)
    mean = float(answers.confidence.mean())
    gap = mean - answers.accuracy
    word = "too sure of itself" if gap > 0 else "too modest"
    report.section("How sure it is").text(
        f"The probability of its answers is {mean:.1%} on average, and {answers.accuracy:.1%} are right"
        + (f": on the whole it is {word} by {100 * abs(gap):.1f} points. " if abs(gap) >= 0.0005 else ". ")
        + f"Within bins of one tenth, probability and share right differ by {100 * reliability.error:.1f} points on "
        f"average (the expected calibration error). Few images make that figure larger than it is in truth."
    ).figure(
        reliability_figure(reliability),
        "Above, for answers of about one probability, how many are right; below the dashed line it is too sure. Below, "
        "the number of these answers.",
    )


def _said(answers: Answers, row: int) -> str:
    return f"{answers.classes[answers.given[row]]}, {answers.confidence[row]:.0%}"


def _confusions(answers: Answers, names: list[str]) -> list[tuple]:
    n_images = answers.confusion.sum(axis=1)
    return [
        (names[true], names[given], count, f"{count / n_images[true]:.0%}")
        for true, given, count in answers.confusions[:N_CONFUSIONS]
    ]


def _class_row(code: Any, counts: np.ndarray, names: list[str]) -> tuple:
    found, n, n_called = counts[code, code], counts[code].sum(), counts[:, code].sum()
    others = counts[code].copy()
    others[code] = 0
    mostly = f"{names[others.argmax()]} ({others.max()})" if others.any() else "–"
    precision = f"{found / n_called:.0%}" if n_called else "–"
    return names[code], int(n), f"{found / n:.0%}", precision, mostly
