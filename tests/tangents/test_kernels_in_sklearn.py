"""The kernels serve scikit-learn's own machines, with flat rows, in searches and copies, and as files."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from invariance.models import load, save
from invariance.tangents import JitteredDistance, TangentDistance, TangentSVC, TangentVectorKernel
from invariance.transformations import Rotations, Shifts
from tests.tangents.toys import draw_strokes

IMAGES, LABELS = draw_strokes(12)
TEST, TEST_LABELS = draw_strokes(20, seed=1)
ROWS, TEST_ROWS = IMAGES.reshape(24, -1), TEST.reshape(40, -1)
SHAPE = {"image_shape": (11, 11)}

KERNELS = {
    "tangent distance": TangentDistance(Shifts(1), **SHAPE),
    "product": TangentVectorKernel(eta=0.1, **SHAPE),
    "sum": TangentVectorKernel(Rotations(3, limit=10), form="sum", method="difference", **SHAPE),
    "distribution": TangentVectorKernel(Shifts(1), form="distribution", **SHAPE),
    "jittered": JitteredDistance(Rotations(3, limit=10), **SHAPE),
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())


@every_kernel
def test_it_serves_a_support_vector_machine_with_flat_rows(kernel):
    kernel = clone(kernel).fit(ROWS)
    machine = SVC(kernel=kernel, C=10.0, tol=1e-9).fit(ROWS, LABELS)
    precomputed = SVC(kernel="precomputed", C=10.0, tol=1e-9).fit(kernel(IMAGES), LABELS)
    expected = precomputed.decision_function(kernel(TEST, IMAGES))
    np.testing.assert_allclose(machine.decision_function(TEST_ROWS), expected, atol=1e-4)
    assert machine.score(TEST_ROWS, TEST_LABELS) > 0.8


def test_widths_are_found_by_search_with_scikit_learns_machine():
    kernel = TangentDistance(Shifts(1), sigma=1.0, **SHAPE)
    search = GridSearchCV(SVC(kernel=kernel, C=10.0), {"kernel__sigma": [1e-4, 2.0]}, cv=3).fit(ROWS, LABELS)
    assert search.best_params_ == {"kernel__sigma": 2.0}
    assert search.score(TEST_ROWS, TEST_LABELS) > 0.8
    assert kernel.sigma == 1.0


def test_widths_and_tangents_are_found_by_search_with_our_machine():
    machine = TangentSVC(TangentVectorKernel(Shifts(1)))
    grid = {"kernel__sigma": ["auto", 1e-4], "kernel__form": ["product", "distribution"]}
    search = GridSearchCV(machine, grid, cv=3, error_score="raise").fit(IMAGES, LABELS)
    assert search.best_params_["kernel__sigma"] == "auto"
    assert search.score(TEST, TEST_LABELS) > 0.8


@every_kernel
def test_a_copy_of_a_machine_with_a_fitted_kernel_can_be_fitted(kernel):
    machine = SVC(kernel=clone(kernel).fit(ROWS))
    expected = machine.fit(ROWS, LABELS).decision_function(TEST_ROWS)
    np.testing.assert_array_equal(clone(machine).fit(ROWS, LABELS).decision_function(TEST_ROWS), expected)


@every_kernel
def test_changing_a_copy_leaves_the_kernel_alone(kernel):
    """Whatever a copy keeps of what was found, it shares no parameter that a search would set."""
    kernel = clone(kernel).fit(ROWS)
    before = kernel(ROWS)
    copy = clone(kernel).set_params(sigma=3.0)
    copy.transformations = Shifts(2)
    if hasattr(kernel.transformations, "limit"):
        clone(kernel).set_params(transformations__limit=80)
    copy.fit(TEST_ROWS)
    assert kernel.sigma == "auto"
    np.testing.assert_array_equal(kernel(ROWS), before)


@every_kernel
def test_a_saved_kernel_says_the_same(kernel, tmp_path):
    kernel = clone(kernel).fit(ROWS)
    loaded = load(save(kernel, tmp_path / "kernel.zip"))
    np.testing.assert_array_equal(loaded(ROWS, TEST_ROWS), kernel(ROWS, TEST_ROWS))


@pytest.mark.parametrize("sides", ["one", "two", "mean"])
def test_distances_serve_nearest_neighbours(sides):
    distance = TangentDistance(Shifts(1), sides=sides)
    neighbours = KNeighborsClassifier(1, metric="precomputed").fit(distance.distances(IMAGES), LABELS)
    plain = KNeighborsClassifier(1).fit(ROWS, LABELS)
    near = distance.distances(TEST, IMAGES)
    np.testing.assert_array_equal(neighbours.predict(near), LABELS[near.argmin(axis=1)])
    assert neighbours.score(near, TEST_LABELS) >= plain.score(TEST_ROWS, TEST_LABELS)
