"""Trials of Φ: which pixels are drawn and held out, and what is scored."""

import numpy as np
import pytest

from invariance.segmentation import trials
from invariance.segmentation.trials import PixelTrials
from invariance.transformations import Identity, Illumination, Rotations
from tests.segmentation.pixel_tasks import handed_figures, striped_squares

RNG = np.random.default_rng(0)


def halves(n_images, side=64):
    """Noise, and masks whose right half is class 1."""
    masks = np.zeros((n_images, side, side), np.uint8)
    masks[:, :, side // 2 :] = 1
    return list(RNG.random(masks.shape, dtype=np.float32)), list(masks)


def test_no_part_is_learned_from_and_held_out_in_one_run():
    tried = PixelTrials(*handed_figures(5), unlabelled=0, patch_size=9, max_pixels=300)
    assert tried.parts.unit == "images"
    assert tried.n_folds == 5
    assert len(tried.runs) == 10
    numbers, codes = tried.parts.numbers, tried.pixels.codes
    for run in tried.runs:
        assert not set(numbers[run.training]) & set(numbers[run.held_out])
        assert set(codes[run.training]) == {0, 1}
        assert len(run.training) == 200
    held_out = np.concatenate([run.held_out for run in tried.runs[:5]])
    assert sorted(held_out) == list(range(300))  # each pixel once


def test_with_few_images_strokes_are_held_out_as_a_whole():
    images, masks = handed_figures(1)
    tried = PixelTrials(images, masks, unlabelled=0, patch_size=9, max_pixels=400)
    assert tried.parts.unit == "strokes"
    assert len(np.unique(tried.parts.numbers)) == 25
    pixels = tried.pixels
    for number in np.unique(tried.parts.numbers):
        stroke = pixels.take(tried.parts.numbers == number)
        assert np.ptp(stroke.rows) <= 2
        assert np.ptp(stroke.cols) <= 2
        assert np.ptp(stroke.codes) == 0


def test_with_few_images_and_whole_masks_squares_are_held_out():
    tried = PixelTrials(*halves(1, side=128), patch_size=9, max_pixels=400)
    assert tried.parts.unit == "squares of 32 x 32 pixels"  # of 64 pixels there are two per class
    assert len(np.unique(tried.parts.numbers)) == 16
    images, masks = halves(1)
    single = np.full_like(masks[0], 7)
    single[:4, :4], single[-4:, -4:] = 0, 1
    with pytest.raises(ValueError, match="class [01] is labelled in one place only"):
        PixelTrials(images, [single], unlabelled=7, patch_size=9)


def test_pixels_come_from_a_limited_number_of_tiles_with_rare_classes_among_them(monkeypatch):
    monkeypatch.setattr(trials, "MAX_TILES", 6)
    monkeypatch.setattr(trials, "TILE_SIDE", 16)
    images, masks = halves(4)
    for mask in masks[:2]:
        mask[3, 3] = mask[60, 60] = 9
    tried = PixelTrials(images, masks, patch_size=9, max_pixels=300)
    places = {(image, row // 16, col // 16) for image, row, col in zip(*tried.pixels[:3], strict=True)}
    assert len(places) == tried.n_tiles == 6
    assert np.bincount(tried.pixels.codes)[2] > 1
    assert tried.n_labelled == 4 * 64 * 64


def test_scores_are_shares_of_each_class_and_repeatable(monkeypatch):
    monkeypatch.setattr(trials, "N_RUNS", 4)
    tried = PixelTrials(*striped_squares(), patch_size=9, max_pixels=1200)
    first, again = tried.score(Identity()), tried.score(Identity())
    np.testing.assert_array_equal(first, again)
    assert first.shape == (4, 2)
    assert ((first >= 0) & (first <= 1)).all()
    assert first.mean() > 0.8
    assert tried.score(Rotations(16)).mean() < first.mean() - 0.1


def test_a_class_that_is_not_held_out_has_no_score(monkeypatch):
    monkeypatch.setattr(trials, "N_RUNS", 4)
    images, masks = halves(4)
    for mask in masks[2:]:
        mask[:] = 0
    tried = PixelTrials(images, masks, patch_size=9, max_pixels=200)
    scores = tried.score(Identity())
    for run, shares in zip(tried.runs, scores, strict=True):
        held_out = set(tried.pixels.codes[run.held_out])
        assert [code in held_out for code in (0, 1)] == np.isfinite(shares).tolist()


def test_images_are_normalized_for_illumination_only():
    images, masks = striped_squares()
    slope = np.linspace(0.2, 1, 64, dtype=np.float32)
    dark = [image * slope for image in images]
    even, uneven = (PixelTrials(some, masks, patch_size=9, max_pixels=200) for some in (images, dark))
    plain, evened = (np.abs(even._describe(kind) - uneven._describe(kind)).mean() for kind in (None, Illumination(8)))
    assert evened < 0.5 * plain


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"patch_size": 8}, "patch_size"),
        ({"patch_size": 1025}, "patch_size"),
        ({"max_pixels": 5}, "max_pixels"),
        ({"scale": "log"}, "scale"),
    ],
)
def test_mistakes_name_the_parameter(settings, named):
    with pytest.raises(ValueError, match=named):
        PixelTrials(*halves(4), **settings)
