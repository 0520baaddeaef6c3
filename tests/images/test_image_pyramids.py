import numpy as np
import pytest
from scipy import ndimage

from invariance.images import patches_at, pyramid_patches


@pytest.fixture
def image():
    return np.random.default_rng(0).random((30, 26)).astype(np.float32)


def test_the_first_scale_is_the_plain_patch(image):
    rows, cols = [0, 7, 29], [25, 11, 0]
    patches = pyramid_patches(image, rows, cols, 5, n_scales=3)
    assert patches.shape == (3, 5, 5, 3)
    np.testing.assert_array_equal(patches[..., 0], patches_at(image, rows, cols, 5))


@pytest.mark.parametrize("scale", [1, 2])
def test_each_scale_takes_every_so_manieth_pixel_of_the_blurred_image(image, scale):
    step = 2**scale
    blurred = ndimage.gaussian_filter(image, step / 2, mode="mirror")
    patch = pyramid_patches(image, [14], [12], 5, n_scales=3)[0, :, :, scale]
    for row in range(5):
        for col in range(5):
            assert patch[row, col] == blurred[14 + (row - 2) * step, 12 + (col - 2) * step]


def test_turning_the_image_turns_every_scale():
    image = np.random.default_rng(0).random((33, 33)).astype(np.float32)
    upright = pyramid_patches(image, [16], [16], 7, n_scales=3)[0]
    turned = pyramid_patches(np.rot90(image), [16], [16], 7, n_scales=3)[0]
    np.testing.assert_allclose(turned, np.rot90(upright), atol=1e-6)


def test_the_channels_of_colour_are_those_of_each_plane(image):
    colours = np.stack([image, image[::-1], 1 - image], axis=2)
    patches = pyramid_patches(colours, [3, 9], [0, 7], 5, n_scales=2)
    for channel in range(3):
        plane = pyramid_patches(colours[..., channel], [3, 9], [0, 7], 5, n_scales=2)
        np.testing.assert_array_equal(patches[..., channel::3], plane)


def test_mistakes_are_named(image):
    with pytest.raises(ValueError, match="size must be odd"):
        pyramid_patches(image, [1], [1], 4)
    with pytest.raises(ValueError, match=r"an image \(h, w\) or \(h, w, c\)"):
        pyramid_patches(image[None, ..., None], [1], [1], 5)
    with pytest.raises(ValueError, match="n_scales must be at most 8"):
        pyramid_patches(image, [1], [1], 5, n_scales=9)
