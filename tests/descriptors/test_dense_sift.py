"""Dense SIFT: its loops and their twin, where its windows lie, and what its channels see."""

import cv2
import numpy as np
import pytest

from invariance.descriptors import SiftWindows
from invariance.descriptors.dense_sift import DenseSift, describe_plane, split_channels
from invariance.descriptors.protocol import grid_windows
from tests import reference


@pytest.mark.parametrize(("channels", "n_values"), [("grey", 128), ("hsv", 384), ("opponent", 384)])
def test_one_vector_a_place_for_grey_and_colour(channels, n_values, photo):
    descriptor = DenseSift(5, (4, 9), channels)
    for image in (photo, photo[..., 0], photo[..., :1]):
        vectors, places = descriptor.extract(image)
        assert vectors.shape == (len(places), n_values)
        assert vectors.dtype == np.float32


@pytest.mark.parametrize(("shape", "side", "step"), [((14, 17), 6, 5), ((21, 13), 10, 4), ((12, 12), 12, 1)])
def test_the_compiled_loops_are_their_plain_twin(shape, side, step):
    plane = np.rint(255 * np.random.default_rng(0).random(shape)).astype(np.float32)
    plane[:8, :8] = 100  # flat, but for what the blur brings in
    blurred = cv2.GaussianBlur(plane, (0, 0), np.sqrt(1.6**2 - 0.5**2)).astype(float)
    expected = [reference.sift_of_window(blurred, *window) for window in grid_windows(shape, side, step).tolist()]
    np.testing.assert_allclose(describe_plane(plane, side, step), expected, atol=0.51)


@pytest.mark.parametrize("radius", [8, 12, 18])
def test_vectors_are_nearly_those_of_opencv(radius, photo):
    """OpenCV takes the middle of a window to the next pixel, and the blur of a window to that of a layer."""
    image = cv2.resize(photo, (210, 150), interpolation=cv2.INTER_LINEAR)
    found = DenseSift(7, (radius,)).extract(image)[0]
    expected = SiftWindows().extract(image, grid_windows(image.shape, 2 * radius, 7))[0]
    likeness = np.einsum("nd,nd->n", found, expected)
    assert np.median(likeness) > 0.98
    assert np.median(np.einsum("nd,nd->n", found, np.roll(expected, 1, axis=0))) < 0.9


@pytest.mark.parametrize("channels", ["grey", "opponent"])
def test_vectors_have_length_one_or_are_flat(channels, photo):
    vectors = DenseSift(5, (6, 9), channels).extract(photo)[0].reshape(-1, 128)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert not DenseSift(5, (6, 9), channels).extract(np.full((40, 40, 3), 0.3))[0].any()


@pytest.mark.parametrize(("shape", "side", "step"), [((50, 70), 16, 6), ((16, 16), 16, 3), ((17, 40), 4, 5)])
def test_a_grid_is_as_large_as_fits_and_in_the_middle(shape, side, step):
    boxes = grid_windows(shape, side, step)
    assert len(boxes) == ((shape[0] - side) // step + 1) * ((shape[1] - side) // step + 1)
    first = boxes[:, :2].min(axis=0)
    last = np.array(shape) - boxes[:, :2].max(axis=0) - side
    assert (np.abs(first - last) <= 1).all()
    assert (first >= 0).all()
    assert (last >= 0).all()


def test_an_image_smaller_than_a_window_has_none():
    descriptor = DenseSift(4, (30,), "hsv")
    vectors, places = descriptor.extract(np.zeros((50, 70, 3)))
    assert (vectors.shape, places.shape) == ((0, 384), (0, 2))


def test_opponent_channels_see_what_grey_does_not():
    """Red beside a green of the same brightness is an edge in colour only."""
    image = np.zeros((40, 40, 3))
    image[:, :20, 0], image[:, 20:, 1] = 0.587, 0.299
    red_green, yellow_blue, grey = DenseSift(8, (8,), "opponent").extract(image)[0].reshape(-1, 3, 128).sum(axis=(0, 2))
    assert grey == 0
    assert red_green > 0
    assert yellow_blue > 0


@pytest.mark.parametrize("channels", ["hsv", "opponent"])
def test_a_grey_image_has_no_colour(channels, photo):
    grey = photo[..., 1]
    for image in (grey, np.dstack([grey] * 3)):
        planes = split_channels(np.float32(image / 255), channels)
        assert [plane.std() > 1e-4 for plane in planes] == [False, False, True]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"step": 0}, "step must be a whole number"),
        ({"radii": (0,)}, "radii must be a whole number"),
        ({"radii": ()}, "radii must name at least one"),
        ({"channels": "rgb"}, "channels must be one of 'grey', 'hsv', 'opponent'; got 'rgb'"),
    ],
    ids=str,
)
def test_bad_settings_are_named(settings, message, photo):
    with pytest.raises(ValueError, match=message):
        DenseSift(**settings).extract(photo)[0]
