"""`Illumination` means one thing: an estimator with `Illumination * S` is one with S, given normalized images."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone

from invariance.images import resize_all
from invariance.tradeoff.defaults import default_kernels
from invariance.transformations import Illumination, Rotations, Shifts, normalize_illumination
from invariance.transformations.photometric import as_intensities
from tests.laws.catalogue import FITTED_CLASSES, IMAGE_ESTIMATORS, is_kernel, name_of

WIDTH = 3.0
S = Shifts(1, border="edge")
# What is given intensities from 0 to 1 instead, because descriptors expect them.
TAKES_INTENSITIES = {"BagOfFeatures", "CodebookClassifier", "ImageClassifier", "OnnxEncoder"}
# The parameter is for its default kernels, which have a law of their own below.
WITH_KERNELS_OF_ITS_OWN = {"TradeoffClassifier"}


def sets_of(estimator):
    """The names of all parameters of an estimator, and of those inside it, that take Φ."""
    return [name for name in estimator.get_params() if name.split("__")[-1] == "transformations"]


CASES = [
    (estimator, name)
    for estimator in IMAGE_ESTIMATORS
    for name in sets_of(estimator)
    if type(estimator).__name__ not in WITH_KERNELS_OF_ITS_OWN
]


def normalized(images, estimator, name=""):
    """Images as the estimator that has the parameter makes them."""
    *path, _ = name.split("__")
    owner = estimator.get_params()["__".join(path)] if path else estimator
    values = np.concatenate([normalize_illumination(image[None], WIDTH) for image in images])
    return as_intensities(values) if type(owner).__name__ in TAKES_INTENSITIES else values


def resized(images, estimator):
    """Images as float32; methods normalize squares of 32 pixels, to which they resize images."""
    images = images.astype(np.float32)
    return resize_all(images, (32, 32)) if type(estimator).__name__ == "ImageClassifier" else images


def outcomes(estimator, X, y, new):
    """All that a fitted estimator says about new images."""
    if hasattr(estimator, "fit_gram"):
        return [estimator.fit_gram(X, y), estimator.rows(new)]
    fitted = clone(estimator).fit(X, y)
    if is_kernel(type(fitted)):
        return [fitted(new), fitted(new, X[:9]), fitted.diag(new)]
    names = ("predict", "predict_proba", "decision_function", "score_samples", "transform")
    return [getattr(fitted, name)(new) for name in names if hasattr(fitted, name)]


def assert_same(found, expected):
    assert len(found) == len(expected) >= 1
    for one, other in zip(found, expected, strict=True):
        if np.asarray(one).dtype.kind == "f":
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
        else:
            np.testing.assert_array_equal(one, other)


def shade(images):
    """The same images in light that falls off to one side, in values of at least 0."""
    return (np.clip(images, 0, None) + 0.1) * np.linspace(0.3, 1, images.shape[2], dtype=np.float32)


@pytest.mark.parametrize(
    ("estimator", "name"), CASES, ids=lambda case: case if isinstance(case, str) else name_of(case)
)
def test_a_factor_of_illumination_is_images_normalized_beforehand(estimator, name, task):
    X, y = shade(resized(task[0], estimator)), task[1]
    new = X[: len(X) // 2, ::-1].copy()
    light = clone(estimator).set_params(**{name: S * Illumination(WIDTH)})
    plain = clone(estimator).set_params(**{name: S})
    found = outcomes(light, X, y, new)
    expected = outcomes(plain, normalized(X, plain, name), y, normalized(new, plain, name))
    assert_same(found, expected)
    without = outcomes(plain, X, y, new)
    assert any(not np.array_equal(one, other) for one, other in zip(found, without, strict=True)), "it can fail"


def test_every_estimator_that_takes_a_set_is_under_the_law():
    takes_sets = {
        name for name, kind in FITTED_CLASSES.items() if "transformations" in inspect.signature(kind).parameters
    }
    assert takes_sets - WITH_KERNELS_OF_ITS_OWN <= {type(estimator).__name__ for estimator, _ in CASES}
    assert takes_sets >= WITH_KERNELS_OF_ITS_OWN
    assert len(takes_sets) >= 12


@pytest.mark.parametrize("index", range(len(default_kernels(S))))
def test_default_kernels_of_the_tradeoff_normalize_images(index, tasks):
    images, labels = tasks["images"]
    X = shade(resize_all(images.astype(np.float32), (32, 32)))[:18]
    phi = Rotations(3, limit=10)
    light = default_kernels(Illumination(WIDTH) * phi, random_state=0)[index]
    plain = default_kernels(phi, random_state=0)[index]
    values = normalized(X, getattr(plain, "transformer", plain))
    found = outcomes(light, X[:12], labels[:12], X[12:])
    assert_same(found, outcomes(plain, values[:12], labels[:12], values[12:]))
    assert not np.allclose(found[0], outcomes(plain, X[:12], labels[:12], X[12:])[0]), "it can fail"
