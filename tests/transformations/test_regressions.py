"""Faults that were found once, each of which must not come back."""

import numpy as np
import pytest

from invariance.transformations import (
    Affine,
    Brightness,
    Contrast,
    Custom,
    Gamma,
    Morphology,
    Reflections,
    Rotations,
    Scales,
    Shears,
    Shifts,
    check_group,
    largest_responses,
    tangent_vectors,
)


@pytest.mark.parametrize("n", [3, 23, 39, 101])
def test_an_odd_number_of_steps_has_the_identity_in_the_middle(n):
    for phi in (Brightness(n), Gamma(n), Contrast(n), Rotations(n, limit=20), Scales(n)):
        assert len(phi.members((4, 4))) == n


def test_whole_numbers_count_as_the_same_numbers_in_floats():
    images = np.random.default_rng(0).integers(0, 255, (3, 6, 6), dtype=np.uint8)
    filters = np.random.default_rng(1).standard_normal((2, 6, 6))
    operators = (Brightness() | Contrast()).operators((6, 6))
    expected = largest_responses(images.astype(float), filters, operators)
    np.testing.assert_allclose(largest_responses(images, filters, operators), expected)


def test_the_generators_of_affine_maps_are_independent():
    rng = np.random.default_rng(0)
    tangents = tangent_vectors(rng.random((1, 12, 12)), Affine())[0].reshape(6, -1)
    assert np.linalg.matrix_rank(tangents) == 6


def test_a_set_without_generators_falls_back_to_differences():
    images = np.random.default_rng(0).random((2, 5, 5))
    np.testing.assert_allclose(tangent_vectors(images, Reflections())[:, 0], images[:, :, ::-1] - images)


def test_a_closure_is_not_called_invariant():
    phi = Shifts(1, border="wrap")
    report = check_group(phi, (13, 13))
    assert report.inverses == 0
    assert not report.is_group
    assert "only a group is exact" in report.sentence


def test_a_report_on_some_pairs_says_so():
    assert check_group(Shifts(6, border="wrap") | Scales(2), (13, 13)).sentence.startswith("As far as")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Rotations(4) * 3, "unsupported operand"),
        (lambda: Rotations(4) | 3, "unsupported operand"),
        (lambda: tangent_vectors(np.zeros((1, 5, 5)), Shears(axis="x")), "axis must be one of"),
        (lambda: tangent_vectors(np.zeros((5, 5)), Shifts()), r"one image is image\[None\]"),
        (lambda: Custom(np.flipud).members((4, 4)), "functions must be a list"),
        (lambda: Morphology("erode").members((4, 4)), "operations must be a list of words; got 'erode'"),
        (lambda: (Rotations(9000) | Rotations(8999)).members((4, 4)), "the number of members must be at most"),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises((ValueError, TypeError), match=f"(?i){message}"):
        call()
