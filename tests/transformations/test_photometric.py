import numpy as np
import pytest
from scipy import ndimage

from invariance.transformations import (
    Brightness,
    Contrast,
    Gamma,
    IlluminationCorrections,
    Morphology,
    normalize_illumination,
)
from tests import reference


@pytest.fixture
def images():
    return np.random.default_rng(0).random((3, 12, 10))


def orbit(phi, images):
    return phi.operators(images.shape[1:]).apply(images)


def test_brightness_contrast_and_gamma_do_what_they_say(images):
    brightened = orbit(Brightness(3, limit=0.2), images)[:, 1:]
    np.testing.assert_allclose(brightened, np.stack([images - 0.2, images + 0.2], 1))
    mean = images.mean(axis=(1, 2), keepdims=True)
    np.testing.assert_allclose(orbit(Contrast(3, limit=2), images)[:, 2], mean + 2 * (images - mean))
    np.testing.assert_allclose(orbit(Gamma(3, limit=2), images)[:, 1], np.sqrt(images))


def test_illumination_divides_by_the_blur_and_keeps_the_brightness(images):
    evened = orbit(IlluminationCorrections((8,)), images)[:, 1]
    blurred = np.stack([ndimage.gaussian_filter(image, 8, mode="nearest") for image in images])
    np.testing.assert_allclose(evened, images / blurred * blurred.mean(axis=(1, 2), keepdims=True))
    np.testing.assert_allclose(evened.mean(axis=(1, 2)), images.mean(axis=(1, 2)), rtol=0.02)


def test_illumination_takes_a_slow_gradient_away():
    texture = 0.5 + 0.1 * np.random.default_rng(0).standard_normal((64, 64))
    shaded = texture * np.linspace(0.3, 1.0, 64)
    evened = orbit(IlluminationCorrections((8,)), np.stack([texture, shaded]))[:, 1]
    assert np.corrcoef(evened[0].ravel(), evened[1].ravel())[0, 1] > 0.95
    assert np.corrcoef(texture.ravel(), shaded.ravel())[0, 1] < 0.8


def test_a_black_image_stays_finite():
    assert np.isfinite(orbit(IlluminationCorrections(), np.zeros((1, 9, 9)))).all()


@pytest.mark.parametrize("shape", [(3, 32, 32), (2, 20, 30, 3)])
def test_normalized_images_are_divided_by_their_blur_and_standardized(shape):
    images = np.random.default_rng(0).random(shape)
    expected = np.stack([reference.normalized_illumination(image, 4) for image in images])
    found = normalize_illumination(images)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=2e-5)
    np.testing.assert_allclose(
        normalize_illumination(images, 2.5)[0], reference.normalized_illumination(images[0], 2.5), atol=2e-5
    )


def test_normalized_images_do_not_depend_on_brightness_slopes_or_each_other():
    rng = np.random.default_rng(0)
    faces = 0.5 + 0.1 * rng.standard_normal((2, 32, 32))
    normalized = normalize_illumination(faces)
    np.testing.assert_allclose(normalize_illumination(0.5 * faces), normalized, atol=1e-3)
    np.testing.assert_array_equal(normalize_illumination(faces[1:])[0], normalized[1])
    shaded = normalize_illumination(faces * np.linspace(0.4, 1.0, 32))
    for one, other in zip(normalized, shaded, strict=True):
        assert np.corrcoef(one.ravel(), other.ravel())[0, 1] > 0.95


def test_an_image_of_one_value_is_normalized_to_zero():
    np.testing.assert_allclose(normalize_illumination(np.full((1, 9, 9), 0.3)), 0, atol=0.5)
    np.testing.assert_array_equal(normalize_illumination(np.zeros((1, 9, 9))), 0)


def test_a_single_image_is_refused_with_the_cure():
    with pytest.raises(ValueError, match=r"images.*\(9, 9\).*\[None\]"):
        normalize_illumination(np.zeros((9, 9)))
    with pytest.raises(ValueError, match=r"width.*-1"):
        normalize_illumination(np.zeros((1, 9, 9)), -1)


def test_morphology_of_each_channel_by_itself(images):
    colour = np.stack([images, images[::-1]], axis=-1)
    together = orbit(Morphology(radius=2), colour)
    np.testing.assert_array_equal(together[..., 0], orbit(Morphology(radius=2), images))
    np.testing.assert_array_equal(together[..., 1], orbit(Morphology(radius=2), images[::-1]))


def test_erosion_is_the_smallest_value_in_the_disc(images):
    eroded = orbit(Morphology(("erode",), radius=1), images)[0, 1]
    cross = [(0, 0), (0, 1), (1, 0), (0, -1), (-1, 0)]
    assert eroded[5, 5] == min(images[0, 5 + dy, 5 + dx] for dy, dx in cross)
