"""The derived kernel is a Mercer kernel of images, usable wherever scikit-learn takes one."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.svm import SVC

from invariance.hierarchies import DerivedKernel, NeuralResponse
from invariance.models import load, save
from tests.hierarchies.toys import draw_blocks, draw_signed, two_layers

# Signs set inner products apart, grey levels histograms.
IMAGES = draw_signed((12, 9, 9)) + 3 * draw_blocks((12, 9, 9))
OTHERS = draw_signed((5, 9, 9), seed=1) + 3 * draw_blocks((5, 9, 9), seed=1)

RESPONSES = {
    "inner": NeuralResponse(two_layers(), random_state=0),
    "histogram": NeuralResponse(two_layers(embedding="pca", n_components=3), kernel="histogram", random_state=0),
    "gaussian": NeuralResponse(two_layers(embedding="kpca"), kernel="gaussian", pooling="mean", random_state=0),
}


@pytest.fixture(params=RESPONSES.values(), ids=RESPONSES.keys(), scope="module")
def kernel(request):
    return DerivedKernel(request.param).fit(IMAGES)


def draw_bars(n_each, seed=0):
    """Flat rows of images with a bar across or along, anywhere, and which it is."""
    rng = np.random.default_rng(seed)
    images, labels = 0.1 * rng.random((2 * n_each, 10, 10)), np.arange(2 * n_each) % 2
    for image, label in zip(images, labels, strict=True):
        place, start = rng.integers(10), rng.integers(4)
        bar = (place, slice(start, start + 6))
        image[bar if label else bar[::-1]] = 1
    return images.reshape(2 * n_each, -1), labels


def test_its_gram_matrix_is_symmetric_and_positive_semi_definite(kernel):
    K = kernel(IMAGES)
    assert K.dtype == np.float64
    np.testing.assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K).min() > -1e-12
    assert np.ptp(K) > 1e-8


def test_it_of_one_set_is_it_of_the_set_and_itself(kernel):
    np.testing.assert_allclose(kernel(IMAGES), kernel(IMAGES, IMAGES), atol=1e-15)
    np.testing.assert_allclose(kernel(IMAGES, OTHERS), kernel(OTHERS, IMAGES).T, atol=1e-15)
    both = np.concatenate([IMAGES, OTHERS])
    np.testing.assert_allclose(kernel(IMAGES, OTHERS), kernel(both)[:12, 12:], atol=1e-15)


def test_it_is_the_product_of_the_responses(kernel):
    rows, others = kernel.response_.transform(IMAGES), kernel.response_.transform(OTHERS)
    np.testing.assert_allclose(kernel(IMAGES, OTHERS), np.einsum("iq,jq->ij", rows, others), atol=1e-15)


def test_its_diagonal_is_one_and_zero_for_a_blank_image(kernel):
    images = IMAGES.copy()
    images[4] = 0
    np.testing.assert_allclose(kernel.diag(images), np.diag(kernel(images)), atol=1e-15)
    expected = np.ones(12)
    expected[4] = kernel.response.kernel != "inner"  # the others see black pixels in it
    np.testing.assert_allclose(kernel.diag(images), expected, atol=1e-12)


def test_its_distances_are_those_it_induces(kernel):
    distances = kernel.distances(IMAGES, OTHERS)
    induced = kernel.diag(IMAGES)[:, None] + kernel.diag(OTHERS) - 2 * kernel(IMAGES, OTHERS)
    np.testing.assert_allclose(distances**2, induced, atol=1e-12)
    np.testing.assert_array_equal(kernel.distances(IMAGES), kernel.distances(IMAGES, IMAGES))
    np.testing.assert_array_equal(np.diag(kernel.distances(IMAGES)), 0)
    assert (kernel.distances(IMAGES) + np.eye(12)).min() > 1e-6


def test_distances_tell_apart_what_the_kernel_hardly_does():
    """1 - k of images that are nearly the same has lost its digits."""
    images = 0.5 + 0.02 * draw_signed((4, 9, 9))
    kernel = DerivedKernel(RESPONSES["inner"]).fit(images)
    rows = kernel.response_.transform(images)
    expected = np.linalg.norm(rows[1:] - rows[0], axis=1)
    np.testing.assert_allclose(kernel.distances(images)[0, 1:], expected, rtol=1e-12)
    from_kernel = np.sqrt(np.maximum(2 - 2 * kernel(images)[0, 1:], 0))
    assert np.abs(from_kernel / expected - 1).max() > 1e-9


@pytest.fixture(scope="module")
def bars():
    return draw_bars(25), draw_bars(20, seed=1)


def test_it_serves_a_support_vector_machine_with_flat_rows(bars):
    (X, y), (X_test, y_test) = bars
    response = NeuralResponse(two_layers(n_templates=(40, 60)), image_shape=(10, 10), random_state=0)
    kernel = DerivedKernel(response).fit(X)
    machine = SVC(kernel=kernel, C=1000).fit(X, y)
    assert machine.score(X_test, y_test) > 0.8
    precomputed = SVC(kernel="precomputed", C=1000).fit(kernel(X), y)
    np.testing.assert_array_equal(machine.predict(X_test), precomputed.predict(kernel(X_test, X)))


def test_a_copy_of_a_machine_with_a_fitted_kernel_can_be_fitted(bars):
    (X, y), _ = bars
    response = NeuralResponse(two_layers(), image_shape=(10, 10), random_state=0)
    machine = SVC(kernel=DerivedKernel(response).fit(X))
    expected = machine.fit(X, y).predict(X)
    np.testing.assert_array_equal(clone(machine).fit(X, y).predict(X), expected)


def test_a_fitted_response_is_used_as_it_is_until_the_kernel_is_fitted():
    response = clone(RESPONSES["inner"]).fit(IMAGES)
    kernel = DerivedKernel(response)
    np.testing.assert_array_equal(kernel(OTHERS), DerivedKernel(RESPONSES["inner"]).fit(IMAGES)(OTHERS))
    templates = response.templates_
    kernel.fit(OTHERS)
    assert response.templates_ is templates
    assert not np.array_equal(kernel.response_.templates_[0], templates[0])


def test_one_without_templates_says_so():
    for kernel in (DerivedKernel(), DerivedKernel(NeuralResponse())):
        for ask in (kernel, kernel.diag, kernel.distances):
            with pytest.raises(NotFittedError):
                ask(IMAGES)


def test_the_response_by_default_is_the_default_response():
    kernel = DerivedKernel().fit(IMAGES)
    assert repr(kernel.response_) == repr(NeuralResponse())
    assert kernel(IMAGES[:3]).shape == (3, 3)
    assert kernel.response is None


def test_a_saved_kernel_says_the_same(kernel, tmp_path):
    loaded = load(save(kernel, tmp_path / "kernel.zip"))
    np.testing.assert_array_equal(loaded(IMAGES, OTHERS), kernel(IMAGES, OTHERS))
