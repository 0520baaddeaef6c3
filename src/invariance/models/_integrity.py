"""Checks of the contents of a loaded model: compiled code follows stored numbers without checking them."""

import dataclasses
import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from invariance.models._foreign import check_foreign

OUTPUT_FORMAT = (
    "_sklearn_output_config"  # of scikit-learn's transformers: tables of pandas or polars in place of arrays
)


def check_contents(model: Any) -> None:
    """Raise ValueError if a part of the model is not what its predictions, compiled ones above all, rely on.

    A class of the library has a method `check_loaded()` that raises ValueError; it is called here for every instance in
    the model, for the parts of an object before the object. What scikit-learn's estimators hold is checked by
    `_foreign`, and the state of random generators here.
    """
    for part in reversed(list(_parts(model))):
        kind = type(part)
        if isinstance(part, BaseEstimator):
            _check_parameters(part)
            _check_use(part)
        if hasattr(part, "__dict__"):
            _check_names(part)
        if hasattr(kind, "check_loaded"):
            part.check_loaded()
        elif kind.__module__.startswith("sklearn.") and not kind.__module__.endswith(("_loss._loss", "_sgd_fast")):
            check_foreign(part)
        elif isinstance(part, np.random.Generator | np.random.RandomState):
            _check_generator(part)


def _check_parameters(estimator: BaseEstimator) -> None:
    """Every parameter of an estimator must be there: another version may have had others."""
    missing = sorted(set(estimator._get_param_names()) - set(vars(estimator)))
    if missing:
        raise ValueError(
            f"a {type(estimator).__name__} lacks {', '.join(missing)}: another version of its library saved it; "
            f"train it again"
        )


def _check_use(estimator: BaseEstimator) -> None:
    """No attribute decides how scikit-learn uses an estimator, such as `__sklearn_is_fitted__`."""
    for name, value in vars(estimator).items():
        if name.startswith("__") or (name == OUTPUT_FORMAT and value != {"transform": "default"}):
            raise ValueError(f"an attribute of a {type(estimator).__name__} is {name}, which decides how it is used")


def _check_names(part: Any) -> None:
    """No attribute of a file takes the place of a method or property, or of what a class keeps but does not store.

    What `__getstate__` of a class leaves out is computed from what was checked, and trusted as it is.
    """
    kind = type(part)
    stored = part.__getstate__() if kind.__module__.startswith("invariance.") else vars(part)
    for name in vars(part):
        if name not in (stored or ()):
            raise ValueError(f"an attribute of a {kind.__name__} is {name}, which is never stored")
    for name in vars(part):
        of_class = inspect.getattr_static(kind, name, None)
        if inspect.isroutine(of_class) or isinstance(of_class, property | classmethod | staticmethod):
            raise ValueError(f"an attribute of a {kind.__name__} has the name of its method {name}")


def _check_generator(generator: np.random.Generator | np.random.RandomState) -> None:
    """The place in the table of a generator must be in the table: numpy reads there without looking."""
    if isinstance(generator, np.random.RandomState):
        state: Any = generator.get_state(legacy=False)
    else:
        state = generator.bit_generator.state
    inner = state["state"]
    if not 0 <= inner.get("pos", 0) <= 624 or not 0 <= state.get("buffer_pos", 0) <= 4:
        raise ValueError("the state of a random generator is none")


def _parts(model: Any) -> Iterator[Any]:
    """The model and everything in it, each once."""
    waiting, seen = [model], set()
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        if isinstance(part, dict):
            waiting.extend(part.values())
        elif isinstance(part, list | tuple | set):
            waiting.extend(part)
        elif isinstance(part, np.ndarray):
            waiting.extend(part.ravel().tolist() if part.dtype == object else ())
        elif dataclasses.is_dataclass(part) and not isinstance(part, type):
            waiting.extend(getattr(part, field.name, None) for field in dataclasses.fields(part))
        elif hasattr(part, "__dict__") and not isinstance(part, type):
            waiting.extend(vars(part).values())
