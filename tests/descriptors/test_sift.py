"""SIFT at windows: where its histograms lie, and what leaves them alone."""

import numpy as np
import pytest
from scipy import ndimage

from invariance.descriptors import SiftWindows
from invariance.descriptors.sift import place_keypoints
from invariance.images import draw_boxes

# From windows seen in the image itself to windows seen in one reduced eight times.
every_side = pytest.mark.parametrize("side", [16, 24, 40, 64, 96, 240])


def histograms_of(image, box):
    """The 4 x 4 histograms of 8 orientations of one window."""
    return SiftWindows().extract(image, np.array([box]))[0].reshape(4, 4, 8)


def test_vectors_have_length_one_or_are_flat(photo):
    described = SiftWindows().extract(photo, draw_boxes(photo.shape, 50, 0))[0]
    np.testing.assert_allclose(np.linalg.norm(described, axis=1), 1, atol=1e-6)
    assert not histograms_of(np.full((40, 40), 0.5), [4, 4, 30]).any()


@every_side
@pytest.mark.parametrize("cell", [(0, 0), (0, 3), (1, 2), (3, 0), (2, 2)], ids=str)
def test_a_blob_in_a_cell_is_seen_by_its_histogram(side, cell):
    top, left, quarter = side // 4 + 3, side // 2 + 6, side / 4
    rows, cols = np.ogrid[: 2 * side + 9, : 2 * side + 9]
    middle = [start + (place + 0.5) * quarter - 0.5 for start, place in zip((top, left), cell, strict=True)]
    image = np.exp(-((rows - middle[0]) ** 2 + (cols - middle[1]) ** 2) / (2 * (quarter / 4) ** 2))
    energy = (histograms_of(image, [top, left, side]) ** 2).sum(axis=2)
    assert np.unravel_index(energy.argmax(), (4, 4)) == cell
    assert energy[cell] > 0.33  # a blob where four histograms meet would give each a quarter
    centre = np.average(np.indices((4, 4)).reshape(2, 16), axis=1, weights=energy.ravel())
    np.testing.assert_allclose(centre, cell, atol=0.4)


def test_windows_are_seen_as_blurred_as_a_detected_point_of_their_size():
    sides = np.arange(20, 1000)
    points = place_keypoints(np.column_stack([np.zeros((len(sides), 2), int), sides]))
    sizes, packed = np.array([point[2] for point in points]), np.array([point[5] for point in points])
    octaves, layers = packed & 255, packed >> 8
    assert set(layers) == {0, 1, 2}
    blurs = 1.6 * 2 ** (octaves + layers / 3)
    np.testing.assert_allclose(np.log2(2 * blurs / sizes), 0, atol=1 / 6 + 1e-9)  # half a layer
    np.testing.assert_allclose(4 * 1.5 * sizes, sides)


@every_side
def test_upright_edges_have_one_orientation(side):
    columns = np.arange(2 * side)
    ramp = np.tile(np.clip((columns - side / 2) / side, 0, 1), (2 * side, 1))
    window = [side // 2, side // 2, side]
    across, down = histograms_of(ramp, window).sum(axis=(0, 1)), histograms_of(ramp.T, window).sum(axis=(0, 1))
    assert across[0] > 0.95 * across.sum()
    assert down.argmax() in (2, 6)  # OpenCV counts angles from an axis that points up
    assert down.max() > 0.95 * down.sum()


@every_side
def test_what_is_far_outside_does_not_matter(side):
    rng = np.random.default_rng(0)
    image = 0.5 + 0.2 * ndimage.zoom(rng.uniform(-1, 1, (20, 20)), 3 * side / 20, order=1)[: 3 * side, : 3 * side]
    changed = rng.random(image.shape)
    inner = slice(side // 2, -(side // 2))  # half a side around the window: an eighth, and three widths of blur
    changed[inner, inner] = image[inner, inner]
    window = [side, side, side]
    np.testing.assert_allclose(histograms_of(changed, window), histograms_of(image, window), atol=0.02)
    changed[side : 2 * side, side : 2 * side] = rng.random((side, side))
    assert np.abs(histograms_of(changed, window) - histograms_of(image, window)).max() > 0.05


def test_brightness_and_contrast_do_not_matter(photo):
    grey = 0.2 + 0.5 * photo[..., 0] / 255
    boxes = draw_boxes(grey.shape, 30, 0, min_scale=0.4)
    expected = SiftWindows().extract(grey, boxes)[0]
    for factor, offset in ((1, 0.2), (1.3, 0), (0.7, 0.1)):
        found = SiftWindows().extract(factor * grey + offset, boxes)[0]
        assert np.einsum("nd,nd->n", found, expected).min() > 0.998
    assert np.einsum("nd,nd->n", expected[1:], expected[:-1]).max() < 0.998
