"""Laws of every public estimator that fits: values that are not finite are refused by name."""

import numpy as np
import pytest
from sklearn.base import clone

from tests.laws.catalogue import IMAGE_ESTIMATORS, name_of
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
