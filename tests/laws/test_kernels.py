"""Laws of every public kernel: `k(X, Y=None)` and `diag`."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

from tests.laws.catalogue import IMAGE_ESTIMATORS, SPECIFICATIONS, is_kernel, name_of

KERNELS = [kernel for kernel in IMAGE_ESTIMATORS + SPECIFICATIONS if is_kernel(type(kernel))]
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=name_of)

# Kernels are claimed to be positive semi-definite, except these.
NOT_DEFINITE = {
    "JitteredDistance": "a smallest distance over Φ need not be that of points in a Hilbert space",
    "TangentDistance": "a distance between tangent planes need not be that of points in a Hilbert space",
    "TangentVectorKernel": "only its form 'distribution' is an inner product, of densities",
}


def is_claimed_definite(kernel):
    """Whether a kernel is claimed to be positive semi-definite with its parameters."""
    if getattr(kernel, "form", None) == "distribution":
        return True
    return type(kernel).__name__ not in NOT_DEFINITE and all(map(is_claimed_definite, getattr(kernel, "kernels", [])))


@pytest.fixture
def fitted(kernel, tasks):
    """The kernel, fitted if it learns, and two sets of images; bags of words are rows."""
    images, labels = tasks["images"]
    if type(kernel).__name__ == "BagKernel":
        images = images.reshape(len(images), -1).clip(0)
    kernel = clone(kernel)
    return kernel.fit(images, labels) if hasattr(kernel, "fit") else kernel, images[:12], images[12:20]


def assert_is_kernel(kernel, X, Y):
    """Symmetric, the same for `k(X)` and `k(X, X)`, the same for `k(X, Y)` and `k(Y, X)`, and true to `diag`."""
    K = kernel(X)
    assert K.shape == (len(X), len(X))
    assert K.dtype == np.float64
    assert np.isfinite(K).all()
    np.testing.assert_allclose(K, K.T, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(kernel(X, X), K, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(kernel(X, Y), kernel(Y, X).T, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(kernel.diag(X), np.diag(K), rtol=1e-6, atol=1e-7)
    assert kernel(X, Y).shape == (len(X), len(Y))


def smallest_eigenvalue(kernel, X):
    """The smallest eigenvalue of the Gram matrix over its largest."""
    values = np.linalg.eigvalsh(kernel(X))
    return values[0] / values[-1]


@every_kernel
def test_a_kernel_is_symmetric_and_true_to_its_diagonal(kernel, fitted):
    assert_is_kernel(*fitted)


@pytest.mark.parametrize("kernel", list(filter(is_claimed_definite, KERNELS)), ids=name_of)
def test_a_kernel_is_positive_semi_definite_where_that_is_claimed(kernel, fitted):
    fitted_kernel, X, Y = fitted
    assert smallest_eigenvalue(fitted_kernel, np.concatenate([X, Y])) > -1e-10


def test_exceptions_name_public_kernels():
    assert {type(kernel).__name__ for kernel in KERNELS} >= NOT_DEFINITE.keys()
    assert len({type(kernel) for kernel in filter(is_claimed_definite, KERNELS)}) >= 4


class Wrong(BaseEstimator):
    """Breaks one of the laws at a time."""

    def __init__(self, fault=None):
        self.fault = fault

    def __call__(self, X, Y=None):
        X, Y = X.reshape(len(X), -1), X.reshape(len(X), -1) if Y is None else Y.reshape(len(Y), -1)
        K = X.astype(float) @ Y.T.astype(float)
        if self.fault == "not symmetric":
            K += np.arange(K.shape[1])
        if self.fault == "another matrix for k(X, X)" and X is not Y:
            K *= 2
        return -K if self.fault == "negative" else K

    def diag(self, X):
        return np.einsum("nd,nd->n", *[X.reshape(len(X), -1).astype(float)] * 2) * (
            1 + (self.fault == "wrong diagonal")
        )


@pytest.mark.parametrize("fault", ["not symmetric", "another matrix for k(X, X)", "wrong diagonal"])
def test_the_law_sees_a_wrong_kernel(fault, tasks):
    images = tasks["images"][0]
    assert_is_kernel(Wrong(), images[:6], images[6:9])
    with pytest.raises(AssertionError):
        assert_is_kernel(Wrong(fault), images[:6], images[6:9])


def test_the_law_sees_an_indefinite_kernel(tasks):
    images = tasks["images"][0][:8]
    assert smallest_eigenvalue(Wrong(), images) > -1e-10
    K = Wrong("negative")(images)
    assert np.linalg.eigvalsh(K)[0] < -1e-3
