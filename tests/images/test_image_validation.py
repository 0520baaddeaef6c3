"""validate_images and encode_labels carry an estimator through scikit-learn's own checks."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

from invariance.images import encode_labels, validate_images
from invariance.tangents import VirtualSVC
from invariance.transformations import Brightness, Elastic, Shifts

RNG = np.random.default_rng(0)


class NearestMean(ClassifierMixin, BaseEstimator):
    """The smallest honest classifier of images."""

    def __init__(self, image_shape=None):
        self.image_shape = image_shape

    def fit(self, X, y):
        images = validate_images(self, X, self.image_shape, reset=True)
        self.classes_, codes = encode_labels(y, len(images))
        self.means_ = np.stack([images[codes == code].mean(axis=0).ravel() for code in range(len(self.classes_))])
        return self

    def predict(self, X):
        check_is_fitted(self)
        images = validate_images(self, X, self.image_shape, reset=False)
        distances = ((images.reshape(len(images), 1, -1) - self.means_) ** 2).sum(axis=2)
        return self.classes_[distances.argmin(axis=1)]


@parametrize_with_checks([NearestMean()])
def test_sklearn_contract(estimator, check):
    check(estimator)


def validated(X, image_shape=None):
    return validate_images(NearestMean(), X, image_shape, reset=True)


def fitted_on(X, image_shape=None):
    return NearestMean(image_shape).fit(X, np.arange(len(X)) % 2)


@pytest.mark.parametrize(
    ("shape", "image_shape", "expected"),
    [
        ((5, 4, 6), None, (5, 4, 6)),
        ((5, 4, 6, 3), None, (5, 4, 6, 3)),
        ((5, 4, 6, 1), None, (5, 4, 6)),
        ((5, 4, 6), (4, 6, 1), (5, 4, 6)),
        ((5, 24), None, (5, 1, 24)),
        ((5, 24), (4, 6), (5, 4, 6)),
        ((5, 24), [4, 2, 3], (5, 4, 2, 3)),
        ((5, 24), (4, 6, 1), (5, 4, 6)),
    ],
)
def test_shapes(shape, image_shape, expected):
    X = RNG.random(shape)
    images = validated(X, image_shape)
    assert images.shape == expected
    assert images.dtype == np.float32
    assert images.flags.c_contiguous
    np.testing.assert_array_equal(images.ravel(), X.ravel().astype(np.float32))


@pytest.mark.parametrize("container", [list, tuple, lambda X: [image.tolist() for image in X], "objects"])
def test_lists_of_equal_images(container):
    X = RNG.random((3, 4, 5))
    if container == "objects":
        images = np.empty(3, dtype=object)
        images[:] = list(X)
    else:
        images = container(X)
    np.testing.assert_array_equal(validated(images), X.astype(np.float32))


@pytest.mark.parametrize(("n_values", "cure"), [(64, r"image_shape=\(8, 8\)"), (60, r"image_shape=\(height, width\)")])
def test_rows_of_an_unknown_shape_are_warned_of_if_their_pixels_would_move(n_values, cure):
    rows, labels = np.random.default_rng(0).random((6, n_values)), [0, 1] * 3
    with pytest.warns(UserWarning, match=cure):
        VirtualSVC(Shifts(1)).fit(rows, labels)
    with pytest.warns(UserWarning, match=cure):
        VirtualSVC(Elastic(n=1)).fit(rows, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        VirtualSVC(Shifts(1), image_shape=(4, n_values // 4)).fit(rows, labels)
        VirtualSVC(Brightness()).fit(rows, labels)
        NearestMean().fit(rows, np.array(labels))


def test_list_of_flat_rows_is_flat():
    assert validated([[1.0, 2.0], [3.0, 4.0]]).shape == (2, 1, 2)


def test_integers_are_scaled_and_floats_are_not():
    assert validated(np.full((2, 3, 3), 255, np.uint8)).max() == 1
    assert validated(np.full((2, 9), 65535, np.uint16), (3, 3)).max() == 1
    assert validated(np.full((2, 3, 3), True)).max() == 1
    assert validated(np.full((2, 3, 3), 255.0)).max() == 255
    assert validated(np.full((2, 3, 3), -7, np.int64)).max() == -7


def test_fortran_and_big_endian_arrays_become_plain():
    X = RNG.random((4, 5, 6))
    for other in (np.asfortranarray(X), X.astype(">f8")):
        images = validated(other)
        assert images.flags.c_contiguous
        assert images.dtype == np.dtype("=f4")
        np.testing.assert_array_equal(images, X.astype(np.float32))


def test_fit_remembers_what_an_image_is():
    model = fitted_on(RNG.random((6, 4, 5, 3)))
    assert model.image_shape_ == (4, 5, 3)
    assert model.n_features_in_ == 60
    assert clone(model).fit(RNG.random((6, 10)), [0, 1] * 3).image_shape_ == (1, 10)


def test_flat_and_shaped_images_are_the_same_images():
    X = RNG.random((8, 4, 5))
    model = fitted_on(X.reshape(8, 20), (4, 5))
    np.testing.assert_array_equal(model.predict(X), model.predict(X.reshape(8, 20)))


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.zeros((2, 5, 4)), r"X has images of shape \(5, 4\), but NearestMean was fitted on \(4, 5\)\. Resize them"),
        (np.zeros((2, 4, 5, 3)), r"X has images of shape \(4, 5, 3\), but NearestMean was fitted on \(4, 5\)"),
        (np.zeros((2, 20)), r"shape \(1, 20\), but NearestMean was fitted on \(4, 5\)\. Flat rows need image_shape="),
        (np.zeros((2, 7)), "X has 7 features, but NearestMean is expecting 20 features as input"),
        ([np.zeros((4, 5)), np.zeros((4, 6))], r"X\[0\] is \(4, 5\), X\[1\] is \(4, 6\)\. Resize them: .*resize_all"),
    ],
)
def test_images_of_another_shape_at_predict(X, words):
    with pytest.raises(ValueError, match=words):
        fitted_on(RNG.random((6, 4, 5))).predict(X)


def test_one_image_in_colour_at_predict():
    with pytest.raises(ValueError, match=r"fitted on \(4, 5, 3\)\. Put a single image in a list"):
        fitted_on(RNG.random((6, 4, 5, 3))).predict(np.zeros((4, 5, 3)))


@pytest.mark.parametrize(
    ("X", "image_shape", "words"),
    [
        (np.full((2, 3, 3), np.nan), None, "contains NaN"),
        (np.full((2, 3, 3), np.inf), None, "infinity"),
        (np.full((2, 3, 3), 1e300), None, "must fit float32"),
        (np.zeros((0, 3, 3)), None, "0 sample"),
        (np.zeros((2, 0, 3)), None, "at least one pixel"),
        (np.zeros((2, 3, 8, 8)), None, "c from 1 to 4, channels last"),
        (np.zeros((2, 3, 3), complex), None, "Complex data not supported"),
        (np.full((2, 3, 3), "a"), None, "could not convert string|dtype='numeric'"),
        (np.zeros(5), None, "Expected 2D array"),
        (np.zeros((2, 2, 2, 2, 2)), None, "dim"),
        (np.zeros((2, 3, 3)), (4, 4), r"shape \(3, 3\), but image_shape is \(4, 4\)"),
        (np.zeros((2, 9)), (4, 4), r"image_shape \(4, 4\) means 16 values per row, but X has 9"),
        (np.zeros((2, 9)), (9,), r"image_shape must be \(h, w\)"),
        (np.zeros((2, 9)), 9, r"image_shape must be \(h, w\)"),
        (np.zeros((2, 9)), (0, 9), r"image_shape\[0\] must be a whole number"),
        ([np.zeros((2, 3)), np.zeros((3, 2))], None, r"X\[0\] is \(2, 3\), X\[1\] is \(3, 2\)"),
        ([], None, "Expected 2D array|0 sample"),
    ],
)
def test_bad_images(X, image_shape, words):
    with pytest.raises(ValueError, match=words):
        validated(X, image_shape)


def test_sparse_is_refused():
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        validated(sparse.csr_array(np.eye(3)))


def test_data_frame_names_are_remembered_and_compared():
    pandas = pytest.importorskip("pandas")
    model = fitted_on(pandas.DataFrame(RNG.random((6, 2)), columns=["a", "b"]))
    assert model.feature_names_in_.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(pandas.DataFrame(RNG.random((6, 2)), columns=["a", "c"]))


def test_labels_become_codes():
    classes, codes = encode_labels(["dog", "cat", "dog"])
    assert classes.tolist() == ["cat", "dog"]
    assert codes.tolist() == [1, 0, 1]
    assert codes.dtype == np.int64


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (["cat", "cat"], "at least two classes; got one class only, cat"),
        ([], "no label at all"),
        ([0.5, 1.5], "continuous"),
        ([0.0, np.nan], "Input y contains NaN"),
        ([[0, 1], [1, 0]], "1d array"),
        (None, "1d array"),
    ],
)
def test_bad_labels(y, words):
    with pytest.raises(ValueError, match=words):
        encode_labels(y)


def test_as_many_labels_as_images():
    with pytest.raises(ValueError, match="equally long; got 3 images and 2 labels"):
        encode_labels([0, 1], n_images=3)


def test_import_loads_nothing_heavy():
    code = "import sys, invariance.images; print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    assert "invariance.images" in loaded
    assert not {"cv2", "sklearn", "PIL", "tifffile", "numba", "matplotlib"} & set(loaded)
