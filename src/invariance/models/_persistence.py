"""Save and load a fitted model.

A model may hold, in any nesting: None, bool, int, float, str, bytes, slice; lists, tuples, sets; dicts with str or int
keys; numpy arrays (object arrays too), scalars, dtypes and random generators; scipy CSR, CSC and COO; the
scikit-learn classes of the written list; and estimators, NamedTuples and dataclasses (frozen or not) of the library.
"""

import os
import zipfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from invariance._version import __version__
from invariance.models._container import ModelError, check_unpacked_size, read_container, read_metadata, write_container
from invariance.models._integrity import check_contents
from invariance.models._trusted import refused_names, trusted_names

MAX_REPR = 500
TRAINED_ON = ("n_features_in_", "image_shape_", "n_images_", "n_samples_seen_", "n_samples_fit_")


def save(model: Any, path: str | os.PathLike, trusted: Collection[Any] = ()) -> Path:
    """Write a model to one file; it is first proved that `load` will take it, and nothing is written otherwise.

    `trusted` are classes or functions from outside the library that the model contains and that you vouch for; they
    have to be passed to `load` again, and must be importable there.
    """
    import skops.io

    path = Path(path)
    try:
        payload = skops.io.dumps(model, compression=zipfile.ZIP_DEFLATED, compresslevel=1)
    except Exception as error:  # whatever a foreign object raises when asked for its state
        raise ModelError(f"cannot save to '{path}': {_first_line(error)}") from error
    _unpack(payload, path, trusted, doing="save to")
    write_container(path, _describe_model(model), payload)
    return path


def load(path: str | os.PathLike, trusted: Collection[Any] = ()) -> Any:
    """The model in a file; refused, with the names, if it contains a type that is not on the written list.

    A file from a stranger cannot run code of its own. It can still be a bad model: a checksum is no signature.
    """
    metadata, payload = read_container(path)
    return _unpack(payload, path, trusted, doing="load", library=metadata.get("library"))


def describe(path: str | os.PathLike) -> dict[str, Any]:
    """What a model file holds, without loading the model.

    Keys: format, library (its version), method, type, parameters (as text), classes, trained_on (counts and shapes),
    sha256 of the model.
    """
    return read_metadata(path)


def _unpack(payload: bytes, path, trusted: Collection[Any], doing: str, library: str | None = None) -> Any:
    import skops.io

    check_unpacked_size(payload, path)
    try:
        refused = refused_names(payload, trusted)
        if refused:
            raise ModelError(
                f"cannot {doing} '{path}': it contains {', '.join(refused)}, which is not on the list of trusted types."
                " If you know it to be safe, name it in trusted=[...]; functions of yours are never stored."
            )
        model = skops.io.loads(payload, trusted=trusted_names(payload))
        check_contents(model)
    except ModelError:
        raise
    except Exception as error:  # a file may hold anything, so building from it may raise anything
        reason = _first_line(error)
        if library not in (None, __version__):
            reason += f"; saved by invariance {library}, this is {__version__}"
        raise ModelError(f"cannot {doing} '{path}': its contents do not make a model ({reason}).") from error
    return model


def _describe_model(model: Any) -> dict[str, Any]:
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


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
