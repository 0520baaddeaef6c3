"""A quarter of the products gives all responses of a set that is closed under quarter turns."""

import numpy as np
import pytest

from invariance.segmentation import _jit
from invariance.segmentation.quarter_turns import find_quarter_turn, split_directions
from invariance.transformations import Identity, Reflections, Rotations, Shifts
from invariance.transformations.reduction import reduce_operators
from tests import reference

CLOSED = {
    "four": Rotations(4),
    "sixteen": Rotations(16),
    "with reflections": Rotations(8) * Reflections(),
}
OPEN = {"identity": Identity(), "halves": Rotations(2), "six": Rotations(6), "shifts": Shifts(1)}


def matrices_of(phi):
    """R_t (T, r, r) of all members, in the reduced basis of noise."""
    images = np.random.default_rng(0).standard_normal((40, 9, 9)).astype(np.float32)
    return reduce_operators(phi, images, 20).matrices[0].astype(np.float64)


def extremes(turn, directions, coordinates):
    """The largest and the smallest responses (k, n), by the compiled loop."""
    found = np.empty((2, len(directions.fixed), coordinates.shape[1]), np.float32)
    _jit.fill_extremes(*directions.multiply((turn.basis.T @ coordinates).astype(np.float32)), *found)
    return found


@pytest.mark.parametrize("name", CLOSED)
def test_extremes_are_those_of_all_members(name):
    matrices = matrices_of(CLOSED[name])
    rng = np.random.default_rng(1)
    filters, coordinates = rng.standard_normal((3, matrices.shape[1])), rng.standard_normal((matrices.shape[1], 50))
    turn = find_quarter_turn(matrices)
    directions = split_directions(turn, matrices, filters)
    assert directions.fixed.shape[1] == len(matrices) // 4
    responses = np.einsum("rn,trs,ks->ktn", coordinates, matrices, filters)
    found = extremes(turn, directions, coordinates)
    np.testing.assert_allclose(found, [responses.max(axis=1), responses.min(axis=1)], rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("name", OPEN)
def test_sets_without_quarter_turns_have_none(name):
    assert find_quarter_turn(matrices_of(OPEN[name])) is None


def test_a_part_of_a_set_that_lacks_members_is_not_split():
    matrices = matrices_of(Rotations(8))
    turn, filters = find_quarter_turn(matrices), np.ones((2, matrices.shape[1]))
    assert split_directions(turn, matrices[[0, 2, 4, 6]], filters) is not None
    assert split_directions(turn, matrices[[0, 2, 4, 5]], filters) is None
    assert split_directions(turn, matrices[[0, 2, 4, 6, 6]], filters) is None


def test_the_basis_is_orthonormal_and_its_parts_are_fixed_negated_and_turned():
    turn = find_quarter_turn(matrices_of(Rotations(8)))
    np.testing.assert_allclose(turn.basis.T @ turn.basis, np.eye(len(turn.basis)), atol=1e-6)
    fixed, negated, turned = (turn.basis[:, part] for part in turn.parts())
    np.testing.assert_allclose(turn.matrix @ fixed, fixed, atol=1e-5)
    np.testing.assert_allclose(turn.matrix @ negated, -negated, atol=1e-5)
    np.testing.assert_allclose(turn.matrix @ turn.matrix @ turned, -turned, atol=1e-5)
    assert min(fixed.size, negated.size, turned.size) > 0


def test_compiled_extremes_equal_their_slow_twin():
    rng = np.random.default_rng(0)
    fixed, negated, *turned = rng.standard_normal((4, 3, 5, 40)).astype(np.float32)
    found = np.empty((2, 3, 40), np.float32)
    _jit.fill_extremes(fixed, negated, np.stack(turned), *found)
    np.testing.assert_allclose(found, reference.fill_extremes(fixed, negated, turned), rtol=1e-5, atol=1e-6)
