"""Laws of Φ that hold for every set."""

import numpy as np
import pytest
from sklearn.base import clone

from invariance.transformations import Rotations, check_group, largest_responses
from invariance.transformations.parsing import WORDS, format_transformations, parse_transformations
from tests.laws.catalogue import ALL_SETS, GROUPS, LINEAR_SETS, SET_CLASSES, name_of

SHAPES = [(9, 9), (8, 11), (7, 7, 3)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("phi", LINEAR_SETS, ids=name_of)
def test_adjoint_identity(phi, shape):
    rng = np.random.default_rng(0)
    images, filters = rng.standard_normal((4, *shape)), rng.standard_normal((3, *shape))
    operators = phi.operators(shape)
    transformed = operators.apply(images).reshape(4, len(operators), -1)
    moved = operators.adjoint(filters).reshape(3, len(operators), -1)
    left = np.einsum("ntd,kd->nkt", transformed, filters.reshape(3, -1))
    right = np.einsum("nd,ktd->nkt", images.reshape(4, -1), moved)
    assert np.abs(left - right).max() < 1e-10


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("phi", ALL_SETS, ids=name_of)
def test_the_identity_comes_first_and_no_member_twice(phi, shape):
    images = np.random.default_rng(0).random((2, *shape))
    operators = phi.operators(shape)
    orbit = operators.apply(images)
    assert orbit.shape == (2, len(operators), *shape)
    np.testing.assert_array_equal(orbit[:, 0], images)
    assert len(set(operators.members)) == len(operators)


@pytest.mark.parametrize("phi", ALL_SETS, ids=name_of)
def test_largest_response_is_the_maximum_over_the_orbit(phi):
    rng = np.random.default_rng(1)
    images, filters = rng.random((5, 9, 8)), rng.standard_normal((3, 9, 8))
    operators = phi.operators((9, 8))
    expected = np.einsum("nthw,khw->nkt", operators.apply(images), filters).max(axis=2)
    np.testing.assert_allclose(largest_responses(images, filters, operators), expected, atol=1e-10)


@pytest.mark.parametrize("phi", ALL_SETS, ids=name_of)
def test_single_precision_stays_single_and_close(phi):
    images = np.random.default_rng(2).random((2, 9, 9))
    operators = phi.operators((9, 9))
    single = operators.apply(images.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, operators.apply(images), atol=2e-5)


@pytest.mark.parametrize(("phi", "shape"), GROUPS, ids=str)
def test_a_group_leaves_the_invariant_feature_unchanged(phi, shape):
    rng = np.random.default_rng(3)
    images, filters = rng.standard_normal((4, *shape)), rng.standard_normal((5, *shape))
    operators = phi.operators(shape)
    before = largest_responses(images, filters, operators)
    for member in range(len(operators)):
        after = largest_responses(operators.apply(images)[:, member], filters, operators)
        assert np.abs(after - before).max() < 1e-10
    assert check_group(phi, shape).is_group


def test_the_invariance_law_can_fail():
    """Twelve turns of a coarse image are no group: the law above must see that."""
    rng = np.random.default_rng(3)
    images, filters = rng.standard_normal((4, 7, 7)), rng.standard_normal((5, 7, 7))
    operators = Rotations(12).operators((7, 7))
    turned = operators.apply(images)[:, 1]
    change = largest_responses(turned, filters, operators) - largest_responses(images, filters, operators)
    assert np.abs(change).max() > 1e-3
    assert not check_group(Rotations(12), (7, 7)).is_group


@pytest.mark.parametrize("size", [6, 7])
def test_quarter_turns_equal_rot90(size):
    images = np.random.default_rng(4).random((3, size, size))
    turned = Rotations(4).operators((size, size)).apply(images)
    for quarter in range(4):
        assert np.abs(turned[:, quarter] - np.rot90(images, quarter, (1, 2))).max() < 1e-12


@pytest.mark.parametrize("phi", ALL_SETS, ids=name_of)
def test_sets_are_specifications(phi):
    copy = clone(phi)
    assert repr(copy) == repr(phi)
    assert copy.get_params().keys() == phi.get_params().keys()
    assert copy.members((6, 6)) == phi.members((6, 6))


def test_every_public_set_is_among_those_of_the_laws():
    assert {type(phi) for phi in ALL_SETS} >= set(SET_CLASSES.values())
    assert {type(phi) for phi in LINEAR_SETS} < {type(phi) for phi in ALL_SETS}
    assert set(WORDS.values()) <= set(SET_CLASSES.values())


def texts_of(word):
    """The example of a word, shortened value by value down to the word alone."""
    pieces = WORDS[word].text_form.example.split(":")
    return [":".join(pieces[:n]) for n in range(1, len(pieces) + 1)]


def is_same(phi, other):
    return type(phi) is type(other) and phi.get_params() == other.get_params()


@pytest.mark.parametrize("border", [None, "edge"])
@pytest.mark.parametrize("word", WORDS)
def test_a_text_and_its_set_say_the_same(word, border):
    for text in texts_of(word):
        phi = parse_transformations(text, border)
        written = format_transformations(phi, border)
        assert is_same(parse_transformations(written, border), phi)
        assert len(written) <= len(text)
        shorter = written.rpartition(":")[0]
        assert not shorter or not is_same(parse_transformations(shorter, border), phi)
        together = parse_transformations(f"{text},shifts:2", border)
        assert format_transformations(together, border) == f"{written},shifts:2"


@pytest.mark.parametrize("phi", ALL_SETS, ids=name_of)
def test_what_a_set_is_written_as_is_a_text_for_it_or_python(phi):
    written = format_transformations(phi)
    assert written == repr(phi) or parse_transformations(written).members((6, 6)) == phi.members((6, 6))
