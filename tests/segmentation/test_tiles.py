"""Tiles cover an image once, and a cut tile is mirrored as numpy mirrors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from invariance.segmentation.tiles import Tile, cut, tiles


class Recorder:
    """An array that remembers which rectangles of it were read."""

    def __init__(self, values):
        self.values = values
        self.shape = values.shape
        self.read = []

    def __getitem__(self, place):
        self.read.append(tuple((part.start, part.stop) for part in place))
        return self.values[place]


@pytest.mark.parametrize("shape", [(1, 1), (7, 12), (8, 8), (9, 3)])
@pytest.mark.parametrize("side", [1, 4, 20])
def test_every_pixel_is_in_one_tile(shape, side):
    visits = np.zeros(shape, int)
    for tile in tiles(*shape, side):
        visits[tile.top : tile.bottom, tile.left : tile.right] += 1
        assert 1 <= min(tile.shape) <= max(tile.shape) <= side
    assert np.all(visits == 1)


@st.composite
def tiles_with_halo(draw):
    height, width = draw(st.integers(1, 9)), draw(st.integers(1, 9))
    top, left = draw(st.integers(0, height - 1)), draw(st.integers(0, width - 1))
    tile = Tile(top, draw(st.integers(top + 1, height)), left, draw(st.integers(left + 1, width)))
    return (height, width), tile, draw(st.integers(0, 30))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(tiles_with_halo(), st.sampled_from([(), (3,)]))
def test_a_cut_is_part_of_the_image_that_numpy_pads(drawn, channels):
    """Also where the halo is many times as wide as the image, and for images of one or two pixels per side."""
    shape, tile, halo = drawn
    image = np.arange(np.prod(shape + channels)).reshape(shape + channels)
    padded = np.pad(image, [(halo, halo)] * 2 + [(0, 0)] * len(channels), mode="reflect")
    expected = padded[tile.top : tile.bottom + 2 * halo, tile.left : tile.right + 2 * halo]
    np.testing.assert_array_equal(cut(image, tile, halo), expected)


def test_only_what_is_needed_is_read():
    image = Recorder(np.arange(10_000).reshape(100, 100))
    cut(image, Tile(40, 50, 60, 75), 8)
    cut(image, Tile(0, 10, 90, 100), 8)
    assert image.read == [((32, 58), (52, 83)), ((0, 18), (82, 100))]


def test_a_memory_mapped_image_stays_on_the_disk(tmp_path):
    values = np.random.default_rng(0).integers(0, 255, (60, 50), dtype=np.uint8)
    np.save(tmp_path / "image.npy", values)
    mapped = np.load(tmp_path / "image.npy", mmap_mode="r")
    part = cut(mapped, Tile(20, 30, 0, 10), 5)
    assert not isinstance(part, np.memmap)
    np.testing.assert_array_equal(part, cut(values, Tile(20, 30, 0, 10), 5))
