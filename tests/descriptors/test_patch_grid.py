import numpy as np
import pytest
from scipy import ndimage

from invariance.descriptors.patch_grid import PatchGrid, SortedRings, grid_lines, standardize, weber_contrast


@pytest.fixture(scope="module")
def square():
    """A smooth grey image (41, 41) with gradients everywhere."""
    return ndimage.gaussian_filter(np.random.default_rng(0).random((41, 41)), 2.0).astype(np.float32)


def turned_vectors(vectors, n_side):
    """The vectors (n, d) of a square image in the order that they have in its rot90."""
    return np.rot90(vectors.reshape(n_side, n_side, -1)).reshape(len(vectors), -1)


def test_a_patch_is_the_image_around_its_place(photo):
    described, places = PatchGrid(5, step=7).extract(photo)
    plane = standardize(photo)
    row, column = places[len(places) // 2].astype(int)
    values = plane[row - 2 : row + 3, column - 2 : column + 3].reshape(1, -1)
    assert described.dtype == np.float32
    np.testing.assert_allclose(described[len(places) // 2], weber_contrast(values)[0], rtol=1e-5)


def test_beyond_its_border_an_image_is_mirrored():
    image = np.arange(12.0).reshape(3, 4) / 12
    corner = PatchGrid(3, step=1).extract(image)[0][0].reshape(3, 3)
    np.testing.assert_array_equal(corner[0], corner[1])
    np.testing.assert_array_equal(corner[:, 0], corner[:, 1])


def test_aligned_patches_turn_with_the_image(square):
    descriptor = PatchGrid(7, aligned=True, step=4)
    before, after = descriptor.extract(square)[0], descriptor.extract(np.rot90(square))[0]
    np.testing.assert_allclose(after, turned_vectors(before, 11), atol=2e-3)


def test_patches_that_are_not_aligned_do_not(square):
    descriptor = PatchGrid(7, step=4)
    before, after = descriptor.extract(square)[0], descriptor.extract(np.rot90(square))[0]
    assert np.abs(after - turned_vectors(before, 11)).mean() > 0.1


def test_an_aligned_patch_is_brighter_in_its_lower_half(square):
    patches = PatchGrid(7, aligned=True).extract(square)[0].reshape(-1, 7, 7)
    assert np.mean(patches[:, 4:].mean(axis=(1, 2)) > patches[:, :3].mean(axis=(1, 2))) > 0.9


def test_centred_patches_have_mean_zero(square):
    for aligned in (False, True):
        plain, centred = (PatchGrid(5, aligned, centred=choice).extract(square)[0] for choice in (False, True))
        assert np.abs(plain.mean(axis=1)).max() > 0.1
        np.testing.assert_allclose(centred.mean(axis=1), 0, atol=1e-5)


def test_sorted_rings_turn_with_the_image(square):
    before, after = (SortedRings(3, step=4).extract(image)[0] for image in (square, np.rot90(square)))
    assert before.shape == (121, 1 + 8 + 16 + 24)
    np.testing.assert_allclose(after, turned_vectors(before, 11), atol=2e-3)


def test_rings_are_sorted_one_by_one(square):
    vectors = SortedRings(2, step=5).extract(square)[0]
    assert np.all(np.diff(vectors[:, 1:9]) >= 0)
    assert np.all(np.diff(vectors[:, 9:]) >= 0)
    assert np.any(np.diff(vectors) < 0)
    np.testing.assert_allclose(vectors.mean(axis=1), 0, atol=1e-5)


def test_a_ring_holds_the_pixels_beside_its_place():
    image = np.zeros((9, 9), np.float32)
    image[4, 5] = 1
    middle = SortedRings(1, step=4).extract(image)[0][4]
    assert middle.argmax() == 8  # the largest of the ring's eight, after the place itself
    assert np.sum(middle > middle[0] + 1e-3) == 3  # that pixel, and the two diagonals that it is interpolated into


def test_brightness_and_contrast_do_not_matter(square):
    for aligned in (False, True):
        descriptor = PatchGrid(5, aligned)
        np.testing.assert_allclose(descriptor.extract(0.3 * square + 0.2)[0], descriptor.extract(square)[0], atol=5e-3)


def test_a_flat_image_gives_zeros():
    for aligned in (False, True):
        assert not PatchGrid(5, aligned).extract(np.full((9, 8, 3), 77, np.uint8))[0].any()


def test_the_grid_has_equal_margins():
    for length in range(1, 20):
        for step in (1, 2, 5):
            lines = grid_lines(length, step)
            assert 0 <= (length - 1 - lines[-1]) - lines[0] <= 1
            assert np.all(np.diff(lines) == step)


def test_even_sizes_and_idle_steps_are_refused(photo):
    with pytest.raises(ValueError, match="size must be odd.*got 4. Try 5"):
        PatchGrid(4).extract(photo)[0]
    with pytest.raises(ValueError, match="step must be a whole number of at least 1; got 0"):
        PatchGrid(5, step=0).extract(photo)[0]
