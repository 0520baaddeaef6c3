import numpy as np
import pytest

from invariance.transformations import (
    Affine,
    Custom,
    Elastic,
    Gamma,
    Identity,
    Illumination,
    IlluminationCorrections,
    Morphology,
    Reflections,
    Rotations,
    Scales,
    Shears,
    Shifts,
    normalize_illumination,
)
from invariance.transformations.sets import parts_of, split_normalizing, with_border
from tests import reference


def size(phi, shape=(9, 9)):
    return len(phi.operators(shape))


@pytest.mark.parametrize(
    ("phi", "expected"),
    [
        (Identity(), 1),
        (Rotations(24), 24),
        (Rotations(24) * Rotations(24), 24),
        (Rotations(24).closure(), 24),
        (Rotations(4) | Rotations(6), 8),
        (Rotations(4) * Reflections(), 8),
        (Reflections() * Reflections(), 2),
        (Reflections("both"), 4),
        (Shifts(2), 25),
        (Shifts(1).closure(), 25),
        (Shifts(2).closure(), 81),
        (Shifts(1) | Shifts(2), 25),
        (Shifts(1) * Shifts(1), 25),
        (Shifts(3, border="wrap"), 49),
        (Rotations(3, limit=15), 3),
        (Rotations(3, limit=15).closure(), 5),
        (Rotations(2, limit=15), 3),
        (Shifts(2) * IlluminationCorrections(), 75),
        (Morphology(), 5),
        (IlluminationCorrections() | IlluminationCorrections((8,)), 3),
        (Rotations(24).subsample(5), 5),
        (Rotations(4).subsample(50), 4),
    ],
    ids=repr,
)
def test_sizes_are_those_of_set_theory(phi, expected):
    assert size(phi) == expected


def test_wrapping_shifts_of_a_small_image_coincide():
    assert size(Shifts(4, border="wrap"), (5, 5)) == 25


@pytest.mark.parametrize("border", ["zero", "edge", "reflect", "wrap"])
@pytest.mark.parametrize(
    "build",
    [
        lambda border: Rotations(10, border=border),
        lambda border: Scales(3, limit=1.7, border=border),
        lambda border: Shears(3, limit=30, border=border),
        lambda border: Shifts(2, border=border),
        lambda border: Affine([[[1.2, 0.3, 0.4], [0, 0.8, -1.3]]], border=border),
    ],
)
def test_warps_equal_their_slow_twin(build, border):
    image = np.random.default_rng(0).random((6, 7))
    operators = build(border).operators((6, 7))
    for member, fast in zip(operators.members, operators.apply(image[None])[0], strict=True):
        if member:
            np.testing.assert_allclose(fast, reference.warp_image(image, member[0].homography, border), atol=1e-9)


def test_content_moves_as_documented():
    image = np.zeros((5, 5))
    image[1, 2] = 1
    shifts = Shifts(1).operators((5, 5)).apply(image[None])[0]
    assert {tuple(np.argwhere(shifted)[0]) for shifted in shifts} == {(r, c) for r in (0, 1, 2) for c in (1, 2, 3)}
    moved = Affine([[[1, 0, 2], [0, 1, 1]]]).operators((5, 5)).apply(image[None])[0, 1]
    assert moved[2, 4] == 1


def test_product_applies_the_right_set_first():
    image = np.arange(16.0).reshape(4, 4)
    flip, cut = np.fliplr, lambda photo: np.where(np.arange(4) < 2, photo, 0.0)
    orbit = (Custom([flip]) * Custom([cut])).operators((4, 4)).apply(image[None])[0]
    expected = [image, cut(image), flip(image), flip(cut(image))]
    assert len(orbit) == 4
    assert all(any(np.array_equal(got, want) for got in orbit) for want in expected)


def test_rotations_and_shifts_interpolate_once():
    """A product of warps is one warp: turning back leaves the image untouched."""
    there_and_back = Rotations(24) * Rotations(24)
    orbit = there_and_back.operators((9, 9)).apply(np.random.default_rng(0).random((1, 9, 9)))
    once = Rotations(24).operators((9, 9)).apply(np.random.default_rng(0).random((1, 9, 9)))
    np.testing.assert_allclose(np.sort(orbit.sum(axis=(2, 3))), np.sort(once.sum(axis=(2, 3))), atol=1e-7)


def test_elastic_fields_are_seeded_and_as_strong_as_said():
    shape = (40, 40)
    same = Elastic(2, random_state=3).operators(shape), Elastic(2, random_state=3).operators(shape)
    other = Elastic(2, random_state=4).operators(shape)
    image = np.random.default_rng(0).random((1, *shape))
    np.testing.assert_array_equal(same[0].apply(image), same[1].apply(image))
    assert not np.allclose(same[0].apply(image)[:, 1:], other.apply(image)[:, 1:])
    columns = np.tile(np.arange(40.0), (40, 1))[None]
    bent = Elastic(8, strength=2, smoothness=4, border="edge").operators(shape).apply(columns)[0, 1:]
    assert 1.5 < np.sqrt(np.mean((bent - columns)[:, 5:-5, 5:-5] ** 2)) < 2.5


def test_a_set_that_is_not_linear_says_so():
    operators = IlluminationCorrections().operators((5, 5))
    assert not operators.linear
    with pytest.raises(ValueError, match="no adjoint.*largest_responses"):
        operators.adjoint(np.zeros((1, 5, 5)))


