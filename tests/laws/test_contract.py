"""The contract of scikit-learn, and that no public class is forgotten."""

import inspect

import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.utils.estimator_checks import (
    check_get_params_invariance,
    check_no_attributes_set_in_init,
    check_parameters_default_constructible,
    check_set_params,
    parametrize_with_checks,
)

import invariance
from tests.laws.catalogue import (
    ESTIMATOR_CLASSES,
    IMAGE_ESTIMATORS,
    NOT_MADE,
    ROOMS,
    ROW_ESTIMATORS,
    SPECIFICATIONS,
    make_all,
    name_of,
    public_names,
)

# Checks of scikit-learn that an estimator cannot pass, by its class, with the reason.
WEIGHTS_ARE_NOT_COPIES = "check_sample_weight_equivalence_on_dense_data"
ROWS_ARE_DRAWN = (
    "a row of weight two is not quite two rows: the basis and its spread are measured, and samples held out, by row, "
    "and the class shares of a leaf are smoothed by the mean weight of a row"
)
EXPECTED_FAILURES = {
    "InvariantFeatures": {WEIGHTS_ARE_NOT_COPIES: ROWS_ARE_DRAWN},
    "JungleClassifier": {WEIGHTS_ARE_NOT_COPIES: ROWS_ARE_DRAWN},
    "NeuralResponse": {WEIGHTS_ARE_NOT_COPIES: "templates are drawn: twice the chance is not two equal rows"},
    "TreeClassifier": {WEIGHTS_ARE_NOT_COPIES: ROWS_ARE_DRAWN},
}


def expected_failures(estimator):
    return EXPECTED_FAILURES.get(type(estimator).__name__, {})


@parametrize_with_checks(ROW_ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_every_public_class_can_be_made():
    assert NOT_MADE == {}
    made = {type(estimator).__name__ for estimator in IMAGE_ESTIMATORS + SPECIFICATIONS}
    assert made == set(ESTIMATOR_CLASSES)
    assert len(made) > 20
    assert set(EXPECTED_FAILURES) <= made


class NeedsArguments(BaseEstimator):
    def __init__(self, needed):
        self.needed = needed


def test_a_class_that_needs_arguments_is_not_passed_over(monkeypatch):
    """The law above can fail."""
    monkeypatch.setattr("tests.laws.catalogue.NOT_MADE", found := {})
    assert make_all({"NeedsArguments": NeedsArguments}, {}) == []
    assert "needed" in found["NeedsArguments"]
    assert len(make_all({"NeedsArguments": NeedsArguments}, {"NeedsArguments": [{"needed": 1}]})) == 1
    make_all({}, {"Removed": [{}]})
    assert "Removed" in found


def test_every_public_name_belongs_to_a_room():
    assert set(ROOMS) <= set(invariance.__all__)
    in_rooms = {name for room in ROOMS for name in public_names(room)}
    assert set(invariance.__all__) - set(ROOMS) - {"__version__"} <= in_rooms


@pytest.mark.parametrize("specification", SPECIFICATIONS, ids=name_of)
def test_what_does_not_fit_still_follows_the_contract_of_parameters(specification):
    """Descriptors and parts of methods have no `fit`; sets of transformations have laws of their own."""
    name = type(specification).__name__
    check_no_attributes_set_in_init(name, specification)
    check_get_params_invariance(name, specification)
    check_set_params(name, specification)
    if not any(p.default is p.empty for p in signature_of(specification)):
        check_parameters_default_constructible(name, specification)
    assert repr(clone(specification)) == repr(specification)


def signature_of(estimator):

    return inspect.signature(type(estimator)).parameters.values()
