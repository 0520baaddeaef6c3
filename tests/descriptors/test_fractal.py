import numpy as np
import pytest
from scipy import ndimage

from invariance.descriptors.fractal import FractalFeatures, ball_sums, fit_growth


@pytest.fixture(scope="module")
def square():
    """A grey image (49, 49) with coarse and fine structure."""
    noise = np.random.default_rng(0).random((2, 49, 49))
    return (0.3 * noise[0] + ndimage.gaussian_filter(noise[1], 2.0)).astype(np.float32)


def test_sums_are_those_over_discs():
    measure = np.random.default_rng(0).random((1, 20, 23)).astype(np.float32)
    rows, columns = np.mgrid[-3:4, -3:4]
    disc = np.clip(3.5 - np.hypot(rows, columns), 0, 1)
    slow = ndimage.correlate(measure[0], disc, mode="reflect")
    np.testing.assert_allclose(ball_sums(measure, (3,), 1)[0, 0].reshape(20, 23), slow, rtol=1e-4)


def test_an_even_plane_has_dimension_two_a_line_one_and_a_point_none():
    measures = np.zeros((3, 81, 81), np.float32)
    measures[0] = 1000
    measures[1, 40] = 1000
    measures[2, 40, 40] = 1000
    dimensions, _ = fit_growth(measures, (4, 6, 8, 11, 16), 1)
    np.testing.assert_allclose(dimensions.reshape(81, 81, 3)[40, 40], [2, 1, 0], atol=0.1)


def test_a_stronger_measure_is_longer_but_has_the_same_dimension():
    measure = 1 + np.random.default_rng(0).random((1, 30, 30)).astype(np.float32)
    both = np.concatenate([10 * measure, 100 * measure])
    dimensions, lengths = fit_growth(both, (1, 2, 4), 3)
    np.testing.assert_allclose(dimensions[:, 0], dimensions[:, 1], atol=0.01)
    np.testing.assert_allclose(lengths[:, 1] - lengths[:, 0], np.log(10), atol=0.01)


@pytest.mark.parametrize("kind", ["rotation", "bilipschitz"])
def test_vectors_turn_with_the_image(square, kind):
    descriptor = FractalFeatures(kind, step=4)
    before, after = descriptor.extract(square)[0], descriptor.extract(np.rot90(square))[0]
    turned = np.rot90(before.reshape(13, 13, -1)).reshape(before.shape)
    np.testing.assert_allclose(after, turned, atol=1e-2)
    assert before.std(axis=0).min() > 0.01


def test_dimensions_change_less_than_lengths_when_the_image_is_stretched():
    """Between two images the same points differ less in D than in L, measured by their spread over the image."""
    noise = np.random.default_rng(1).random((96, 96))
    image = ndimage.gaussian_filter(noise, 1.0)
    stretched = ndimage.zoom(image, 1.5, order=1, grid_mode=True, mode="reflect")
    changes = {}
    for kind in ("rotation", "bilipschitz"):
        means = [FractalFeatures(kind).extract(photo)[0].mean(axis=0) for photo in (image, stretched)]
        spread = FractalFeatures(kind).extract(image)[0].std(axis=0)
        changes[kind] = np.mean(np.abs(means[1] - means[0])[2:] / spread[2:])
    assert changes["bilipschitz"] < changes["rotation"]


def test_places_go_with_vectors_and_colour_is_taken_as_grey(photo):
    descriptor = FractalFeatures(step=6)
    vectors, places = descriptor.extract(photo)
    assert vectors.shape == (len(places), 14)
    assert vectors.dtype == np.float32


def test_a_flat_image_is_described():
    vectors = FractalFeatures("rotation").extract(np.full((30, 20), 0.4))[0]
    np.testing.assert_allclose(vectors, np.broadcast_to(vectors[0], vectors.shape), atol=1e-4)


def test_unknown_kinds_and_single_radii_are_refused(photo):
    with pytest.raises(ValueError, match="kind must be one of 'rotation', 'bilipschitz'; got 'affine'"):
        FractalFeatures("affine").extract(photo)[0]
    with pytest.raises(ValueError, match="radii must be at least two different numbers"):
        FractalFeatures(radii=(2, 2)).extract(photo)[0]
