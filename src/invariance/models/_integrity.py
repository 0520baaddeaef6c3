"""Checks of the contents of a loaded model: compiled code follows stored indices without checking them."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator


def check_contents(model: Any) -> None:
    """Raise ValueError if a part of the model lacks a parameter, or an index in it is outside its array.

    A class of the library that stores indices has a method `check_loaded()` that raises ValueError; it is called here
    for every instance in the model. Sparse matrices and scikit-learn's boosted trees are checked here, because they do
    not check themselves.
    """
    for part in _parts(model):
        kind = type(part)
        if isinstance(part, BaseEstimator):
            _check_parameters(part)
        if hasattr(kind, "check_loaded"):
            part.check_loaded()
        elif kind.__module__.startswith("scipy.sparse") and hasattr(part, "check_format"):
            part.check_format(full_check=True)
        elif kind.__name__ == "HistGradientBoostingClassifier":
            from invariance.segmentation.sklearn_boosting import read_nodes

            for nodes in read_nodes(part):
                _check_tree(nodes, part.n_features_in_)


def _check_parameters(estimator: BaseEstimator) -> None:
    """Every parameter of an estimator must be there: another version may have had others."""
    missing = sorted(set(estimator._get_param_names()) - set(vars(estimator)))
    if missing:
        raise ValueError(
            f"a {type(estimator).__name__} lacks {', '.join(missing)}: another version of its library saved it; "
            f"train it again"
        )


def _check_tree(nodes: np.ndarray, n_features: int) -> None:
    """Children come after their parent and inside the array, so that walking the tree stays inside and ends."""
    here = np.flatnonzero(nodes["is_leaf"] == 0)
    inner = nodes[here]
    children = np.stack([inner["left"], inner["right"]])
    if len(nodes) == 0 or not np.all((children > here) & (children < len(nodes))):
        raise ValueError("a tree has a child outside its nodes")
    if len(np.unique(children)) != children.size:
        raise ValueError("a tree has a node with two parents")
    if not np.all((inner["feature_idx"] >= 0) & (inner["feature_idx"] < n_features)):
        raise ValueError("a tree splits by a feature that does not exist")
    if inner["is_categorical"].any():
        raise ValueError("a tree splits by categories, which models of images do not")


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
