"""Estimators as the Python that makes them."""

import inspect
from typing import Any, cast

from sklearn.base import BaseEstimator

from invariance.transformations import TransformationSet


def write_out(value: Any) -> str:
    """An estimator with those of its settings that are not the defaults, in one line; anything else as its `repr`.

    scikit-learn's own `repr` trips over products of transformation sets. The number of threads is left out: nothing
    depends on it.
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
    given = {name: setting for name, setting in value.get_params(deep=False).items() if name != "n_jobs"}
    written = {name: write_out(setting) for name, setting in given.items()}
    changed = [f"{name}={text}" for name, text in written.items() if text != repr(defaults.get(name))]
    return f"{type(value).__name__}({', '.join(changed)})"
