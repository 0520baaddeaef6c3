"""The law of loaded models: whatever can be in a model file is checked when it is read."""

import inspect
from functools import partial

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from invariance._core import loaded
from invariance.models import ModelError, save
from tests.laws.catalogue import ALL_SETS, ESTIMATOR_CLASSES, SET_CLASSES, SPECIFICATIONS, name_of

# Public classes that are never in a model file, and why.
NEVER_SAVED: dict[str, str] = {}


@pytest.mark.parametrize("name", sorted({**ESTIMATOR_CLASSES, **SET_CLASSES}))
def test_every_public_estimator_checks_what_was_read_from_a_file(name):
    kind = {**ESTIMATOR_CLASSES, **SET_CLASSES}[name]
    if name in NEVER_SAVED:
        assert not hasattr(kind, "check_loaded"), NEVER_SAVED[name]
    else:
        assert inspect.isfunction(kind.check_loaded)


@pytest.mark.parametrize("thing", [*ALL_SETS, *SPECIFICATIONS], ids=name_of)
def test_what_was_made_by_its_own_class_passes_its_check(thing):
    thing.check_loaded()


@pytest.mark.parametrize("thing", [phi for phi in ALL_SETS if phi.get_params(deep=False)], ids=name_of)
def test_a_set_with_a_forged_parameter_is_refused(thing):
    """Each parameter in turn is something that no set can be made of."""
    for name in thing.get_params(deep=False):
        forged = type(thing)(**{**thing.get_params(deep=False), name: object})
        with pytest.raises(ValueError, match=f"{type(thing).__name__}|{name}"):
            forged.check_loaded()


class Unchecked(BaseEstimator):
    """An estimator of the library that nobody checks."""


def test_a_class_without_a_check_cannot_be_saved(tmp_path, monkeypatch):
    import invariance.jungles as room

    monkeypatch.setattr(Unchecked, "__module__", room.__name__)
    monkeypatch.setattr(room, "Unchecked", Unchecked, raising=False)
    with pytest.raises(ModelError, match="Unchecked"):
        save(Unchecked(), tmp_path / "model.inv")
    monkeypatch.setattr(Unchecked, "check_loaded", lambda self: None, raising=False)
    save(Unchecked(), tmp_path / "model.inv")


class Owner:
    """Something with one attribute."""

    def __init__(self, value):
        self.value = value


GOOD_AND_BAD = {
    "whole": (loaded.whole(1, 9), [1, 9, np.int64(3)], [0, 10, 2.0, True, "3", None, float("nan")]),
    "number": (loaded.number(0, 1), [0, 0.5, np.float32(1)], [-1, 2, float("nan"), float("inf"), True, "0", None]),
    "one_of": (loaded.one_of("a", 1), ["a", 1], ["b", True, 1.0, None, np.zeros(2)]),
    "flag": (loaded.FLAG, [True, np.bool_(False)], [0, 1, None, "True"]),
    "jobs": (loaded.JOBS, [None, 1, -1], [0, 10**9, -(10**9), 1.5, "x"]),
    "list": (loaded.list_of(loaded.whole(), 2), [[1, 2], (1, 2)], [[1], [1, "x"], "12", {1: 2}, 7]),
    "shape": (
        loaded.image_shape(12),
        [(3, 4), [2, 2, 3]],
        [(3, 5), (12,), (1, 2, 6), (-3, -4), (3.0, 4), (0, 12), None],
    ),
    "labels": (
        loaded.labels(2),
        [np.array(["a", "b"]), np.array([0, 1]), np.array([False, True])],
        [np.array([1, 0]), np.array([1, 1]), np.array([0]), np.array([0.0, np.nan]), ["a", "b"], np.zeros((1, 2))],
    ),
    "array": (
        loaded.array((2, None), np.float32, 0, 1, contiguous=True),
        [np.zeros((2, 3), np.float32), np.zeros((2, 0), np.float32)],
        [
            np.zeros((2, 3)),
            np.zeros(2, np.float32),
            np.zeros((3, 3), np.float32),
            np.full((2, 1), np.nan, np.float32),
            np.full((2, 1), 2, np.float32),
            np.zeros((3, 2), np.float32).T,
            np.zeros((2, 3), ">f4"),
            np.ma.zeros((2, 3), np.float32),
            [[0.0], [0.0]],
        ],
    ),
}


@pytest.mark.parametrize(("kind", "good", "bad"), GOOD_AND_BAD.values(), ids=GOOD_AND_BAD)
def test_kinds_of_values(kind, good, bad):
    for value in good:
        loaded.check_values(Owner(value), value=kind)
    for value in bad:
        with pytest.raises(ValueError, match="value of a Owner must be"):
            loaded.check_values(Owner(value), value=kind)


def test_some_fitted_attributes_without_the_others_are_refused():
    is_fitted = partial(loaded.is_fitted, Owner(1))
    assert is_fitted("value")
    assert not is_fitted("absent", "gone")
    with pytest.raises(ValueError, match="lacks absent"):
        is_fitted("value", "absent")
