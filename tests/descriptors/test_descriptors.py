"""Laws of descriptors of windows: one float32 row per window, in order, whatever the image is stored as."""

import numpy as np
import pytest
from sklearn.base import clone

from invariance.descriptors import HaarPatches, HslPatches, SiftWindows
from invariance.images import draw_boxes
from invariance.transformations import Scales, Shifts

N_VALUES = [(HslPatches(), 768, 256), (HaarPatches(), 768, 256), (HaarPatches(8), 192, 64), (SiftWindows(), 128, 128)]
every_descriptor = pytest.mark.parametrize("descriptor", [row[0] for row in N_VALUES], ids=repr)
OUTSIDE = [
    *([-1, 0, 5], [0, -1, 5], [46, 0, 5], [0, 66, 5]),
    *([0, 0, 0], [0, 0, -3], [0, 0, 51]),
    *([2**62, 0, 2**62], [0, 2**63 - 1, 1]),  # the sum of corner and side overflows
]


@pytest.mark.parametrize(("descriptor", "n_colour", "n_grey"), N_VALUES, ids=[repr(row[0]) for row in N_VALUES])
def test_one_row_a_box(descriptor, n_colour, n_grey, photo):
    boxes = draw_boxes(photo.shape, 30, 0)
    for image, n_values in ((photo, n_colour), (photo[..., 0], n_grey), (photo[..., :1], n_grey)):
        described = descriptor.extract(image, boxes)[0]
        assert described.shape == (30, n_values)
        assert described.dtype == np.float32
        assert described.flags.c_contiguous
        assert descriptor.extract(image, boxes[:0])[0].shape == (0, n_values)


@every_descriptor
def test_rows_follow_their_boxes(descriptor, photo):
    boxes = draw_boxes(photo.shape, 40, 0)
    order = np.random.default_rng(1).permutation(40)
    described = descriptor.extract(photo, boxes)[0]
    assert len(np.unique(described, axis=0)) > 35
    np.testing.assert_array_equal(descriptor.extract(photo, boxes[order])[0], described[order])
    np.testing.assert_array_equal(descriptor.extract(photo, boxes[7:8])[0], described[7:8])
    for dtype in (np.int32, np.uint16, np.uint64):
        np.testing.assert_array_equal(descriptor.extract(photo, np.asfortranarray(boxes, dtype))[0], described)


@every_descriptor
def test_how_the_image_is_stored_does_not_matter(descriptor, photo):
    boxes = draw_boxes(photo.shape, 20, 0)
    described = descriptor.extract(photo, boxes)[0]
    opaque = np.full((*photo.shape[:2], 1), 255, np.uint8)
    others = {
        "float": photo / 255,
        "float32": np.float32(photo / 255),
        "uint16": photo * np.uint16(257),
        "alpha": np.concatenate([photo, opaque], axis=2),
        "a view": np.repeat(photo, 2, axis=1)[:, ::2],
    }
    for name, image in others.items():
        before = image.copy()
        np.testing.assert_allclose(descriptor.extract(image, boxes)[0], described, atol=2e-5, err_msg=name)
        np.testing.assert_array_equal(image, before)


@every_descriptor
def test_the_whole_image_and_one_pixel_are_windows(descriptor, photo):
    square = photo[:50, :50]
    described = descriptor.extract(square, np.array([[0, 0, 50], [49, 49, 1], [0, 49, 1]]))[0]
    assert np.isfinite(described).all()
    assert descriptor.extract(square[:1, :1], np.array([[0, 0, 1]]))[0].shape == described[:1].shape
    assert np.isfinite(descriptor.extract(square[:1, :, 0], np.array([[0, 4, 1]]))[0]).all()


@every_descriptor
@pytest.mark.parametrize("box", OUTSIDE, ids=str)
def test_a_box_outside_is_refused_and_named(descriptor, box, photo):
    with pytest.raises(ValueError, match=r"boxes\[1\] = .* does not lie in the image of \(50, 70\)"):
        descriptor.extract(photo, np.array([[45, 65, 5], box]))[0]


