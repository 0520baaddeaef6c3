"""Means of cells, and the colours they are means of."""

import colorsys

import numpy as np
import pytest

from invariance.descriptors import HslPatches
from invariance.descriptors.cells import to_hsl
from invariance.images import draw_boxes, resample_boxes
from tests import reference


def test_colours_are_those_of_the_standard_library(photo):
    corners = np.stack(np.meshgrid(*[[0, 1, 127, 128, 254, 255]] * 3), axis=-1).reshape(6, 36, 3).astype(np.uint8)
    for image in (photo, corners):
        found = to_hsl(image)
        expected = np.empty(found.shape)
        for place in np.ndindex(image.shape[:2]):
            hue, lightness, saturation = colorsys.rgb_to_hls(*(image[place] / 255))
            expected[place] = hue, saturation, lightness
        apart = np.abs(found - expected)
        apart[..., 0] = np.minimum(apart[..., 0], 1 - apart[..., 0])  # hue is a circle
        assert apart.max() < 1e-4
        assert found.min() >= 0
        assert found.max() <= 1


def test_grey_is_lightness_as_it_is():
    image = np.linspace(-3, 7, 20).reshape(4, 5)
    np.testing.assert_array_equal(to_hsl(image), image.astype(np.float32))


@pytest.mark.parametrize("size", [1, 3, 4, 16])
@pytest.mark.parametrize("channels", [(), (3,)], ids=["grey", "colour"])
def test_windows_equal_their_slow_twin(size, channels):
    image = np.random.default_rng(0).random((30, 37, *channels))
    boxes = np.concatenate([draw_boxes(image.shape, 6, 0, 0.0), [[0, 0, 30], [0, 7, 30], [29, 36, 1], [14, 21, 16]]])
    described = HslPatches(size).extract(image, boxes)[0]
    planes = to_hsl(image).reshape(30, 37, -1)
    for row, box in zip(described, boxes, strict=True):
        np.testing.assert_allclose(row, reference.cell_means(planes, box, size).ravel(), atol=1e-6)


def test_large_windows_are_what_resampling_makes_of_them(photo):
    boxes = draw_boxes(photo.shape, 60, 0, min_scale=17 / 50)
    expected = resample_boxes(to_hsl(photo), boxes, 16).reshape(60, -1)
    np.testing.assert_allclose(HslPatches().extract(photo, boxes)[0], expected, atol=1e-5)


def test_sums_over_a_large_image_keep_their_digits():
    """Where a table of float32 fails: the last pixels after millions of bright ones."""
    image = np.ones((2000, 2000), np.float32)
    image[-16:, -16:] = np.random.default_rng(0).random((16, 16))
    [row] = HslPatches().extract(image, np.array([[1984, 1984, 16]]))[0]
    np.testing.assert_allclose(row.reshape(16, 16), image[-16:, -16:], atol=1e-7)


def test_a_window_within_a_pixel_has_its_value():
    image = np.arange(12.0).reshape(3, 4)
    np.testing.assert_allclose(HslPatches(4).extract(image, np.array([[1, 2, 1]]))[0], 6)
