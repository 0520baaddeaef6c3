"""Tangents of a product or union of a set with generators and one without: each part by itself."""

import numpy as np
import pytest

from invariance.tangents import TangentDistance
from invariance.transformations import (
    Brightness,
    Gamma,
    Identity,
    IlluminationCorrections,
    Reflections,
    Rotations,
    Scales,
    Shifts,
    tangent_vectors,
)
from tests.tangents.toys import draw_smooth

IMAGES = 2 + draw_smooth(3, (9, 10))
LIGHT = IlluminationCorrections((2.0, 4.0))


def join(*parts):
    return np.concatenate([tangent_vectors(IMAGES, part) for part in parts], axis=1)


@pytest.mark.parametrize(
    ("phi", "parts", "n_vectors"),
    [
        (Rotations() | LIGHT, (Rotations(), LIGHT), 3),
        (Rotations() * LIGHT, (Rotations(), LIGHT), 3),
        (LIGHT | Rotations(), (LIGHT, Rotations()), 3),
        (LIGHT * Shifts(2), (LIGHT, Shifts(2)), 4),
        ((Rotations() | Scales()) | LIGHT, (Rotations(), Scales(), LIGHT), 4),
        (Rotations() | (LIGHT * Shifts(1)), (Rotations(), LIGHT, Shifts(1)), 5),
        (LIGHT | Brightness(3), (LIGHT, Brightness(3)), 4),
        (LIGHT | Identity(), (LIGHT,), 2),
        (Identity() * LIGHT, (LIGHT,), 2),
    ],
    ids=str,
)
def test_each_part_has_its_own(phi, parts, n_vectors):
    vectors = tangent_vectors(IMAGES, phi)
    assert vectors.shape == (3, n_vectors, 9, 10)
    np.testing.assert_array_equal(vectors, join(*parts))


def test_parts_with_generators_still_have_each_once_and_no_finite_step():
    assert tangent_vectors(IMAGES, Rotations() | Shifts(1) | Rotations(3)).shape[1] == 3
    assert tangent_vectors(IMAGES, Rotations() | Reflections()).shape[1] == 1


def test_finite_differences_and_generators_on_demand_are_of_the_whole_set():
    phi = Rotations(4) * Gamma(3)
    members = phi.operators((9, 10)).apply(IMAGES)
    np.testing.assert_array_equal(tangent_vectors(IMAGES, phi, "difference"), members[:, 1:] - IMAGES[:, None])
    assert members.shape[1] == 12
    with pytest.raises(ValueError, match="no Lie generator"):
        tangent_vectors(IMAGES, phi, "analytic")


def test_a_wrong_parameter_of_a_part_is_named():
    with pytest.raises(ValueError, match="n must be a whole number of at least 1; got 0"):
        tangent_vectors(IMAGES, Rotations(0) | LIGHT)


def test_colours_keep_their_channels():
    colours = 2 + draw_smooth(2, (7, 8, 3))
    assert tangent_vectors(colours, Rotations() | LIGHT).shape == (2, 3, 7, 8, 3)


def test_a_distance_is_invariant_to_the_first_order_to_both_parts():
    """An image turned a little and brightened: neither part alone makes up for it."""
    phi = Brightness(3, limit=0.1)
    brighter = IMAGES + 0.7  # seven times the step: the tangent is a direction
    both = TangentDistance(Rotations() | phi).distances(brighter, IMAGES).diagonal()
    turns = TangentDistance(Rotations()).distances(brighter, IMAGES).diagonal()
    assert both.max() < 0.02 * turns.min()
