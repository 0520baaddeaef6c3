import numpy as np
import pytest

from invariance.images import resize, resize_all, shrink, to_grey

RNG = np.random.default_rng(0)


def block_means(image, height, width):
    """Area averaging where the size divides: the mean of each block."""
    return image.reshape(height, image.shape[0] // height, width, image.shape[1] // width, -1).mean(axis=(1, 3))


@pytest.mark.parametrize("channels", [(), (1,), (2,), (3,), (4,)])
@pytest.mark.parametrize("rule", ["crop", "pad", "stretch"])
@pytest.mark.parametrize("size", [(5, 7), (40, 30), (1, 1), (13, 17)])
@pytest.mark.parametrize("shape", [(4, 4), (1, 9), (20, 3), (13, 17)])
def test_shape_channels_and_range(channels, rule, size, shape):
    image = RNG.random((*size, *channels), dtype=np.float32)
    resized = resize(image, shape, rule)
    assert resized.shape == (*shape, *channels)
    assert resized.dtype == np.float32
    assert image.min() - 1e-6 <= resized.min() <= resized.max() <= image.max() + 1e-6
    if size == shape:
        np.testing.assert_array_equal(resized, image)


@pytest.mark.parametrize("rule", ["crop", "pad", "stretch"])
def test_shrinking_averages_areas(rule):
    image = RNG.random((12, 20, 3), dtype=np.float32)
    np.testing.assert_allclose(resize(image, (3, 5), rule), block_means(image, 3, 5), atol=1e-6)


def test_axis_that_shrinks_is_averaged_although_the_other_grows():
    image = np.repeat(RNG.random((12, 1), dtype=np.float32), 5, axis=1)
    expected = np.repeat(image[:, :1].reshape(3, 4).mean(axis=1)[:, None], 10, axis=1)
    np.testing.assert_allclose(resize(image, (3, 10), "stretch"), expected, atol=1e-6)


def test_growing_is_linear():
    ramp = np.linspace(0, 1, 5, dtype=np.float32)[None]
    grown = resize(ramp, (1, 10), "stretch")[0]
    np.testing.assert_allclose(np.diff(grown[1:-1]), 0.125, atol=1e-6)


def test_crop_keeps_the_centre():
    image = np.zeros((4, 12), dtype=np.float32)
    image[:, 4:8] = np.arange(16).reshape(4, 4)
    np.testing.assert_array_equal(resize(image, (4, 4), "crop"), image[:, 4:8])


def test_pad_keeps_everything_and_repeats_the_edge():
    image = RNG.random((4, 12), dtype=np.float32)
    padded = resize(image, (12, 12), "pad")
    np.testing.assert_array_equal(padded[4:8], image)
    np.testing.assert_array_equal(padded[:4], np.tile(image[0], (4, 1)))
    np.testing.assert_array_equal(padded[8:], np.tile(image[-1], (4, 1)))


def test_integers_are_scaled_to_unit_range():
    assert resize(np.full((4, 4), 255, np.uint8), (2, 2)).max() == 1
    assert resize(np.full((4, 4), 65535, np.uint16), (2, 2)).max() == 1


def test_resize_all_stacks():
    images = [RNG.random((5, 9, 3)), RNG.random((30, 8, 3))]
    stacked = resize_all(images, (6, 7), "pad")
    assert stacked.shape == (2, 6, 7, 3)
    np.testing.assert_array_equal(stacked[1], resize(images[1], (6, 7), "pad"))


def test_resize_all_names_the_image_with_other_channels():
    images = [np.zeros((5, 5)), np.zeros((6, 6)), np.zeros((5, 5, 3))]
    with pytest.raises(ValueError, match=r"images\[2\] is \(5, 5, 3\), but images\[0\] is \(5, 5\)"):
        resize_all(images, (4, 4))
    with pytest.raises(ValueError, match="images is empty"):
        resize_all([], (4, 4))


@pytest.mark.parametrize(
    ("image", "shape", "rule", "words"),
    [
        (np.zeros((4, 4)), (0, 4), "crop", r"shape\[0\] must be a whole number of at least 1; got 0"),
        (np.zeros((4, 4)), 4, "crop", "shape must be a pair"),
        (np.zeros((4, 4)), (4, 4, 3), "crop", "shape must be a pair"),
        (np.zeros((4, 4)), (4, 4), "zoom", "rule must be one of 'crop', 'pad', 'stretch'; got 'zoom'"),
        (np.zeros((0, 4)), (4, 4), "crop", "at least one pixel"),
        (np.zeros(4), (4, 4), "crop", r"image must be \(h, w\) or \(h, w, c\)"),
    ],
)
def test_bad_parameters(image, shape, rule, words):
    with pytest.raises(ValueError, match=words):
        resize(image, shape, rule)


def test_to_grey():
    colour = RNG.random((3, 4, 3), dtype=np.float32)
    grey = to_grey(colour)
    np.testing.assert_allclose(grey, colour @ [0.299, 0.587, 0.114], atol=1e-6)
    np.testing.assert_array_equal(to_grey(np.dstack([colour, np.ones((3, 4), np.float32)])), grey)
    np.testing.assert_array_equal(to_grey(grey), grey)
    np.testing.assert_array_equal(to_grey(colour[..., :1]), colour[..., 0])
    np.testing.assert_allclose(to_grey(np.full((2, 2, 3), 255, np.uint8)), 1, atol=1e-6)
    with pytest.raises(ValueError, match="1 to 4 channels"):
        to_grey(np.zeros((3, 4, 5)))


def test_shrink_keeps_proportions_and_leaves_small_images_alone():
    image = RNG.random((40, 80, 3), dtype=np.float32)
    assert shrink(image, 20).shape == (10, 20, 3)
    np.testing.assert_allclose(shrink(image, 20), block_means(image, 10, 20), atol=1e-6)
    assert shrink(image, 80) is image
    assert shrink(image, None) is image
    assert shrink(RNG.random((2, 500)), 10).shape == (1, 10)
    with pytest.raises(ValueError, match="max_side must be a whole number of at least 1; got 0"):
        shrink(image, 0)
