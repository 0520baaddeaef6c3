"""Base kernels, their weighted sum as one kernel, and the library's own methods as base kernels."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.model_selection import cross_val_predict
from sklearn.svm import SVC

from invariance.datasets import make_glyphs
from invariance.tangents import TangentDistance
from invariance.tradeoff import FeatureKernel, ImageKernel, TradeoffKernel, default_kernels
from invariance.tradeoff.base import as_base_kernel, inverse_mean, name_of
from invariance.transformations import Identity, Reflections, Rotations, Shifts
from tests.tangents.toys import draw_smooth, draw_strokes


class RowSums(TransformerMixin, BaseEstimator):
    """The sums of the rows of images less the smallest in training: something is learned, nothing is negative."""

    def fit(self, X, y=None):
        self.lowest_ = np.asarray(X).sum(axis=2).min()
        return self

    def transform(self, X):
        return np.maximum(np.asarray(X).sum(axis=2) - self.lowest_, 0)


class Products(BaseEstimator):
    """A kernel whose diagonal is not 1, and that learns nothing."""

    def __call__(self, X, Y=None):
        Y = X if Y is None else Y
        return X.reshape(len(X), -1) @ Y.reshape(len(Y), -1).T

    def diag(self, X):
        return np.sum(X.reshape(len(X), -1) ** 2, axis=1)


IMAGES, OTHERS = draw_smooth(9, (8, 8)), draw_smooth(4, (8, 8), seed=1)


@pytest.mark.parametrize("distance", ["chi2", "euclidean"])
def test_a_feature_kernel_is_the_exponential_of_a_distance_over_its_mean(distance):
    kernel = FeatureKernel(RowSums(), distance)
    K, rows = kernel.fit_gram(IMAGES), kernel.rows(OTHERS)
    transformer = RowSums().fit(IMAGES)
    mine, other = transformer.transform(IMAGES), transformer.transform(OTHERS)

    def between(x, y):
        weights = 1 if distance == "euclidean" else np.divide(0.5, x + y, where=x + y > 0, out=np.zeros_like(x))
        return np.sum((x - y) ** 2 * weights)

    D = np.array([[between(x, y) for y in mine] for x in mine])
    mean = D[~np.eye(9, dtype=bool)].mean()
    np.testing.assert_allclose(K, np.exp(-D / mean), atol=1e-9)
    assert kernel.gamma_ == pytest.approx(1 / mean)
    np.testing.assert_allclose(rows, np.exp(-np.array([[between(x, y) for y in mine] for x in other]) / mean))


class Nothing(TransformerMixin, BaseEstimator):
    """Finds no feature, as jungles do that cannot tell the classes apart."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return np.empty((len(X), 0))


@pytest.mark.parametrize("distance", ["chi2", "euclidean"])
def test_images_without_features_are_all_the_same(distance):
    kernel = FeatureKernel(Nothing(), distance)
    np.testing.assert_array_equal(kernel.fit_gram(IMAGES), np.ones((9, 9)))
    np.testing.assert_array_equal(kernel.rows(OTHERS), np.ones((4, 9)))


def test_a_feature_kernel_resizes_images_and_leaves_its_transformer_alone():
    transformer = RowSums()
    kernel = FeatureKernel(transformer, "euclidean", side=5)
    kernel.fit_gram([np.ones((6, 9)), np.zeros((12, 7))])
    assert kernel.features_.shape == (2, 5)
    assert kernel.rows([np.ones((8, 8))]).shape == (1, 2)
    assert not hasattr(transformer, "lowest_")


def test_a_distance_that_does_not_exist_is_named():
    with pytest.raises(ValueError, match="distance must be one of 'chi2', 'euclidean'; got 'cosine'"):
        FeatureKernel(RowSums(), "cosine").fit_gram(IMAGES)


def test_the_same_features_everywhere_are_no_division_by_zero():
    K = FeatureKernel(RowSums(), "euclidean").fit_gram(np.ones((3, 4, 4)))
    assert np.array_equal(K, np.ones((3, 3)))
    assert inverse_mean(np.zeros((3, 3))) == 1
    assert inverse_mean(np.zeros((1, 1))) == 1
    assert inverse_mean(np.array([[0.0, 4.0], [4.0, 0.0]])) == 0.25


