import numpy as np
import pytest

from invariance.images import patches_at

RNG = np.random.default_rng(0)


def mirrored(index, length):
    """The pixel that stands at `index` when an axis is reflected about its outermost pixels, any number of times."""
    if length == 1:
        return 0
    while not 0 <= index < length:
        index = -index if index < 0 else 2 * (length - 1) - index
    return index


def slow_patch(image, row, col, size):
    half = size // 2
    offsets = range(-half, half + 1)
    height, width = image.shape[:2]
    return np.array([[image[mirrored(row + i, height), mirrored(col + j, width)] for j in offsets] for i in offsets])


@pytest.mark.parametrize("channels", [(), (1,), (3,)])
@pytest.mark.parametrize(("shape", "size"), [((9, 11), 5), ((9, 11), 1), ((3, 2), 9), ((1, 6), 3), ((1, 1), 7)])
def test_patches_equal_the_slow_twin(channels, shape, size):
    image = RNG.random((*shape, *channels))
    rows, cols = RNG.integers(0, shape[0], 20), RNG.integers(0, shape[1], 20)
    expected = [slow_patch(image, row, col, size) for row, col in zip(rows, cols, strict=True)]
    patches = patches_at(image, rows, cols, size)
    np.testing.assert_array_equal(patches, expected)
    assert patches.dtype == image.dtype
    assert patches.flags.c_contiguous


def test_out_is_filled_and_returned():
    image = RNG.integers(0, 256, (8, 8), dtype=np.uint8)
    training = np.zeros((10, 3, 3), dtype=np.float32)
    assert np.shares_memory(patches_at(image, [0, 4], [7, 4], 3, out=training[2:4]), training)
    np.testing.assert_array_equal(training[2:4], patches_at(image, [0, 4], [7, 4], 3))
    assert not training[4:].any()
    with pytest.raises(ValueError, match=r"out must have the shape \(2, 3, 3\)"):
        patches_at(image, [0, 4], [7, 4], 3, out=training)


def test_no_pixels_give_no_patches():
    assert patches_at(np.zeros((4, 5, 3)), [], [], 3).shape == (0, 3, 3, 3)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda image: patches_at(image, [0], [0], 4), "size must be odd .* got 4. Try 5"),
        (lambda image: patches_at(image[0], [0], [0], 3), r"image must be \(h, w\) or \(h, w, c\)"),
        (lambda image: patches_at(image[:0], [0], [0], 3), "at least one pixel"),
        (lambda image: patches_at(image, [6], [0], 3), r"rows must lie in 0\.\.5, inside the image; got 6"),
        (lambda image: patches_at(image, [0], [-1], 3), r"cols must lie in 0\.\.7, inside the image; got -1"),
        (lambda image: patches_at(image, [0.5], [1], 3), "rows must be a 1-D array of integers"),
        (lambda image: patches_at(image, [0, 1], [1], 3), "equally long; got 2 and 1"),
    ],
)
def test_bad_parameters_raise_at_the_call(call, words):
    with pytest.raises(ValueError, match=words):
        call(np.zeros((6, 8)))
