"""The report about a fitted model, section after section."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from invariance._core.randomness import RandomState, make_rng
from invariance.methods import METHODS, ImageClassifier
from invariance.report.answers import Answers, ask, measure_reliability
from invariance.report.explanation.changes import show_changes
from invariance.report.explanation.judged import show_calibration, show_confusions, show_examples
from invariance.report.explanation.learned import show_learned
from invariance.report.explanation.pixels import explain_pixels
from invariance.report.explanation.written import write_out
from invariance.report.report import Report
from invariance.segmentation import JungleSegmenter

NO_IMAGES = (
    "How often the model is right, where it errs, how sure it is and what changes its answers can be told with "
    "labelled images only: invariance explain MODEL --on FOLDER -o report.html, or in Python "
    "explain(classifier, images, labels)."
)


def explain(
    model: Any,
    images: Sequence[np.ndarray] | None = None,
    labels: Any = None,
    settings: Mapping[str, Any] | None = None,
    random_state: RandomState = 0,
) -> Report:
    """A report about a fitted `ImageClassifier` and how it does on labelled images, or about a `JungleSegmenter`.

    `images` are (h, w) or (h, w, c), of any sizes, better not those that the model has learned from; a segmenter
    needs no labels. `settings` are added to those in the report. `random_state` decides which images are shown.
    """
    if isinstance(model, JungleSegmenter):
        return explain_pixels(model, images, settings)
    if not isinstance(model, ImageClassifier):
        raise ValueError(
            f"a {type(model).__name__} cannot be explained, only a ImageClassifier or a JungleSegmenter. "
            f"Make one with invariance fit or invariance fit-pixels."
        )
    check_is_fitted(model)
    if (images is None) != (labels is None):
        raise ValueError("give images and labels together, or neither of them.")
    answers = None if images is None else ask(model, images, labels)
    return explain_answers(model, answers, settings, random_state)


def explain_answers(
    classifier: ImageClassifier,
    answers: Answers | None,
    settings: Mapping[str, Any] | None = None,
    random_state: RandomState = 0,
) -> Report:
    """The report about a classifier that has already been asked; without answers, about what it learned alone."""
    rng = make_rng(random_state)
    report = Report(_title(classifier), _summary(classifier, answers), _settings(classifier, settings))
    report.facts(_facts(classifier, answers))
    if answers is None:
        report.text(NO_IMAGES)
    else:
        show_confusions(report, answers)
        show_examples(report, answers, rng)
        show_calibration(report, answers)
        show_changes(report, classifier, answers, rng)
    show_learned(report, classifier, answers, rng)
    _show_code(report, classifier)
    return report


def _title(classifier: ImageClassifier) -> str:
    names = [str(name) for name in classifier.classes_]
    listed = ", ".join(names) if len(names) <= 4 else f"{', '.join(names[:3])} and {len(names) - 3} more"
    return f"A model that tells apart {listed}"


def _summary(classifier: ImageClassifier, answers: Answers | None) -> str:
    learned = (
        f"Method “{classifier.method}”: {METHODS[classifier.method].what}. Learned from {classifier.facts_.sentence}."
    )
    if answers is None:
        return learned
    low, high = answers.interval
    return (
        f"{learned} On {len(answers.codes)} labelled images it is right in {answers.accuracy:.1%}; for all such "
        f"images that means between {low:.1%} and {high:.1%}, with 95 % confidence."
    )


def _facts(classifier: ImageClassifier, answers: Answers | None) -> dict[str, Any]:
    facts = {
        "method": classifier.method,
        "does not matter": _phi_text(classifier),
        "classes": len(classifier.classes_),
        "images learned from": classifier.facts_.n_images,
    }
    if answers is None:
        return facts
    low, high = answers.interval
    error = measure_reliability(answers.confidence, answers.is_right).error
    return facts | {
        "images judged": len(answers.codes),
        "right": f"{answers.accuracy:.1%}",
        "95 % interval": f"{low:.1%} – {high:.1%}",
        "calibration error, in points": f"{100 * error:.1f}",
        "milliseconds an image": f"{1000 * answers.image_seconds:.3g}",
    }


def _phi_text(classifier: ImageClassifier) -> str:
    return "left to the method" if classifier.transformations is None else repr(classifier.transformations)


def _settings(classifier: ImageClassifier, settings: Mapping[str, Any] | None) -> dict[str, Any]:
    own = {name: repr(value) for name, value in classifier.get_params(deep=False).items() if name != "n_jobs"}
    facts = {f"training images: {name}": value for name, value in classifier.facts_._asdict().items()}
    return {**(settings or {}), **own, **facts, "estimator inside": write_out(classifier.model_)}


def _show_code(report: Report, classifier: ImageClassifier) -> None:
    made = write_out(classifier)
    names = sorted(set(re.findall(r"\b[A-Z]\w+(?=\()", made)) - {"ImageClassifier"})
    lines = [
        "from invariance.methods import ImageClassifier, read_images",
        *([f"from invariance.transformations import {', '.join(names)}"] if names else []),
        "",
        'folder = read_images("FOLDER")  # FOLDER/<class>/<image>',
        f"classifier = {made}",
        "classifier.fit(folder.images, folder.labels)",
    ]
    report.section("To repeat it").text(
        "With the training images in FOLDER these lines make the same model again, if it has a seed. The settings, "
        "also those of the estimator inside where they are not the defaults, and the versions of the software stand "
        "below."
    ).code("\n".join(lines))
