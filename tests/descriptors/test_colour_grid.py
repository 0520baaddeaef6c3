"""Colours on a grid: means of cells, on the colour cylinder."""

import colorsys

import numpy as np
import pytest

from invariance.descriptors.colour_grid import ColourGrid


def test_cells_of_one_colour_are_its_point_of_the_cylinder():
    colours = np.random.default_rng(0).random((5, 3))
    image = np.repeat(np.repeat(colours[None], 4, axis=0), 4, axis=1)  # five cells of 4 x 4 pixels in a row
    hues, saturations, values = np.array([colorsys.rgb_to_hsv(*colour) for colour in colours]).T
    expected = [saturations * np.cos(2 * np.pi * hues), saturations * np.sin(2 * np.pi * hues), values]
    np.testing.assert_allclose(ColourGrid(4, 4).extract(image)[0], np.transpose(expected), atol=1e-5)


def test_places_are_the_middles_of_the_cells(photo):
    grid = ColourGrid(step=6, size=3)
    vectors, places = grid.extract(photo)
    values = photo.max(axis=2) / 255
    for row, column in places[[0, 20, -1]].astype(int):
        index = np.flatnonzero((places == (row, column)).all(axis=1))[0]
        cell = values[row - 1 : row + 2, column - 1 : column + 2]
        assert vectors[index, 2] == pytest.approx(cell.mean(), abs=1e-5)


def test_reds_of_both_ends_of_the_hues_are_near():
    reds = np.array([[[1.0, 0.02, 0.0], [1.0, 0.0, 0.02]]])
    purplish, orange = ColourGrid(1, 1).extract(reds)[0]
    assert np.linalg.norm(purplish - orange) < 0.05


def test_a_grey_image_has_values_only(photo):
    vectors = ColourGrid().extract(photo[..., 0])[0]
    assert vectors.dtype == np.float32
    assert not vectors[:, :2].any()
    assert vectors[:, 2].std() > 0


def test_shares_of_colours_do_not_change_when_the_image_turns(photo):
    square = photo[:48, :48]
    vectors, turned = (ColourGrid().extract(image)[0] for image in (square, np.rot90(square)))
    np.testing.assert_allclose(np.sort(vectors, axis=0), np.sort(turned, axis=0), atol=1e-5)


@pytest.mark.parametrize("settings", [{"step": 0}, {"size": 0}, {"size": 2.5}], ids=str)
def test_bad_settings_are_named(settings, photo):
    [name] = settings
    with pytest.raises(ValueError, match=f"{name} must be a whole number of at least 1"):
        ColourGrid(**settings).extract(photo)[0]
