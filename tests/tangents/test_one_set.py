"""A distance that stands on one set Φ: over its members and, around each, along the tangents of its parts."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from invariance.tangents import JitteredDistance, JitteredSVC, TangentDistance, TangentVectorKernel, tangent_parts
from invariance.transformations import (
    Affine,
    Contrast,
    Custom,
    Elastic,
    Identity,
    Morphology,
    Perspective,
    Reflections,
    Rotations,
    Scales,
    Shears,
    Shifts,
    tangent_vectors,
)
from tests.laws.catalogue import ALL_SETS, GROUPS, name_of
from tests.tangents.toys import draw_smooth, draw_strokes

IMAGES = draw_smooth(4, (8, 8))


def over(phi):
    """The distance on Φ."""
    return JitteredDistance(phi, TangentDistance(tangent_parts(phi)))


@pytest.mark.parametrize(
    ("phi", "generators"),
    [
        (Identity(), ()),
        (Reflections(), ()),
        (Contrast() * Morphology() | Elastic(2) * Perspective() * Custom([np.flipud]), ()),
        (Rotations(4), ("rotation",)),
        (Rotations(4) * Reflections(), ("rotation",)),
        (Contrast() * Shifts(1), ("shift_x", "shift_y")),
        (Morphology() | (Rotations(3, limit=10) * Contrast()) | Scales(), ("rotation", "scale")),
        ((Elastic(2) * Shifts(1) * Shears(axis="vertical")).subsample(5), ("shift_x", "shift_y", "shear_y")),
        ((Shifts(1) * Contrast()).closure(), ("shift_x", "shift_y")),
        (Affine() | Shifts(2), Affine()._generators()),
    ],
    ids=name_of,
)
def test_the_parts_with_tangents(phi, generators):
    parts = tangent_parts(phi)
    assert parts._generators() == generators
    assert tangent_vectors(IMAGES, parts).shape[1] == len(generators)


def test_parts_of_a_large_product_are_few_members():
    phi = (Rotations(360) * Shifts(10)).subsample(5)
    assert len(tangent_parts(phi).members((8, 8))) < 1000


@pytest.mark.parametrize("phi", ALL_SETS, ids=name_of)
def test_every_set_has_a_distance_which_is_no_larger_than_without_it(phi):
    """With the blur of the tangents left aside, which lowers all distances."""
    images, others = 1 + draw_smooth(3, (7, 7)) / 4, 1 + draw_smooth(2, (7, 7), seed=1) / 4
    distance = JitteredDistance(phi, TangentDistance(tangent_parts(phi), blur=0.0)).distances(images, others)
    assert np.isfinite(distance).all()
    without = cdist(phi.normalize(images).reshape(3, -1), phi.normalize(others).reshape(2, -1)) + 1e-6
    assert (distance <= without).all()
    assert (over(phi).distances(images, others) <= without).all()


@pytest.mark.parametrize(("phi", "shape"), GROUPS, ids=name_of)
def test_versions_of_an_image_by_a_group_are_at_no_distance(phi, shape):
    images = draw_smooth(3, shape)
    orbits = phi.operators(shape).apply(images)[:, -1:]
    for t in range(orbits.shape[1]):
        np.testing.assert_allclose(np.diag(over(phi).distances(images, orbits[:, t])), 0, atol=2e-6)
    assert over(phi).distances(images)[np.triu_indices(3, k=1)].min() > 0.1


@pytest.mark.parametrize("phi", [Identity(), Identity() * Identity(), Identity() | Identity()], ids=str)
def test_the_identity_gives_the_euclidean_distance(phi):
    euclidean = cdist(IMAGES.reshape(4, -1), IMAGES.reshape(4, -1))
    np.testing.assert_allclose(over(phi).distances(IMAGES), euclidean, atol=1e-6)
    np.testing.assert_allclose(TangentDistance(phi).distances(IMAGES), euclidean, atol=1e-6)
    assert not np.allclose(TangentDistance(phi, blur=0.8).distances(IMAGES), euclidean, atol=0.1)


@pytest.mark.parametrize("phi", [Reflections(), Contrast(), Morphology(), Elastic(2)], ids=name_of)
def test_parts_without_tangents_are_members_only(phi):
    np.testing.assert_allclose(over(phi).squared(IMAGES), JitteredDistance(phi).squared(IMAGES), atol=1e-9)


@pytest.mark.parametrize(
    "chain",
    [
        (Identity(), Reflections(), Reflections("both"), Rotations(4) * Reflections(), Rotations(8) * Reflections()),
        (Identity(), Shifts(1), Shifts(2), Shifts(2) * Rotations(3, limit=20)),
        (Identity(), Contrast(3), Contrast(3) | Morphology(), Contrast(3) * Rotations(4) | Morphology()),
    ],
    ids=["turns", "shifts", "light"],
)
def test_a_larger_set_gives_a_smaller_distance(chain):
    others = draw_smooth(5, (8, 8), seed=1)
    distances = [over(phi).distances(IMAGES, others) for phi in chain]
    for larger, smaller in zip(distances[1:], distances, strict=False):
        assert (larger <= smaller * (1 + 1e-5)).all()
        assert larger.mean() < 0.999 * smaller.mean()


def test_the_blur_is_that_of_tangents():
    sets = {
        Affine(): 0.8,
        Shifts(1): 0.8,
        Contrast(): 0.8,
        Identity(): 0.0,
    }  # differences of a set are tangents as well
    for phi, blur in sets.items():
        for kernel in (TangentDistance, TangentVectorKernel):
            automatic, given = kernel(phi, sigma=2.0), kernel(phi, sigma=2.0, blur=blur)
            np.testing.assert_array_equal(automatic.fit(IMAGES)(IMAGES), given.fit(IMAGES)(IMAGES))
    with pytest.raises(ValueError, match="blur must be .*'auto'; got 'much'"):
        TangentDistance(blur="much").squared(IMAGES)
    with pytest.raises(ValueError, match="blur must be a number .*got None"):
        TangentDistance(blur=None).squared(IMAGES)


def test_a_machine_on_one_set_ignores_a_group_of_it():
    images, labels = draw_strokes(10)
    phi = Rotations(2) * Contrast(3, limit=1.2)
    machine = JitteredSVC(phi, TangentDistance(tangent_parts(phi))).fit(images, labels)
    turned = images[:, ::-1, ::-1]
    np.testing.assert_allclose(machine.decision_function(turned), machine.decision_function(images), atol=1e-3)
