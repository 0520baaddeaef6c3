"""Dense SIFT: where its windows lie, and what its channels see."""

import numpy as np
import pytest

from invariance.descriptors import SiftWindows
from invariance.descriptors.dense_sift import DenseSift, split_channels
from invariance.descriptors.protocol import extract_some, grid_windows


@pytest.mark.parametrize(("channels", "n_values"), [("grey", 128), ("hsv", 384), ("opponent", 384)])
def test_one_vector_a_place_for_grey_and_colour(channels, n_values, photo):
    descriptor = DenseSift(5, (4, 9), channels)
    for image in (photo, photo[..., 0], photo[..., :1]):
        vectors, places = descriptor.extract(image)
        assert vectors.shape == (len(places), n_values)
        assert vectors.dtype == np.float32


def test_vectors_are_the_sift_of_windows_around_their_places(photo):
    descriptor = DenseSift(7, (6, 10))
    vectors, places = descriptor.extract(photo)
    is_small = np.arange(len(places)) < len(grid_windows(photo.shape, 12, 7))
    radii = np.where(is_small, 6, 10)
    boxes = np.column_stack([places - radii[:, None] + 0.5, 2 * radii]).astype(int)
    np.testing.assert_array_equal(SiftWindows().extract(photo, boxes)[0], vectors)


@pytest.mark.parametrize("channels", ["grey", "opponent"])
def test_some_windows_are_described_as_among_all(channels, photo):
    """Not even the large ones alone, which OpenCV sees in a reduced image."""
    descriptor = DenseSift(5, (6, 20), channels)
    vectors = descriptor.extract(photo)[0]
    for rows in ([3, 7, len(vectors) - 1], [len(vectors) - 2], []):
        some, whole = extract_some(descriptor, photo, lambda n, rows=rows: np.array(rows, int))
        np.testing.assert_array_equal(some, vectors[rows])
        assert whole is None


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
