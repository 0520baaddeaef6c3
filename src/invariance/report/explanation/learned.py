"""What a classifier does with Φ and what it has learned, as its method describes it."""

from collections.abc import Iterable

import numpy as np

import invariance.report as figures
from invariance.methods import Drawing, Evaluation, ImageClassifier, Images, Table, Text, get_method
from invariance.methods.exhibits import ASKED, OTHER, SAME, Exhibit
from invariance.report.figures import GREEN, ORANGE, RED
from invariance.report.report import Report

COLOURS = {ASKED: ORANGE, SAME: GREEN, OTHER: RED}


def show_plan(report: Report, classifier: ImageClassifier) -> None:
    """Add what the method does with every part of Φ."""
    plan = classifier.plan()
    origin = "The default of the method." if plan.is_default else "As requested when the model was fitted."
    report.section("What does not matter to it").table(
        ("part of Φ", "treatment", "what that means"),
        [tuple(part.as_json().values()) for part in plan.parts],
        origin,
    )


def show_learned(
    report: Report, classifier: ImageClassifier, evaluation: Evaluation | None, rng: np.random.Generator
) -> None:
    """Add what was learned: the exhibits of the method."""
    method = get_method(classifier.method_name)
    report.section("What was learned").text(f"{method.summary[0].upper()}{method.summary[1:]}.")
    show_exhibits(report, method.explain(classifier, evaluation, rng))


def show_exhibits(report: Report, exhibits: Iterable[Exhibit]) -> None:
    """Add texts, tables, images and figures."""
    for exhibit in exhibits:
        match exhibit:
            case Text(text):
                report.text(text)
            case Table(columns, rows, caption):
                report.table(columns, rows, caption)
            case Images(images, titles, caption, frames, side):
                colours = None if frames is None else [COLOURS.get(role or "", role) for role in frames]
                report.images(images, titles, caption, colours, side)
            case Drawing(draw, arguments, caption, settings):
                function = getattr(figures, draw) if isinstance(draw, str) else draw
                report.figure(function(*arguments, **settings), caption)
