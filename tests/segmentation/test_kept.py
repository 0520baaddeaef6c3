"""Features of tiles that are computed once in a fit."""

import numpy as np
import pytest

from invariance.segmentation import description as descriptions
from invariance.segmentation import kept
from invariance.segmentation.description import BANK_ALONE, tile_side
from invariance.segmentation.kept import KeptDescription, keep_features
from invariance.segmentation.standard import StandardImage
from invariance.segmentation.tiles import tiles


@pytest.fixture
def image():
    return StandardImage(np.random.default_rng(0).random((150, 130)), True)


@pytest.mark.parametrize("side", [64, 256])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_rows_are_those_of_the_description_and_tiles_are_described_once(image, side, n_jobs, monkeypatch):
    monkeypatch.setattr(descriptions, "TILE_SIDE", side)
    monkeypatch.setattr(descriptions.tile_side, "__defaults__", (side,))
    rows, cols = np.random.default_rng(1).integers(0, 130, (2, 40))
    log, everywhere = [], type(BANK_ALONE).everywhere
    monkeypatch.setattr(
        type(BANK_ALONE), "everywhere", lambda self, *given: log.append(given[1]) or everywhere(self, *given)
    )
    keeping = KeptDescription(BANK_ALONE)
    np.testing.assert_array_equal(keeping.at(image, rows, cols, n_jobs), BANK_ALONE.at(image, rows, cols))
    for tile in tiles(150, 130, tile_side(image)):
        out = np.empty((BANK_ALONE.n_features(1), *tile.shape), np.float32)
        assert keeping.everywhere(image, tile, side, out) is out
        np.testing.assert_array_equal(out, everywhere(BANK_ALONE, image, tile, side))
    assert len(log) == len(set(log)) == (9 if side == 64 else 1)


def test_images_are_not_confused(image):
    other = StandardImage(np.random.default_rng(2).random((150, 130)), True)
    rows, cols = np.arange(10), np.arange(10)
    keeping = KeptDescription(BANK_ALONE)
    for own in (image, other, image):
        np.testing.assert_array_equal(keeping.at(own, rows, cols), BANK_ALONE.at(own, rows, cols))


def test_features_are_kept_if_those_of_all_images_fit(image, monkeypatch):
    size = 4 * 150 * 130 * BANK_ALONE.n_features(1)
    monkeypatch.setattr(kept, "MAX_KEPT_BYTES", 2 * size)
    assert isinstance(keep_features(BANK_ALONE, [image, image]), KeptDescription)
    monkeypatch.setattr(kept, "MAX_KEPT_BYTES", 2 * size - 1)
    assert keep_features(BANK_ALONE, [image, image]) is BANK_ALONE
