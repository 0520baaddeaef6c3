"""Oriented gradients on a grid: the compiled loop and its twin, which orientations an edge has, and what is ignored."""

import numpy as np
import pytest

from invariance.descriptors import GradientGrid
from tests import reference


@pytest.mark.parametrize(("shape", "n_cells", "n_bins"), [((9, 12), 3, 8), ((20, 20), 7, 5), ((4, 4), 6, 2)])
def test_the_compiled_loop_is_its_plain_twin(shape, n_cells, n_bins):
    images = np.random.default_rng(0).random((3, *shape)).astype(np.float32)
    images[2] = 0.5
    found = GradientGrid(n_cells, n_bins).transform(images)
    expected = [reference.gradient_grid(image, n_cells, n_bins) for image in images]
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("bin_of_edge", range(8))
def test_an_edge_is_of_its_orientation(bin_of_edge):
    rows, columns = np.mgrid[:24, :24] - 11.5
    angle = 2 * np.pi * bin_of_edge / 8
    ramp = 0.5 + 0.02 * (columns * np.cos(angle) + rows * np.sin(angle))
    cells = GradientGrid(5, 8).transform([ramp.astype(np.float32)])[0].reshape(5, 5, 8)
    strengths = np.square(cells[2, 2])  # values are square roots
    assert strengths[bin_of_edge] > 0.99 * strengths.sum() > 0


def test_brightness_and_contrast_do_not_matter(photo):
    grey = photo[..., 0] / np.float32(255)
    grid = GradientGrid()
    np.testing.assert_allclose(grid.transform([0.2 + 0.3 * grey]), grid.transform([grey]), atol=1e-3)


def test_vectors_have_length_one_or_zero(photo):
    grid = GradientGrid()
    assert np.linalg.norm(grid.transform([photo[..., 0]])) == pytest.approx(1, abs=1e-6)
    assert not grid.transform([np.full((16, 16), 0.7)]).any()
    assert not grid.transform([np.ones((1, 1))]).any()


def test_extract_gives_one_vector_in_the_middle(photo):
    vectors, places = GradientGrid(4, 6).extract(photo)
    assert vectors.shape == (1, 4 * 4 * 6)
    np.testing.assert_allclose(places, [(np.array(photo.shape[:2]) - 1) / 2])
