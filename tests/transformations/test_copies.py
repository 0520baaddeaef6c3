"""Transformed copies of images are those of the operators, made one at a time."""

import numpy as np
import pytest

from invariance.transformations import Brightness, Rotations, Shifts
from invariance.transformations.copies import Orbits, transform_image, warp_image
from tests import reference
from tests.laws.catalogue import ALL_SETS, GROUPS, name_of


@pytest.mark.parametrize("shape", [(9, 9), (8, 11), (7, 7, 3)], ids=str)
@pytest.mark.parametrize("phi", ALL_SETS, ids=name_of)
def test_an_orbit_is_what_the_operators_make_of_an_image(phi, shape):
    image = np.random.default_rng(0).random(shape).astype(np.float32)
    operators = phi.operators(shape)
    orbit = Orbits(phi).of(image)
    assert len(orbit) == len(phi.members(shape))
    expected = dict(zip(operators.members, operators.apply(image[None])[0].clip(0, 1), strict=True))
    for member, copy in zip(orbit.members, orbit, strict=True):
        if member in expected:  # of members that do the same to this shape the operators keep one
            np.testing.assert_allclose(copy, expected[member], atol=2e-6)


@pytest.mark.parametrize(("phi", "shape"), GROUPS, ids=str)
def test_members_of_a_group_move_pixels_exactly(phi, shape):
    image = np.random.default_rng(0).random(shape).astype(np.float32)
    for copy in Orbits(phi).of(image):
        np.testing.assert_array_equal(np.sort(copy, axis=None), np.sort(image, axis=None))


@pytest.mark.parametrize("border", ["zero", "edge", "reflect", "wrap"])
def test_warping_equals_its_slow_twin(border):
    image = np.random.default_rng(0).random((7, 10, 2)).astype(np.float32)
    phi = Shifts(2, border=border) * Rotations(5, border=border)
    for [warp] in phi.members(image.shape)[1::7]:
        found = warp_image(image, warp)
        for channel in range(2):
            expected = reference.warp_image(image[..., channel].astype(float), warp.homography, border)
            np.testing.assert_allclose(found[..., channel], expected, atol=1e-5)


def test_an_image_without_transformations_is_not_touched():
    image = np.arange(12, dtype=np.uint8).reshape(3, 4)
    [same] = Orbits(None).of(image)
    assert same is image
    assert Orbits(Rotations(4)).of(image)[0] is image


def test_an_image_stays_in_its_range_unless_it_was_beyond():
    image = np.linspace(0, 1, 12, dtype=np.float32).reshape(3, 4)
    brighter = Brightness(3, limit=0.5).members(image.shape)[-1]
    assert transform_image(image, brighter).max() == 1
    assert transform_image(10 * image, brighter).max() == pytest.approx(10.5)
    assert transform_image((255 * image).astype(np.uint8), brighter).max() == 1
