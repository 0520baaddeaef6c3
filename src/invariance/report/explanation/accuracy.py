"""The accuracy of a classifier on labelled images: confusions, examples, and calibration."""

from typing import Any

import numpy as np

from invariance.methods import Evaluation
from invariance.report.evaluation_figures import reliability_figure
from invariance.report.figures import GREEN, RED, confusion_figure
from invariance.report.report import Report

MAX_CLASSES = 16  # of a legible confusion matrix
N_CONFUSIONS = 20
N_EXAMPLES = 12
MIN_GAP = 0.0005  # smaller differences of confidence and accuracy are 0.0 points when rounded


def show_confusions(report: Report, evaluation: Evaluation) -> None:
    """Add a matrix of few classes, or the most frequent confusions; and recall and precision per class."""
    counts, names = evaluation.confusion, [str(name) for name in evaluation.classes]
    has_images = counts.sum(axis=1) > 0
    report.section("Accuracy").text(
        "All figures are about the images given to this report. If the model was trained on some of them, the figures "
        "are too optimistic."
    )
    if not has_images.all():
        missing = ", ".join(names[code] for code in np.flatnonzero(~has_images))
        report.text(f"There are no images of {missing}.")
    if len(names) <= MAX_CLASSES:
        report.figure(
            confusion_figure(counts, names),
            "Number of images by true and predicted class, shaded by the share of the true class.",
        )
    elif rows := _confusions(evaluation, names):
        columns = ("true class", "predicted class", "images", "share of the true class")
        report.table(columns, rows, "The most frequent confusions.")
    else:
        report.text("No classes were confused.")
    report.table(
        ("class", "images", "recall", "precision", "most frequent error"),
        [_class_row(evaluation, code) for code in np.flatnonzero(has_images)],
        "Recall is the share of the images of a class that are predicted as this class; precision is the share of the "
        "images predicted as a class that are of this class.",
    )


def show_examples(report: Report, evaluation: Evaluation, rng: np.random.Generator) -> None:
    """Add the most confident errors, and correct predictions drawn at random."""
    report.section("Examples")
    correct, wrong = np.flatnonzero(evaluation.is_right), np.flatnonzero(~evaluation.is_right)
    confident = wrong[np.argsort(-evaluation.confidence[wrong], kind="stable")][:N_EXAMPLES]
    drawn = np.sort(rng.permutation(correct)[:N_EXAMPLES])
    if len(wrong):
        report.images(
            [evaluation.images[row] for row in confident],
            [f"{_predicted(evaluation, row)}\nis {evaluation.classes[evaluation.codes[row]]}" for row in confident],
            f"The most confident of {len(wrong)} errors. Images with a wrong label are often among them.",
            [RED] * len(confident),
        )
    else:
        report.text("There are no errors.")
    if len(correct):
        report.images(
            [evaluation.images[row] for row in drawn],
            [_predicted(evaluation, row) for row in drawn],
            f"{len(drawn)} of {len(correct)} correct predictions, drawn at random.",
            [GREEN] * len(drawn),
        )
    else:
        report.text("No prediction is correct.")


def show_calibration(report: Report, evaluation: Evaluation) -> None:
    """Add the reliability diagram: whether predictions of probability p are correct with frequency p."""
    reliability = evaluation.reliability
    mean = float(evaluation.confidence.mean())
    gap = mean - evaluation.accuracy
    word = "overconfident" if gap > 0 else "underconfident"
    report.section("Calibration").text(
        f"The mean probability of the predicted classes is {mean:.1%}, and {evaluation.accuracy:.1%} of the "
        f"predictions are correct"
        + (f": the model is {word} by {100 * abs(gap):.1f} points. " if abs(gap) >= MIN_GAP else ". ")
        + f"In bins of width 0.1, probability and accuracy differ by {100 * reliability.error:.1f} points on average "
        f"(expected calibration error). With few images this value is biased upwards."
    ).figure(
        reliability_figure(reliability),
        "Top: accuracy of predictions by their probability; below the dashed line the model is overconfident. Bottom: "
        "number of predictions.",
    )


def _predicted(evaluation: Evaluation, row: int) -> str:
    return f"predicted {evaluation.classes[evaluation.predicted[row]]}, {evaluation.confidence[row]:.0%}"


def _confusions(evaluation: Evaluation, names: list[str]) -> list[tuple]:
    n_images = evaluation.confusion.sum(axis=1)
    return [
        (names[true], names[predicted], count, f"{count / n_images[true]:.0%}")
        for true, predicted, count in evaluation.confusions[:N_CONFUSIONS]
    ]


def _class_row(evaluation: Evaluation, code: Any) -> tuple:
    figures = evaluation.by_class[code]
    errors = evaluation.confusion[code]
    errors[code] = 0
    error = f"{evaluation.classes[errors.argmax()]} ({errors.max()})" if errors.any() else "–"
    precision = "–" if figures.precision is None else f"{figures.precision:.0%}"
    return figures.name, figures.n_images, f"{figures.recall:.0%}", precision, error
