import numpy as np
import pytest

from invariance.images import draw_boxes, resample_boxes

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("shape", [(30, 50), (50, 30, 3), (1, 1), (1, 20), (7, 7)])
@pytest.mark.parametrize("scales", [(0.1, 1.0), (0.5, 0.5), (1.0, 1.0), (0.0, 0.05)])
def test_boxes_lie_inside_and_respect_the_scales(shape, scales):
    boxes = draw_boxes(shape, 500, 0, *scales)
    tops, lefts, sides = boxes.T
    assert boxes.shape == (500, 3)
    assert (tops >= 0).all()
    assert (lefts >= 0).all()
    assert (sides >= 1).all()
    assert (tops + sides <= shape[0]).all()
    assert (lefts + sides <= shape[1]).all()
    shorter = min(shape[:2])
    assert sides.max() <= max(1, scales[1] * shorter)
    assert sides.min() >= min(scales[0] * shorter, sides.max())


def test_every_side_and_every_position_can_occur():
    boxes = draw_boxes((4, 5), 5000, 0, min_scale=0.25)
    possible = {(t, le, s) for s in range(1, 5) for t in range(5 - s) for le in range(6 - s)}
    assert {tuple(box) for box in boxes.tolist()} == possible


def test_same_seed_same_boxes():
    first = draw_boxes((20, 30), 50, 7)
    np.testing.assert_array_equal(first, draw_boxes((20, 30), 50, 7))
    assert not np.array_equal(first, draw_boxes((20, 30), 50, 8))
    generator = np.random.default_rng(7)
    np.testing.assert_array_equal(first, draw_boxes((20, 30), 50, generator))
    assert not np.array_equal(first, draw_boxes((20, 30), 50, generator))


@pytest.mark.parametrize("channels", [(), (1,), (3,)])
def test_patches_are_area_means_of_their_boxes(channels):
    image = RNG.random((24, 40, *channels), dtype=np.float32)
    boxes = np.array([[0, 0, 24], [3, 20, 16], [16, 32, 8], [5, 6, 4]])
    patches = resample_boxes(image, boxes, 4)
    assert patches.shape == (4, 4, 4, *channels)
    for patch, (top, left, side) in zip(patches, boxes, strict=True):
        box = image[top : top + side, left : left + side]
        means = box.reshape(4, side // 4, 4, side // 4, *channels).mean(axis=(1, 3))
        np.testing.assert_allclose(patch, means, atol=1e-6)


def test_small_boxes_grow_within_their_values():
    image = RNG.random((10, 10), dtype=np.float32)
    [patch] = resample_boxes(image, np.array([[2, 3, 2]]), 9)
    assert patch.shape == (9, 9)
    assert image[2:4, 3:5].min() <= patch.min() <= patch.max() <= image[2:4, 3:5].max()


def test_no_windows_and_integer_images():
    assert resample_boxes(np.zeros((5, 5, 3)), draw_boxes((5, 5), 0, 0), 4).shape == (0, 4, 4, 3)
    assert resample_boxes(np.full((5, 5), 255, np.uint8), draw_boxes((5, 5), 3, 0), 4).max() == 1


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: draw_boxes((5, 5), -1, 0), "n_windows must be a whole number"),
        (lambda: draw_boxes((5, 5), 1, 0, 0.8, 0.5), "min_scale must be a number from 0 to 0.5; got 0.8"),
        (lambda: draw_boxes((5, 5), 1, 0, 0.1, 1.5), "max_scale must be a number from 0 to 1; got 1.5"),
        (lambda: draw_boxes((0, 5), 1, 0), "shorter side must be a whole number of at least 1; got 0"),
        (lambda: resample_boxes(np.zeros((5, 5)), np.array([[0, 0, 5], [1, 0, 5]]), 3), r"boxes\[1\] = \[1, 0, 5\]"),
        (lambda: resample_boxes(np.zeros((5, 5)), np.array([[0, 0, 0]]), 3), r"boxes\[0\] = \[0, 0, 0\]"),
        (lambda: resample_boxes(np.zeros((5, 5)), np.array([[0, 0, 1.5]]), 3), "boxes must be integers"),
        (lambda: resample_boxes(np.zeros((5, 5)), np.array([[0, 0, 1]]), 0), "size must be a whole number"),
    ],
)
def test_bad_parameters(call, words):
    with pytest.raises(ValueError, match=words):
        call()