def test_an_image_kernel_has_a_diagonal_of_ones():
    part = Products()
    kernel = ImageKernel(part)
    K = kernel.fit_gram(IMAGES)
    np.testing.assert_allclose(np.diag(K), 1)
    np.testing.assert_allclose(kernel.rows(IMAGES), K, atol=1e-6)
    lengths = np.sqrt(part.diag(OTHERS)), np.sqrt(part.diag(IMAGES))
    np.testing.assert_allclose(kernel.rows(OTHERS), part(OTHERS, IMAGES) / np.outer(*lengths), atol=1e-6)


def test_distances_are_brought_to_one_scale_and_made_definite():
    kernel, part = ImageKernel(TangentDistance()), TangentDistance()
    K, squared = kernel.fit_gram(IMAGES), part.squared(IMAGES)
    assert kernel.gamma_ == pytest.approx(inverse_mean(squared))
    assert np.linalg.eigvalsh(K)[0] > -1e-10
    plain = np.exp(-kernel.gamma_ * squared)
    np.testing.assert_allclose(K, plain, atol=2 * max(-np.linalg.eigvalsh(plain)[0], 1e-9))
    np.testing.assert_allclose(kernel.rows(IMAGES), K, atol=1e-6)


def test_black_images_have_no_length_and_give_finite_numbers():
    kernel = ImageKernel(Products())
    assert np.isfinite(kernel.fit_gram(np.stack([np.zeros((4, 4)), np.ones((4, 4))]))).all()
    assert np.isfinite(kernel.rows(np.zeros((1, 4, 4)))).all()


def test_anything_that_compares_images_becomes_a_base_kernel():
    ready = FeatureKernel(RowSums(), name="rows")
    assert isinstance(as_base_kernel(ready), FeatureKernel)
    assert as_base_kernel(ready) is not ready
    assert isinstance(as_base_kernel(Products()), ImageKernel)
    assert isinstance(as_base_kernel(RowSums()), FeatureKernel)
    with pytest.raises(ValueError, match="kernels must hold base kernels, kernels with diag, or transformers; got 3"):
        as_base_kernel(3)
    assert name_of(ready, 4) == "rows"
    assert name_of(as_base_kernel(Products()), 0) == "Products()"
    assert name_of(as_base_kernel(RowSums()), 1) == "RowSums()"
    long = TangentDistance(Rotations(8) * Shifts(1) | Rotations(12) * Reflections(), stiffness=0.25, blur=1.25)
    assert name_of(as_base_kernel(long), 1) == "TangentDistance 2"


@pytest.fixture
def kernel():
    return TradeoffKernel([TangentDistance(), TangentDistance(Identity()), Products()], [0.5, 0.0, 2.0]).fit(IMAGES)


def test_the_weighted_sum_is_a_kernel(kernel):
    K = kernel(IMAGES)
    np.testing.assert_allclose(K, K.T, atol=1e-12)
    np.testing.assert_allclose(np.diag(K), kernel.diag(IMAGES))
    np.testing.assert_allclose(K, kernel(IMAGES, IMAGES), atol=1e-5)
    parts = [part(IMAGES, OTHERS) for part in kernel.kernels_]
    assert not hasattr(kernel.kernels[0], "sigma_")  # what was given is left alone
    np.testing.assert_allclose(kernel(IMAGES, OTHERS), 0.5 * parts[0] + 2 * parts[2])
    np.testing.assert_allclose(kernel(IMAGES, OTHERS), kernel(OTHERS, IMAGES).T, atol=1e-5)
    assert K.dtype == np.float64
    assert np.linalg.eigvalsh(K).min() > -1e-9


def test_equal_weights_are_the_mean(kernel):
    mean = TradeoffKernel(kernel.kernels_)(IMAGES)
    np.testing.assert_allclose(mean, np.mean([part(IMAGES) for part in kernel.kernels_], axis=0))


