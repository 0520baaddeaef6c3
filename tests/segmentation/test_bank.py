"""The bank: what it computes, what leaves it alone, and how far it looks."""

import numpy as np
import pytest
from scipy import ndimage

from invariance.segmentation.bank import N_RESPONSES, REACH, TENSOR_WIDTHS, TRUNCATE, WIDTHS, filter_bank
from tests import reference


def texture(shape, seed=0):
    """Smooth noise of several scales."""
    noise = np.random.default_rng(seed).standard_normal((2, *shape))
    return (noise[0] + 4 * ndimage.gaussian_filter(noise[1], 3)).astype(np.float32)


def assert_close(found, expected):
    """Equal to the rounding of float32, each response by its own size."""
    scale = np.abs(expected).max(axis=(1, 2), keepdims=True)
    np.testing.assert_allclose(found / scale, expected / scale, atol=2e-5)


def test_every_response_equals_its_slow_twin():
    side = 2 * REACH + 3
    plane = texture((side, side))
    bank = filter_bank(plane)
    assert bank.dtype == np.float32
    assert bank.shape == (N_RESPONSES, side, side)
    # Differences of neighbours are taken of float32: what is left of them at a wide Gaussian has fewer digits.
    for row, col in ((REACH, REACH), (REACH + 2, REACH + 1)):
        expected = reference.filter_bank_at(plane, row, col, WIDTHS, TENSOR_WIDTHS, TRUNCATE)
        np.testing.assert_allclose(bank[:, row, col], expected, rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("quarters", [1, 2, 3])
@pytest.mark.parametrize("flipped", [False, True], ids=["turned", "turned and flipped"])
def test_quarter_turns_and_flips_leave_it_alone(quarters, flipped):
    plane = texture((40, 57))

    def move(images):
        return np.rot90(images[..., ::-1] if flipped else images, quarters, (-2, -1))

    assert_close(filter_bank(move(plane)), move(filter_bank(plane)))


def test_another_texture_does_not_leave_it_alone():
    """The law above can fail."""
    with pytest.raises(AssertionError):
        assert_close(filter_bank(texture((40, 57), seed=1)), filter_bank(texture((40, 57))))


def test_it_looks_as_far_as_its_reach_and_no_farther():
    side, middle = 2 * REACH + 11, REACH + 5
    plane = texture((side, side))
    before = filter_bank(plane)[:, middle, middle]

    def after_changing(distance):
        changed = plane.copy()
        far = np.maximum(*np.abs(np.indices(plane.shape) - middle)) >= distance
        changed[far] += 1e4
        return filter_bank(changed)[:, middle, middle]

    np.testing.assert_array_equal(after_changing(REACH + 1), before)
    assert np.any(after_changing(REACH) != before)


def test_the_mirrored_surroundings_are_what_it_takes_beyond_the_border():
    plane = texture((30, 41))
    padded = np.pad(plane, REACH, mode="reflect")
    inner = filter_bank(padded)[:, REACH:-REACH, REACH:-REACH]
    # Blurred values are mirrored exactly; differences at the border itself are one-sided without the surroundings.
    np.testing.assert_allclose(filter_bank(plane)[0::5][: len(WIDTHS)], inner[0::5][: len(WIDTHS)], atol=1e-5)


def test_a_constant_plane_has_only_its_blurred_values():
    bank = filter_bank(np.full((20, 20), 3.0))
    np.testing.assert_allclose(bank[: 5 * len(WIDTHS) : 5], 3, rtol=1e-6)
    others = np.delete(bank, np.arange(0, 5 * len(WIDTHS), 5), axis=0)
    assert np.abs(others).max() < 5e-3
