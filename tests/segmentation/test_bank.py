"""The bank: what it computes, what leaves it alone, and how far it looks."""

import numpy as np
import pytest
from scipy import ndimage

from invariance.segmentation import _jit
from invariance.segmentation.bank import N_RESPONSES, REACH, TENSOR_WIDTHS, TRUNCATE, WIDTHS, filter_bank
from tests import reference


def texture(shape, seed=0):
    """Smooth noise of several scales."""
    noise = np.random.default_rng(seed).standard_normal((2, *shape))
    return (noise[0] + 4 * ndimage.gaussian_filter(noise[1], 3)).astype(np.float32)


def assert_close(found, expected):
    """Equal to the rounding of float32, each response by its own size; of second differences few digits are left."""
    scale = np.abs(expected).max(axis=(1, 2), keepdims=True)
    np.testing.assert_allclose(found / scale, expected / scale, atol=1e-3)


def test_every_response_equals_its_slow_twin():
    side = 2 * REACH + 3
    plane = texture((side, side))
    bank = filter_bank(plane)
    assert bank.dtype == np.float32
    assert bank.shape == (N_RESPONSES, 3, 3)
    # Differences of neighbours are taken of float32: what is left of them at a wide Gaussian has fewer digits.
    for row, col in ((0, 0), (2, 1)):
        expected = reference.filter_bank_at(plane, REACH + row, REACH + col, WIDTHS, TENSOR_WIDTHS, TRUNCATE)
        np.testing.assert_allclose(bank[:, row, col], expected, rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("quarters", [1, 2, 3])
@pytest.mark.parametrize("flipped", [False, True], ids=["turned", "turned and flipped"])
def test_quarter_turns_and_flips_leave_it_alone(quarters, flipped):
    plane = texture((40 + 2 * REACH, 57 + 2 * REACH))

    def move(images):
        return np.rot90(images[..., ::-1] if flipped else images, quarters, (-2, -1))

    assert_close(filter_bank(move(plane)), move(filter_bank(plane)))


def test_another_texture_does_not_leave_it_alone():
    """The law above can fail."""
    with pytest.raises(AssertionError):
        assert_close(filter_bank(texture((140, 157), seed=1)), filter_bank(texture((140, 157))))


def test_it_looks_as_far_as_its_reach_and_no_farther():
    side, middle = 2 * REACH + 11, REACH + 5
    plane = texture((side, side))
    before = filter_bank(plane)[:, 5, 5]

    def after_changing(distance):
        changed = plane.copy()
        far = np.maximum(*np.abs(np.indices(plane.shape) - middle)) >= distance
        changed[far] += 1e4
        return filter_bank(changed)[:, 5, 5]

    np.testing.assert_array_equal(after_changing(REACH + 1), before)
    assert np.any(after_changing(REACH) != before)


def test_the_last_digit_does_not_depend_on_the_tile():
    plane = texture((70 + 2 * REACH, 90 + 2 * REACH))
    whole = filter_bank(plane)
    for top, bottom, left, right in ((0, 1, 0, 1), (3, 40, 5, 90), (33, 70, 41, 64)):
        part = filter_bank(plane[top : bottom + 2 * REACH, left : right + 2 * REACH])
        np.testing.assert_array_equal(part, whole[:, top:bottom, left:right])


def test_a_channel_of_an_image_and_a_place_for_the_result():
    channels = np.stack([texture((120, 130), seed) for seed in range(3)], axis=2)
    expected = filter_bank(np.ascontiguousarray(channels[..., 1]))
    responses = np.zeros_like(expected)
    assert filter_bank(channels[..., 1], responses) is responses
    np.testing.assert_array_equal(responses, expected)


def test_compiled_derivatives_equal_their_slow_twin():
    blurred, squares = texture((24, 31)), 1 + texture((20, 27), seed=1)
    found = np.empty((4, 20, 27), np.float32)
    _jit.fill_derivatives(blurred, squares, np.float32(2), *found)
    assert np.any(squares < blurred[2:-2, 2:-2] ** 2), "a variance below 0 by rounding"
    np.testing.assert_allclose(found, reference.fill_derivatives(blurred, squares, 2), rtol=1e-4, atol=2e-3)


def test_compiled_eigenvalues_equal_their_slow_twin():
    matrices = np.stack([texture((20, 27), seed) for seed in range(3)])
    found = np.empty((2, 20, 27), np.float32)
    _jit.fill_eigenvalues(*matrices, *found)
    np.testing.assert_allclose(found, reference.fill_eigenvalues(*matrices), rtol=1e-4, atol=1e-5)


def test_a_constant_plane_has_only_its_blurred_values():
    bank = filter_bank(np.full((20 + 2 * REACH, 20 + 2 * REACH), 3.0))
    np.testing.assert_allclose(bank[: 5 * len(WIDTHS) : 5], 3, rtol=1e-6)
    others = np.delete(bank, np.arange(0, 5 * len(WIDTHS), 5), axis=0)
    assert np.abs(others).max() < 5e-3
