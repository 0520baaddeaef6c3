"""The report about a fitted model, section by section."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from invariance._core.randomness import RandomState, make_rng
from invariance.methods import Evaluation, ImageClassifier, evaluate, get_method
from invariance.report.explanation.accuracy import show_calibration, show_confusions, show_examples
from invariance.report.explanation.changes import show_changes
from invariance.report.explanation.learned import show_learned, show_plan
from invariance.report.explanation.pixels import explain_pixels
from invariance.report.explanation.source_code import show_code, write_out
from invariance.report.report import Report
from invariance.segmentation import JungleSegmenter

NO_IMAGES = (
    "Accuracy, errors, calibration and what changes the predictions need labelled images: invariance explain MODEL "
    "--data FOLDER -o report.html, or in Python explain(classifier, images, labels)."
)


def explain(
    model: Any,
    images: Sequence[np.ndarray] | None = None,
    labels: Any = None,
    settings: Mapping[str, Any] | None = None,
    random_state: RandomState = 0,
) -> Report:
    """Return a report about a fitted model.

    Parameters
    ----------
    model : ImageClassifier or JungleSegmenter
        A fitted model.
    images : sequence of ndarray of shape (h, w) or (h, w, c), default=None
        Images to evaluate the model on, preferably not those that it was trained on.
    labels : array-like of shape (n,), default=None
        Classes of the images; required for a classifier if there are images, ignored for a segmenter.
    settings : mapping, default=None
        Further settings to list in the report.
    random_state : int, RandomState instance or None, default=0
        Determines which images are shown.

    Returns
    -------
    report : Report
    """
    if isinstance(model, JungleSegmenter):
        return explain_pixels(model, images, settings)
    if not isinstance(model, ImageClassifier):
        raise ValueError(
            f"a {type(model).__name__} cannot be explained, only an ImageClassifier or a JungleSegmenter. "
            f"Make one with invariance fit or invariance fit-pixels."
        )
    check_is_fitted(model)
    if (images is None) != (labels is None):
        raise ValueError("images and labels must be given together, or neither of them.")
    evaluation = None if images is None else evaluate(model, images, labels)
    return explain_evaluated(model, evaluation, settings, random_state)


def explain_evaluated(
    classifier: ImageClassifier,
    evaluation: Evaluation | None,
    settings: Mapping[str, Any] | None = None,
    random_state: RandomState = 0,
) -> Report:
    """Return the report about a classifier that was evaluated; without an evaluation, about what it learned."""
    rng = make_rng(random_state)
    report = Report(_title(classifier), _summary(classifier, evaluation), _settings(classifier, settings))
    report.facts(_facts(classifier, evaluation))
    if evaluation is None:
        report.text(NO_IMAGES)
    else:
        show_confusions(report, evaluation)
        show_examples(report, evaluation, rng)
        show_calibration(report, evaluation)
        show_changes(report, classifier, evaluation, rng)
    show_plan(report, classifier)
    show_learned(report, classifier, evaluation, rng)
    show_code(report, classifier)
    return report


def _title(classifier: ImageClassifier) -> str:
    names = [str(name) for name in classifier.classes_]
    listed = ", ".join(names) if len(names) <= 4 else f"{', '.join(names[:3])} and {len(names) - 3} more"
    return f"A model of {listed}"


def _summary(classifier: ImageClassifier, evaluation: Evaluation | None) -> str:
    method = get_method(classifier.method_name)
    trained = f"Method “{method.name}”: {method.summary}. Trained on {classifier.facts_.sentence}."
    if evaluation is None:
        return trained
    low, high = evaluation.interval
    return (
        f"{trained} On {len(evaluation.codes)} labelled images its accuracy is {evaluation.accuracy:.1%}; the 95 % "
        f"confidence interval for such images is {low:.1%} to {high:.1%}."
    )


def _facts(classifier: ImageClassifier, evaluation: Evaluation | None) -> dict[str, Any]:
    plan = classifier.plan()
    text = ", ".join(part.text for part in plan.parts)
    facts = {
        "method": classifier.method_name,
        "does not matter": f"{text} (default)" if plan.is_default else text,
        "classes": len(classifier.classes_),
        "training images": classifier.facts_.n_images,
    }
    if evaluation is None:
        return facts
    low, high = evaluation.interval
    return facts | {
        "images evaluated": len(evaluation.codes),
        "accuracy": f"{evaluation.accuracy:.1%}",
        "95 % interval": f"{low:.1%} – {high:.1%}",
        "calibration error, points": f"{100 * evaluation.reliability.error:.1f}",
        "milliseconds per image": f"{1000 * evaluation.image_seconds:.3g}",
    }


def _settings(classifier: ImageClassifier, settings: Mapping[str, Any] | None) -> dict[str, Any]:
    own = {name: repr(value) for name, value in classifier.get_params(deep=False).items() if name != "n_jobs"}
    facts = {f"training images: {name}": value for name, value in classifier.facts_._asdict().items()}
    return {**(settings or {}), **own, **facts, "inner estimator": write_out(classifier.model_)}
