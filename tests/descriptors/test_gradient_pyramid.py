"""Pyramids of oriented gradients: which bins and cells an edge falls into, and what leaves them alone."""

import numpy as np
import pytest
from scipy import ndimage

from invariance.descriptors.gradient_pyramid import GradientPyramid, Votes, sum_cells


def disc(row=20, column=20, radius=12, size=40):
    rows, columns = np.ogrid[:size, :size]
    return ndimage.gaussian_filter((np.hypot(rows - row, columns - column) < radius).astype(float), 1)


def step_edge(degrees, size=60):
    """Dark to light along a direction, counted from the columns' axis to the rows'."""
    rows, columns = np.mgrid[:size, :size] - (size - 1) / 2
    angle = np.radians(degrees)
    return 1 / (1 + np.exp(-(columns * np.cos(angle) + rows * np.sin(angle))))


def test_every_level_sums_to_its_weight(photo):
    [vector] = GradientPyramid(n_bins=9, levels=3).transform([photo])
    assert vector.dtype == np.float32
    sums = [part.sum() for part in np.split(vector, [9, 45])]
    np.testing.assert_allclose(sums, [0.25, 0.25, 0.5], atol=1e-5)


@pytest.mark.parametrize("degrees", [0, 30, 75, 135, 160, 200, 270, 345])
@pytest.mark.parametrize("full", [180, 360])
def test_an_edge_falls_into_the_two_nearest_bins(degrees, full):
    n_bins = full // 20
    vector = GradientPyramid(full, n_bins, levels=1, edge_share=0.1).extract(step_edge(degrees))[0][0]
    centres = (np.arange(n_bins) + 0.5) * 20
    away = np.abs((centres - degrees + full / 2) % full - full / 2)
    np.testing.assert_allclose(vector, np.clip(1 - away / 20, 0, 1), atol=0.12)


def test_only_180_degrees_see_a_negative_as_the_same():
    image = step_edge(30)
    for full, is_same in ((180, True), (360, False)):
        pyramid = GradientPyramid(full)
        found, negative = pyramid.extract(image)[0], pyramid.extract(1 - image)[0]
        assert (np.abs(found - negative).sum() < 1e-3) == is_same


def test_contrast_and_brightness_do_not_matter(photo):
    pyramid = GradientPyramid(360)
    grey = photo[..., 0] / 255
    np.testing.assert_allclose(pyramid.extract(0.3 + 0.5 * grey)[0], pyramid.extract(grey)[0], atol=2e-3)


def test_an_object_in_a_corner_is_seen_in_its_cells():
    image = np.zeros((80, 80))
    image[:40, 40:] = disc()
    finest = GradientPyramid(levels=2, n_bins=10).extract(image)[0][0, 10:].reshape(2, 2, 10).sum(axis=2)
    assert finest[0, 1] == pytest.approx(0.5, abs=1e-4)


def test_cells_share_all_votes():
    rng = np.random.default_rng(0)
    votes = Votes(rng.random(50), rng.random(50), rng.integers(3, size=50), rng.random(50))
    sums = sum_cells(votes, 4, 3).reshape(4, 4, 3)
    assert sums.sum() == pytest.approx(votes.strengths.sum())
    of_cell = (votes.rows >= 0.75) & (votes.columns < 0.25) & (votes.bins == 1)
    assert sums[3, 0, 1] == pytest.approx(votes.strengths[of_cell].sum())


def test_a_flat_image_is_spread_evenly():
    vector = GradientPyramid(levels=2, n_bins=5).extract(np.full((20, 20), 0.5))[0][0]
    np.testing.assert_allclose(vector, np.repeat([0.1, 0.025], [5, 20]), atol=1e-6)


def test_paths_and_arrays_and_threads_give_the_same(tmp_path, photo):
    from PIL import Image

    Image.fromarray(photo).save(tmp_path / "a.png")
    rows = GradientPyramid(n_jobs=2).fit().transform([photo, tmp_path / "a.png", photo / 255])
    np.testing.assert_allclose(rows[1:], rows[:1].repeat(2, axis=0), atol=1e-5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"orientation_range": 90}, "orientation_range must be 180 or 360 degrees; got 90"),
        ({"n_bins": 1}, "n_bins must be a whole number of at least 2"),
        ({"levels": 0}, "levels must be a whole number of at least 1"),
        ({"edge_share": 1.5}, "edge_share must be a number from 0 to 1"),
    ],
    ids=str,
)
def test_bad_settings_are_named(settings, message, photo):
    with pytest.raises(ValueError, match=message):
        GradientPyramid(**settings).extract(photo)
