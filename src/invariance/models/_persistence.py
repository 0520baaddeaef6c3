"""Save and load a fitted model.

A model may hold, in any nesting: None, bool, int, float, str; lists and tuples; dicts with str or int keys; numpy
arrays of numbers and texts, scalars and random generators; the scikit-learn classes that `_trusted` lists; and
estimators, NamedTuples and dataclasses (frozen or not) of the library that have a method `check_loaded`.
"""

import os
import zipfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from invariance._core.escaping import in_one_line
from invariance._version import __version__
from invariance.models._building import build_model
from invariance.models._container import (
    ModelError,
    read_container,
    read_metadata,
    reason_of,
    shorten,
    write_container,
)
from invariance.models._integrity import check_contents
from invariance.models._payload import read_payload
from invariance.models._texts import store_texts
from invariance.models._trusted import check_nodes, refused_names

MAX_NAMED = 5  # names of refused types in an error
MAX_REPR = 500  # characters of a parameter in the description, which is for people
TRAINED_ON = ("n_features_in_", "image_shape_", "n_images_", "n_samples_seen_", "n_samples_fit_")


def save(model: Any, path: str | os.PathLike, trusted: Collection[Any] = ()) -> Path:
    """Write a model to one file.

    The model is first loaded again from memory; if `load` would refuse it, nothing is written.

    Parameters
    ----------
    model : estimator
        The fitted model.
    path : path-like
        The file to write; an existing one is replaced.
    trusted : collection of classes and functions, default=()
        Classes and functions from outside the library that the model contains and that you know to be safe. `load`
        needs them again, and must be able to import them.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ModelError
        If the model contains a type that is not trusted, or cannot be restored.
    """
    import skops.io

    path = Path(path)
    try:
        payload = store_texts(skops.io.dumps(model, compression=zipfile.ZIP_DEFLATED, compresslevel=1))
    except Exception as error:  # whatever a foreign object raises when asked for its state
        raise ModelError(f"cannot save to '{path}': {reason_of(error)}") from error
    _unpack(payload, path, trusted, doing="save to")
    write_container(path, _describe_model(model), payload)
    return path


def load(path: str | os.PathLike, trusted: Collection[Any] = ()) -> Any:
    """Read a model from a file.

    A file from an unknown source cannot run code of its own. It can still be a bad model: its checksum is no signature.

    Parameters
    ----------
    path : path-like
        The file.
    trusted : collection of classes and functions, default=()
        Classes and functions from outside the library that the model may contain.

    Returns
    -------
    estimator
        The model.

    Raises
    ------
    ModelError
        If the file is damaged, of a newer format, or contains types that are not trusted, which are named.
    """
    metadata, payload = read_container(path)
    return _unpack(payload, path, trusted, doing="load", library=metadata.get("library"))


def describe(path: str | os.PathLike) -> dict[str, Any]:
    """Describe a model file without loading the model.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    dict
        With the keys "format", "library" (the version that saved it), "method", "type", "parameters" (as text),
        "classes", "trained_on" (counts and shapes) and "sha256" of the model.

    Raises
    ------
    ModelError
        If the file is damaged or of a newer format.
    """
    return read_metadata(path)


def _unpack(payload: bytes, path, trusted: Collection[Any], doing: str, library: str | None = None) -> Any:
    """The model in a payload, after all checks; `doing` and the version of the `library` are for the error."""

    def check(nodes: list[dict[str, Any]]) -> None:
        refused = refused_names(nodes, trusted)
        if refused:
            names = in_one_line(shorten(", ".join(refused[:MAX_NAMED])))
            others = f" and {len(refused) - MAX_NAMED} others" if len(refused) > MAX_NAMED else ""
            raise ModelError(
                f"cannot {doing} '{path}': it contains {names}{others}: not on the list of trusted types. If you "
                f"know them to be safe, name them in trusted=[...]. Lambdas and local functions cannot be stored; of a "
                f"search such as GridSearchCV, save the best_estimator_."
            )
        check_nodes(nodes)

    schema, arrays = read_payload(payload, path, check)
    try:
        model = build_model(schema, arrays)
        check_contents(model)
    except Exception as error:  # a file may hold anything, so building from it may raise anything
        reason = reason_of(error)
        if library not in (None, __version__):
            reason += f"; saved by invariance {in_one_line(shorten(str(library)))}, this is {__version__}"
        raise ModelError(f"cannot {doing} '{path}': its contents do not make a model ({reason}).") from error
    return model


def _describe_model(model: Any) -> dict[str, Any]:
    """The description that is stored beside a model."""
    parameters = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    return {
        "library": __version__,
        "method": type(model).__name__,
        "type": f"{type(model).__module__}.{type(model).__name__}",
        "parameters": {name: repr(value)[:MAX_REPR] for name, value in parameters.items()},
        "classes": _plain(getattr(model, "classes_", None)),
        "trained_on": {name.rstrip("_"): _plain(getattr(model, name)) for name in TRAINED_ON if hasattr(model, name)},
    }


def _plain(value: Any) -> Any:
    """Numbers, texts and lists of them as JSON can hold them; anything else as text."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)[:MAX_REPR]
