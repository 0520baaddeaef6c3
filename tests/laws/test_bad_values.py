"""Laws of every public estimator that fits: values that are not finite, or no transformations, are refused by name."""

import numpy as np
import pytest
from sklearn.base import clone

from invariance.transformations import Shifts
from tests.laws.catalogue import IMAGE_ESTIMATORS, is_kernel, name_of
from tests.laws.test_models import answer

FIT_LOOKS_AT_NOTHING = {"GradientGrid", "GradientPyramid", "OnnxEncoder"}
every_estimator = pytest.mark.parametrize("estimator", IMAGE_ESTIMATORS, ids=name_of)
every_learner = pytest.mark.parametrize(
    "estimator", [e for e in IMAGE_ESTIMATORS if type(e).__name__ not in FIT_LOOKS_AT_NOTHING], ids=name_of
)


def spoiled(X, value):
    """The samples with one value of the last one replaced: as an array, if they were one, and as a list."""
    last = np.array(X[-1], np.float32)
    last.flat[last.size // 2] = value
    samples = [*(np.asarray(sample, np.float32) for sample in X[:-1]), last]
    return [np.stack(samples), samples] if isinstance(X, np.ndarray) else [samples]


@every_learner
@pytest.mark.parametrize("value", [np.nan, np.inf], ids=["NaN", "infinity"])
def test_a_value_that_is_not_finite_is_refused(estimator, value, task):
    for X in spoiled(task[0], value):
        with pytest.raises(ValueError, match=r"(?i)nan|inf"):
            clone(estimator).fit(X, *task[1:])


@every_estimator
@pytest.mark.parametrize("value", [np.nan, np.inf], ids=["NaN", "infinity"])
def test_a_value_that_is_not_finite_is_refused_after_fitting_too(estimator, value, task):
    model = clone(estimator).fit(*task)
    for X in spoiled(task[0], value):
        with pytest.raises(ValueError, match=r"(?i)nan|inf"):
            answer(model, X)


@pytest.mark.parametrize("phi", ["rotations:4", [Shifts(1)], Shifts], ids=["text", "list", "class"])
@pytest.mark.parametrize(
    "estimator", [e for e in IMAGE_ESTIMATORS if "transformations" in e._get_param_names()], ids=name_of
)
def test_what_is_no_set_of_transformations_is_named(estimator, phi, task):
    estimator = clone(estimator).set_params(transformations=phi)
    with pytest.raises(ValueError, match="transformations must be a set such as"):
        use(estimator.fit(*task), task)


def use(fitted, task):
    """Compute kernels, whose `fit` may look at nothing."""
    return fitted(task[0]) if is_kernel(type(fitted)) else fitted
