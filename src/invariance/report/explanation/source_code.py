"""Estimators as the Python code that makes them, so that a model can be reproduced."""

import inspect
import re
from typing import Any, cast

from sklearn.base import BaseEstimator

from invariance.methods import ImageClassifier
from invariance.report.report import Report
from invariance.transformations import TransformationSet


def show_code(report: Report, classifier: ImageClassifier) -> None:
    """Add the code that fits the same classifier again."""
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
    report.section("Reproduce it").text(
        "With the training images in FOLDER, these lines fit the same model again, provided that random_state is set. "
        "The settings, those of the inner estimator where they differ from the defaults, and the versions of the "
        "software are listed below."
    ).code("\n".join(lines))


def write_out(value: Any) -> str:
    """Return an estimator as code, with the parameters that differ from their defaults; other values as their `repr`.

    scikit-learn's own `repr` cannot write products of transformation sets. `n_jobs` is left out: results do not depend
    on it.
    """
    if isinstance(value, list):
        return f"[{', '.join(map(write_out, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(write_out, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, TransformationSet):
        return " ".join(cast(Any, value).__repr__(N_CHAR_MAX=1_000_000).split())
    if not isinstance(value, BaseEstimator):
        return repr(value)
    defaults = {name: parameter.default for name, parameter in inspect.signature(type(value)).parameters.items()}
    parameters = {name: setting for name, setting in value.get_params(deep=False).items() if name != "n_jobs"}
    written = {name: write_out(setting) for name, setting in parameters.items()}
    changed = [f"{name}={text}" for name, text in written.items() if text != repr(defaults.get(name))]
    return f"{type(value).__name__}({', '.join(changed)})"
