import numpy as np
import pytest
from scipy import ndimage

from invariance.transformations import (
    Affine,
    IlluminationCorrections,
    Reflections,
    Rotations,
    Scales,
    Shears,
    Shifts,
    tangent_vectors,
)


@pytest.fixture
def smooth_images():
    noise = np.random.default_rng(0).standard_normal((4, 41, 41))
    images = ndimage.gaussian_filter(noise, (0, 4, 4))
    y, x = np.mgrid[-20:21, -20:21]
    return images / images.std() * np.exp(-(x**2 + y**2) / 100)


@pytest.mark.parametrize(
    ("phi", "small_step", "parameter"),
    [
        (Rotations(), Rotations(2, limit=1), np.deg2rad(1)),
        (Scales(), Scales(2, limit=1.02), np.log(1.02)),
        (Shears(axis="horizontal"), Shears(2, limit=1, axis="horizontal"), np.tan(np.deg2rad(1))),
        (Shears(axis="vertical"), Shears(2, limit=1, axis="vertical"), np.tan(np.deg2rad(1))),
    ],
)
def test_generators_are_the_derivatives_of_the_transformations(smooth_images, phi, small_step, parameter):
    analytic = tangent_vectors(smooth_images, phi, smoothing=0.5)[:, 0]
    _, back, forth = np.moveaxis(small_step.operators((41, 41)).apply(smooth_images), 1, 0)
    measured = (forth - back) / (2 * parameter)
    assert np.linalg.norm(analytic - measured) < 0.1 * np.linalg.norm(measured)


def test_shift_generators_are_minus_the_gradient(smooth_images):
    tangents = tangent_vectors(smooth_images, Shifts(), smoothing=0.5)
    right = Shifts(1).operators((41, 41)).apply(smooth_images)
    members = Shifts(1).operators((41, 41)).members
    places = [tuple(-member[0].homography[[1, 0], 2]) if member else (0, 0) for member in members]
    steps = {place: t for t, place in enumerate(places)}
    for axis, (there, back) in enumerate([((0, 1), (0, -1)), ((1, 0), (-1, 0))]):
        measured = (right[:, steps[there]] - right[:, steps[back]]) / 2
        assert np.linalg.norm(tangents[:, axis] - measured) < 0.1 * np.linalg.norm(measured)


def test_a_product_has_the_generators_of_both_each_once(smooth_images):
    assert tangent_vectors(smooth_images, Rotations() * Shifts() * Rotations(3)).shape[1] == 3
    assert tangent_vectors(smooth_images, Affine()).shape[1] == 6
    assert tangent_vectors(smooth_images, (Rotations() | Scales()).closure()).shape[1] == 2


def test_finite_differences_for_any_set(smooth_images):
    phi = IlluminationCorrections((2, 4))
    expected = phi.operators((41, 41)).apply(smooth_images)[:, 1:] - smooth_images[:, None]
    np.testing.assert_array_equal(tangent_vectors(smooth_images, phi), expected)
    assert tangent_vectors(smooth_images, Rotations(3, limit=10), method="difference").shape[1] == 2


def test_a_set_without_generator_says_so(smooth_images):
    with pytest.raises(ValueError, match="no Lie generator.*method='difference'"):
        tangent_vectors(smooth_images, Reflections(), method="analytic")
    with pytest.raises(ValueError, match="no Lie generator"):
        tangent_vectors(smooth_images, IlluminationCorrections(), method="analytic")