@every_descriptor
@pytest.mark.parametrize("boxes", [[[0.0, 0.0, 5.0]], [0, 0, 5], [[0, 0, 5, 5]]], ids=str)
def test_what_is_not_boxes_is_refused(descriptor, boxes, photo):
    with pytest.raises(ValueError, match=r"boxes must be integers \(n, 3\)"):
        descriptor.extract(photo, np.array(boxes))[0]


@every_descriptor
@pytest.mark.parametrize("shape", [(20, 20, 2), (20, 20, 5), (20,), (2, 20, 20, 3), (0, 20), (20, 0, 3)], ids=str)
def test_what_is_not_an_image_is_refused(descriptor, shape):
    with pytest.raises(ValueError, match=r"image must be \(h, w\), .* got shape"):
        descriptor.extract(np.zeros(shape), np.array([[0, 0, 1]]))[0]


@every_descriptor
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("channels", [(), (3,)], ids=["grey", "colour"])
def test_nan_is_refused(descriptor, value, channels):
    image = np.zeros((20, 20, *channels))
    image[3, 4] = value
    with pytest.raises(ValueError, match="image must hold finite values; got NaN or infinity"):
        descriptor.extract(image, np.array([[10, 10, 5]]))[0]


@every_descriptor
def test_colours_beyond_white_are_refused(descriptor, photo):
    boxes = np.array([[3, 4, 20]])
    with pytest.raises(ValueError, match="image must hold values from 0 to 1 .* got .* to 2.*. Rescale it."):
        descriptor.extract(photo.astype(float), boxes)[0]
    slightly = np.float32(photo / 255) + np.float32(1e-6)
    np.testing.assert_allclose(descriptor.extract(slightly, boxes)[0], descriptor.extract(photo, boxes)[0], atol=1e-3)


@pytest.mark.parametrize("descriptor", [HslPatches(), HaarPatches()], ids=repr)
@pytest.mark.parametrize("size", [0, -16, 16.0, True, "16"], ids=repr)
def test_a_size_that_is_no_count_is_refused(descriptor, size, photo):
    with pytest.raises(ValueError, match="size must be a whole number of at least 1"):
        clone(descriptor).set_params(size=size).extract(photo, np.array([[0, 0, 5]]))[0]


@every_descriptor
def test_it_holds_parameters_only_and_says_its_invariances(descriptor):
    assert repr(clone(descriptor)) == repr(descriptor)
    assert vars(descriptor) == descriptor.get_params()
    assert {Shifts, Scales} <= set(descriptor.invariances)


@every_descriptor
def test_a_window_that_follows_its_content_is_described_the_same(descriptor, photo):
    """Position and scale, the invariances that all claim."""
    small = photo[:48, :48]
    moved = np.zeros((120, 140, 3), np.uint8)
    moved[40:88, 65:113] = small
    [expected] = descriptor.extract(small, np.array([[12, 12, 24]]))[0]
    [found] = descriptor.extract(moved, np.array([[52, 77, 24]]))[0]
    # SIFT sees a little of what lies around the window, and pixels as points and not as squares.
    limit = 0.02 if isinstance(descriptor, SiftWindows) else 1e-5
    assert np.linalg.norm(found - expected) <= limit * np.linalg.norm(expected)
    larger = np.kron(small, np.ones((4, 4, 1), np.uint8))
    [found] = descriptor.extract(larger, np.array([[48, 48, 96]]))[0]
    limit = 0.3 if isinstance(descriptor, SiftWindows) else 1e-5
    assert np.linalg.norm(found - expected) <= limit * np.linalg.norm(expected)
    [other] = descriptor.extract(larger, np.array([[0, 90, 60]]))[0]
    assert np.linalg.norm(other - expected) > limit * np.linalg.norm(expected)
