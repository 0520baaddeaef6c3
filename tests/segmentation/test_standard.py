"""An image measured against itself."""

import numpy as np
import pytest

from invariance.segmentation import standard
from invariance.segmentation.standard import StandardImage, prepare_image
from invariance.transformations import Illumination, Rotations, normalize_illumination

EVERYTHING = (slice(None), slice(None))
RNG = np.random.default_rng(0)


@pytest.mark.parametrize("shape", [(30, 41), (30, 41, 1), (30, 41, 3)], ids=str)
def test_mean_0_and_deviation_1_a_channel(shape):
    image = RNG.normal(5, 3, shape) * np.arange(1, 1 + (shape[2:] or (1,))[0]) ** 2
    image = image.reshape(shape)
    values = StandardImage(image, True)[EVERYTHING]
    assert values.dtype == np.float32
    assert values.shape == (30, 41, (shape[2:] or (1,))[0])
    np.testing.assert_allclose(values.mean(axis=(0, 1)), 0, atol=1e-5)
    np.testing.assert_allclose(values.std(axis=(0, 1)), 1, atol=1e-5)


@pytest.mark.parametrize(("dtype", "white"), [(np.uint8, 255), (np.uint16, 65535), (bool, 1), (np.float64, 1)])
def test_without_standardizing_values_are_intensities(dtype, white):
    image = RNG.integers(0, 2, (8, 9)).astype(dtype) * dtype(white)
    values = StandardImage(image, False)[EVERYTHING]
    np.testing.assert_array_equal(values[..., 0], image.astype(float) / white)


@pytest.mark.parametrize("strip_bytes", [1, 3000, 10**9])
def test_the_measure_does_not_depend_on_the_strips(strip_bytes, monkeypatch):
    image = RNG.normal(2, 0.5, (37, 20))
    monkeypatch.setattr(standard, "STRIP_BYTES", strip_bytes)
    measured = StandardImage(image, True)
    np.testing.assert_allclose((measured.mean[0], measured.deviation[0]), (image.mean(), image.std()), rtol=1e-6)


def test_a_small_deviation_is_not_lost_beside_a_large_mean():
    image = 1000 + np.repeat([[0.0, 0.25], [0.5, 0.75]], 10, axis=0)
    assert StandardImage(image, True).deviation[0] == pytest.approx(image.std(), rel=1e-4)


def test_a_constant_image_becomes_zero():
    np.testing.assert_array_equal(StandardImage(np.full((5, 6), 0.1), True)[EVERYTHING], 0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("standardize", [True, False])
def test_what_is_not_finite_is_refused_with_its_place(bad, standardize, monkeypatch):
    monkeypatch.setattr(standard, "STRIP_BYTES", 1000)  # so that the place is in a later strip
    image = np.zeros((40, 50))
    image[33, 7] = bad
    with pytest.raises(ValueError, match=r"images must be finite; got .* at row 33, column 7\. Replace such values\."):
        StandardImage(image, standardize)


def test_of_a_slice_no_more_is_read():
    class Watched:
        shape = (1000, 50)
        most = 0

        def __getitem__(self, place):
            part = np.zeros(self.shape, np.uint8)[place]
            self.most = max(self.most, part.size)
            return part

    watched = Watched()
    image = StandardImage(watched, False)
    watched.most = 0
    assert image[10:14, 5:10].shape == (4, 5, 1)
    assert watched.most == 20


@pytest.mark.parametrize("shape", [(30, 40), (30, 40, 3)])
def test_illumination_is_normalized_before_an_image_is_standardized(shape):
    image = np.random.default_rng(0).integers(1, 255, shape, dtype=np.uint8)
    floats = image.astype(np.float32) / 255
    phi = Rotations(4) * Illumination(3)
    expected = normalize_illumination(floats[None], 3)[0].reshape(30, 40, -1)
    np.testing.assert_allclose(prepare_image(image, False, phi)[EVERYTHING], expected, atol=1e-5)
    standardized = StandardImage(expected, True)[EVERYTHING]
    np.testing.assert_allclose(prepare_image(image, True, phi)[EVERYTHING], standardized, atol=1e-5)
    assert prepare_image(image, True, Rotations(4)).image is image
    floats[3, 5] = np.nan
    with pytest.raises(ValueError, match="at row 3, column 5"):
        prepare_image(floats, True, phi)
