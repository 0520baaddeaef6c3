"""The Haar transform of a window: orthonormal, in place, channel by channel."""

import numpy as np
import pytest

from invariance.descriptors import HaarPatches, HslPatches
from invariance.images import draw_boxes
from tests import reference


@pytest.mark.parametrize("size", [1, 2, 4, 16])
@pytest.mark.parametrize("kind", ["grey", "colour"])
def test_windows_equal_their_slow_twin(size, kind, photo):
    image = photo if kind == "colour" else photo[..., 1]
    boxes = draw_boxes(image.shape, 5, 0)
    cells = HslPatches(size).extract(image, boxes)[0].reshape(5, size, size, -1)
    transformed = HaarPatches(size).extract(image, boxes)[0].reshape(cells.shape)
    for window in range(5):
        for channel in range(cells.shape[3]):
            expected = reference.haar_transform(cells[window, ..., channel])
            np.testing.assert_allclose(transformed[window, ..., channel], expected, atol=1e-5)


def test_it_is_orthonormal():
    units = np.eye(64).reshape(64, 8, 8)
    matrix = HaarPatches(8).extract(units.reshape(512, 8), np.array([[8 * i, 0, 8] for i in range(64)]))[0]
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(64), atol=1e-6)


def test_places_mean_what_the_documentation_says(photo):
    grey = photo[..., 0] / 255
    cells = grey[5:21, 7:23]
    [row] = HaarPatches().extract(grey, np.array([[5, 7, 16]]))[0]
    values = row.reshape(16, 16)
    assert values[0, 0] == pytest.approx(16 * cells.mean(), rel=1e-5)
    assert values[0, 8] == pytest.approx((cells[:, :8].sum() - cells[:, 8:].sum()) / 16, abs=1e-5)
    assert values[8, 0] == pytest.approx((cells[:8].sum() - cells[8:].sum()) / 16, abs=1e-5)
    square = cells[8:12, 4:8]
    assert values[10, 4] == pytest.approx((square[:2].sum() - square[2:].sum()) / 4, abs=1e-5)


def test_a_size_that_cannot_be_halved_is_refused(photo):
    with pytest.raises(ValueError, match="size must be a power of two, to be halved; got 12. Try 16."):
        HaarPatches(12).extract(photo, np.array([[0, 0, 5]]))[0]