def test_the_weighted_sum_goes_into_any_kernel_method_and_its_clones():
    images, labels = draw_strokes(10)
    kernel = TradeoffKernel([TangentDistance(), TangentDistance(Identity())], [0.7, 0.3]).fit(images)
    K = kernel(images)
    precomputed = cross_val_predict(SVC(kernel="precomputed"), K, labels, cv=4)

    def of_rows(X, Y):
        return clone(kernel)(X.reshape(-1, 11, 11), Y.reshape(-1, 11, 11))

    predicted = cross_val_predict(SVC(kernel=of_rows), images.reshape(20, -1), labels, cv=4)
    assert np.array_equal(predicted, precomputed)
    assert np.mean(predicted == labels) > 0.8


@pytest.mark.parametrize("weights", [[1.0], [1, -1, 1], [1, np.nan, 1]])
def test_wrong_weights_of_a_sum_are_named(kernel, weights):
    with pytest.raises(ValueError, match=r"weights must be 3 numbers that are not negative; got \[1"):
        TradeoffKernel(kernel.kernels, weights)(IMAGES)


@pytest.fixture(scope="module")
def glyphs():
    return make_glyphs(2, 16, random_state=0)


@pytest.mark.parametrize("name", [kernel.name for kernel in default_kernels()])
def test_every_room_is_a_base_kernel(glyphs, name):
    (kernel,) = (kernel for kernel in default_kernels(random_state=0) if kernel.name == name)
    K = kernel.fit_gram(glyphs.images, glyphs.labels)
    assert K.shape == (12, 12)
    np.testing.assert_allclose(K, K.T, atol=1e-12)
    np.testing.assert_allclose(np.diag(K), 1, atol=0.05)  # a matrix made definite has a little more there
    assert -0.05 <= K.min() < 0.9
    # Versions are made of new images alone, but of both images of a pair in training.
    np.testing.assert_allclose(kernel.rows(glyphs.images), K, atol=0.01 if name == "jittered tangents" else 1e-5)
    assert kernel.rows(glyphs.images[:3]).shape == (3, 12)


def test_default_kernels_have_names():
    names = [kernel.name for kernel in default_kernels()]
    assert len(set(names)) == len(names)
    assert {"pixels", "tangents", "hierarchy", "codebook", "jungles, rotation", "jungles, no Φ"} <= set(names)


def test_default_kernels_stand_on_the_given_transformations():
    phi = Rotations(4) * Reflections()
    given = {kernel.name: kernel for kernel in default_kernels(phi, 3, 2)}
    assert "pixels" not in given
    assert given["pixels over Φ"].kernel.transformations is phi
    assert [name for name in given if name.startswith("jungles")] == ["jungles"]
    assert given["jungles"].transformer.transformations is phi
    assert given["jungles"].transformer.random_state == 3
    assert given["hierarchy"].transformer.n_jobs == 2


def test_pixels_over_a_group_ignore_its_members():
    images = draw_smooth(6, (32, 32))
    for make in (lambda: default_kernels(Rotations(4)), default_kernels):
        kernel = make()[0]
        kernel.fit_gram(images)
        turned = kernel.rows(np.rot90(images, axes=(1, 2)))
        same = np.allclose(turned, kernel.rows(images), atol=1e-5)
        assert same == (kernel.name == "pixels over Φ")


def test_the_width_of_a_distance_kernel_is_kept_if_it_is_a_number():
    wide = TangentDistance(Identity(), sigma=5.0)
    kernel = ImageKernel(wide)
    K = kernel.fit_gram(IMAGES)
    assert kernel.gamma_ is None
    np.testing.assert_allclose(K, wide(IMAGES), atol=1e-9)
    np.testing.assert_allclose(kernel.rows(OTHERS), wide(OTHERS, IMAGES), atol=1e-9)
    scaled = ImageKernel(TangentDistance(Identity()))
    assert not np.allclose(scaled.fit_gram(IMAGES), K, atol=1e-3)
    assert scaled.gamma_ == pytest.approx(inverse_mean(wide.squared(IMAGES)))
    with pytest.raises(ValueError, match="sigma"):
        ImageKernel(TangentDistance(sigma="narrow")).fit_gram(IMAGES)