@pytest.mark.parametrize(
    ("phi", "message"),
    [
        (Rotations(0), "n must be a whole number of at least 1; got 0"),
        (Rotations(8, limit=-3), "limit must be a number from 0 to 180; got -3"),
        (Shifts(1.5), "reach must be a whole number"),
        (Shifts(1, border="mirror"), "border must be one of 'zero', 'edge', 'reflect', 'wrap'; got 'mirror'"),
        (Reflections("left"), "axis must be one of"),
        (Scales(3, limit=0.5), "limit must be a number from 1 to 100; got 0.5"),
        (Affine([[[1, 2], [2, 4]]]), "every affine map needs an inverse"),
        (Affine([[1, 2, 3]]), "2 x 2 or 2 x 3 matrices"),
        (Morphology(("melt",)), "operations must be one of"),
        (Custom([3]), "functions must be callables"),
        (Custom([lambda image: image[1:]]), "must keep the shape of an image"),
        (Rotations(10**9), "n must be at most"),
        (Shifts(10**6), "the number of shifts must be at most"),
        (Rotations(1000) * Rotations(1000, limit=1), "the number of products must be at most"),
    ],
)
def test_errors_name_the_parameter_and_the_value(phi, message):
    with pytest.raises(ValueError, match=message):
        phi.operators((6, 6)).apply(np.zeros((1, 6, 6)))


def test_wrong_image_shape_is_named():
    with pytest.raises(ValueError, match=r"expected arrays of shape \(n, 5, 5\).*got \(5, 5\)"):
        Rotations(4).operators((5, 5)).apply(np.zeros((5, 5)))


def test_parts_of_a_set_are_the_simple_sets_it_is_made_of():
    phi = (Rotations(4) * Shifts(1)).closure() | Scales(3).subsample(2)
    assert [type(part) for part in parts_of(phi)] == [Rotations, Shifts, Scales]
    assert [type(part) for part in parts_of(Identity())] == [Identity]


def test_the_border_of_all_parts_can_be_changed():
    phi = Rotations(4) * Shifts(1) | IlluminationCorrections()
    changed = with_border(phi, "edge")
    assert [getattr(part, "border", None) for part in parts_of(changed)] == ["edge", "edge", None]
    assert [getattr(part, "border", None) for part in parts_of(phi)] == ["zero", "zero", None]


def test_rotations_tell_whether_they_cover_the_circle():
    assert Rotations(8).is_full_circle
    assert Rotations(9, limit=180).is_full_circle
    assert not Rotations(5, limit=15).is_full_circle


def test_a_factor_that_normalizes_has_no_members_and_no_tangents_of_its_own():
    light = Illumination(2)
    for phi in (light * Rotations(4), Rotations(4) * light * Identity()):
        assert phi.members((9, 9)) == Rotations(4).members((9, 9))
        assert phi._generators() == Rotations(4)._generators() != ()
    assert size(light) == 1


def test_a_product_normalizes_images_and_other_sets_leave_them_as_they_are():
    images = np.random.default_rng(0).random((3, 8, 9)).astype(np.float32)
    expected = normalize_illumination(images, 2)
    for phi in (Illumination(2), Shifts(1) * Illumination(2), Rotations(4) * (Illumination(2) * Gamma())):
        np.testing.assert_array_equal(phi.normalize(images), expected)
    for phi in (Identity(), Shifts(1) * Gamma(), Rotations(4) | IlluminationCorrections()):
        assert phi.normalize(images) is images


@pytest.mark.parametrize(
    ("phi", "message"),
    [
        (
            Shifts(1) | Illumination(),
            r"Illumination\(\) normalizes all images.* a union.*multiply.*phi \* Illumination\(\)",
        ),
        (Rotations(4) * (Shifts(1) | Illumination()), "a union.*multiply"),
        ((Shifts(1) * Illumination()).closure(), "a closure.*multiply"),
        ((Shifts(1) * Illumination()).subsample(3), "a subsample.*multiply"),
        (Illumination(4) * Shifts(1) * Illumination(8), r"once only.*Illumination\(width=4\).*Illumination\(width=8\)"),
    ],
    ids=repr,
)
def test_images_are_normalized_by_one_factor_or_not_at_all(phi, message):
    with pytest.raises(ValueError, match=message):
        phi.normalize(np.zeros((1, 6, 6), np.float32))
    with pytest.raises(ValueError, match=message):
        phi.members((6, 6))


def test_a_set_is_split_into_the_factor_that_normalizes_and_the_others():
    light, phi = Illumination(2), Shifts(1) * Gamma()
    assert split_normalizing(phi) == (None, phi)
    assert split_normalizing(None) == (None, None)
    factor, others = split_normalizing(Rotations(4) * light * Shifts(1))
    assert factor is light
    assert repr(others) == "Rotations(n=4) * Shifts()"
    assert repr(split_normalizing(light)[1]) == "Identity()"


def test_a_closure_of_closures_lists_its_base_once():
    class Counted(Identity):
        n_listed = 0

        def _list_members(self, image_shape):
            Counted.n_listed += 1
            return []

    phi = Counted()
    for _ in range(20):
        phi = phi.closure()
    phi.members((8, 8))
    assert Counted.n_listed == 1
