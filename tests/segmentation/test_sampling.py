"""Which pixels are drawn, and into which folds they go."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from invariance.segmentation.observations import SQUARE, group_pixels, number_strokes, thin_strokes
from invariance.segmentation.sampling import Pixels, count_labels, draw_pixels, make_folds

UNLABELLED = 9


def make_masks(shares, n_images=3, shape=(40, 50), seed=0):
    """Masks of the values 0, 1, ... with these shares, the rest being unlabelled."""
    rng = np.random.default_rng(seed)
    values = [*range(len(shares)), UNLABELLED]
    return [rng.choice(values, shape, p=[*shares, 1 - sum(shares)]) for _ in range(n_images)]


def draw(masks, n_classes, n_pixels, sampling, seed=0):
    classes = np.arange(n_classes)
    return draw_pixels(masks, classes, count_labels(masks, classes), n_pixels, sampling, np.random.default_rng(seed))


@pytest.mark.parametrize("sampling", ["proportional", "balanced"])
@pytest.mark.parametrize("n_pixels", [3, 100, 3000, 10**6])
def test_drawn_pixels_are_labelled_right_sorted_by_image_and_none_comes_twice(sampling, n_pixels):
    masks = make_masks((0.3, 0.2, 0.1))
    pixels = draw(masks, 3, n_pixels, sampling)
    n_labelled = sum(np.count_nonzero(mask != UNLABELLED) for mask in masks)
    assert len(pixels.codes) <= n_labelled
    if n_pixels > n_labelled:
        assert len(pixels.codes) == n_labelled
    assert np.all(np.diff(pixels.image) >= 0)
    places = list(zip(pixels.image, pixels.rows, pixels.cols, strict=True))
    assert len(set(places)) == len(places)
    assert [masks[image][row, col] for image, row, col in places] == pixels.codes.tolist()


def test_proportional_draws_as_they_come():
    masks = make_masks((0.6, 0.2, 0.1))
    totals = count_labels(masks, np.arange(3)).sum(axis=0)
    drawn = np.bincount(draw(masks, 3, 1000, "proportional").codes)
    np.testing.assert_allclose(drawn, 1000 * totals / totals.sum(), atol=1)


def test_balanced_draws_as_many_of_each_class():
    drawn = np.bincount(draw(make_masks((0.6, 0.2, 0.1)), 3, 300, "balanced").codes)
    np.testing.assert_array_equal(drawn, [100, 100, 100])


def test_what_a_rare_class_cannot_give_is_given_by_the_others():
    masks = make_masks((0.4, 0.3, 0.0))
    masks[1][:3, 0] = 2
    drawn = np.bincount(draw(masks, 3, 303, "balanced").codes)
    np.testing.assert_array_equal(drawn, [150, 150, 3])


@pytest.mark.parametrize("sampling", ["proportional", "balanced"])
def test_no_class_is_left_out(sampling):
    masks = make_masks((0.5, 0.4, 0.0))
    masks[2][20, 20] = 2
    for seed in range(5):
        assert set(draw(masks, 3, 20, sampling, seed).codes) == {0, 1, 2}


@pytest.mark.parametrize("sampling", ["proportional", "balanced"])
def test_every_image_gives_its_share(sampling):
    masks = make_masks((0.5, 0.4), n_images=2) + make_masks((0.1, 0.08), n_images=1, seed=1)
    shares = np.bincount(draw(masks, 2, 1000, sampling).image) / 1000
    np.testing.assert_allclose(shares, np.array([5, 5, 1]) / 11, atol=0.04)


def test_pixels_are_drawn_from_all_over_an_image():
    pixels = draw(make_masks((0.5, 0.5), n_images=1, shape=(60, 60)), 2, 400, "proportional")
    counts = np.histogram2d(pixels.rows, pixels.cols, bins=3, range=[(0, 60), (0, 60)])[0]
    assert counts.min() > 20
    assert counts.max() < 80


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.integers(1, 40), min_size=2, max_size=5), st.integers(2, 120))
def test_balanced_quotas_are_as_equal_as_can_be(totals, n_pixels):
    mask = np.repeat(np.arange(len(totals)), totals)[None]
    drawn = np.bincount(draw([mask], len(totals), n_pixels, "balanced").codes, minlength=len(totals))
    assert drawn.sum() == min(max(n_pixels, len(totals)), sum(totals))
    assert np.all(drawn >= 1)
    not_all = drawn[drawn < totals]
    assert len(not_all) == 0 or (np.ptp(not_all) <= 1 and drawn.max() <= not_all.max())


def test_by_image_gives_every_pixel_once():
    pixels = draw(make_masks((0.3, 0.2), n_images=4), 2, 50, "proportional")
    pixels = pixels.take(pixels.image != 1)
    found = {index: places for index, places in pixels.by_image()}
    assert found.keys() == {0, 2, 3}
    np.testing.assert_array_equal(np.concatenate(list(found.values())), np.arange(len(pixels.codes)))
    assert all(np.all(pixels.image[places] == index) for index, places in found.items())


# --- folds ------------------------------------------------------------------------------------------------------------


def fold_pixels(masks, pixels, n_classes, seed=0):
    """The fold of every pixel."""
    strokes = number_strokes([np.isin(mask, range(n_classes)) for mask in masks], pixels)
    return make_folds(group_pixels(pixels, strokes), pixels.codes, n_classes, np.random.default_rng(seed))


def assert_every_fold_leaves_all_classes(pixels, fold, n_classes):
    assert set(fold) == {0, 1}
    for number in (0, 1):
        assert len(np.unique(pixels.codes[fold != number])) == n_classes


@pytest.mark.parametrize("seed", range(10))
def test_many_images_are_folded_whole(seed):
    masks = make_masks((0.3, 0.2, 0.1), n_images=5)
    pixels = draw(masks, 3, 500, "proportional", seed)
    fold = fold_pixels(masks, pixels, 3, seed)
    assert_every_fold_leaves_all_classes(pixels, fold, 3)
    assert all(len(np.unique(fold[pixels.image == index])) == 1 for index in range(5))


@pytest.mark.parametrize("seed", range(10))
def test_few_images_are_folded_by_squares(seed):
    masks = make_masks((0.3, 0.2), n_images=1, shape=(3 * SQUARE, 2 * SQUARE))
    pixels = draw(masks, 2, 500, "proportional", seed)
    fold = fold_pixels(masks, pixels, 2, seed)
    assert_every_fold_leaves_all_classes(pixels, fold, 2)
    for square in range(6):
        inside = (pixels.rows // SQUARE == square // 2) & (pixels.cols // SQUARE == square % 2)
        assert len(np.unique(fold[inside])) == 1


@pytest.mark.parametrize("seed", range(10))
def test_a_class_in_few_images_is_never_left_out(seed):
    masks = make_masks((0.3, 0.2), n_images=6)
    pixels = draw(masks, 2, 300, "proportional", seed)
    pixels.codes[:] = 0
    for index in (1, 4):
        pixels.codes[np.flatnonzero(pixels.image == index)[:2]] = 1
    fold = fold_pixels(masks, pixels, 2, seed)
    assert_every_fold_leaves_all_classes(pixels, fold, 2)


@pytest.mark.parametrize("n_images", [1, 6])
def test_a_class_in_one_place_only_cannot_be_folded(n_images):
    masks = make_masks((0.3, 0.2), n_images=n_images)
    pixels = draw(masks, 2, 100, "proportional")
    pixels.codes[:] = 0
    pixels.codes[0] = 1
    assert fold_pixels(masks, pixels, 2) is None


def test_a_single_stroke_cannot_be_folded():
    masks = make_masks((0.3, 0.2), n_images=1)
    assert fold_pixels(masks, draw(masks, 2, 100, "proportional"), 2) is None


def make_strokes(*boxes, shape=(300, 300)):
    """A mask whose boxes (top, bottom, left, right) are labelled 0 and 1 in turn."""
    mask = np.full(shape, UNLABELLED)
    for number, (top, bottom, left, right) in enumerate(boxes):
        mask[top:bottom, left:right] = number % 2
    return mask


def group_all(*masks):
    """The stroke of every labelled pixel, and the pixels."""
    pixels = draw(masks, 2, 10**6, "proportional")
    return number_strokes([mask != UNLABELLED for mask in masks], pixels), pixels


def test_a_stroke_is_one_stroke_wherever_it_lies():
    groups, pixels = group_all(make_strokes((60, 70, 60, 70), (100, 160, 60, 63), (10, 20, 250, 260)))
    assert groups.max() == 2
    for group in range(3):
        assert len(np.unique(pixels.codes[groups == group])) == 1


@pytest.mark.parametrize(("gap", "n_groups"), [(2, 1), (8, 1), (9, 2), (30, 2)])
def test_strokes_beside_each_other_are_one_stroke(gap, n_groups):
    groups, _ = group_all(make_strokes((50, 60, 50, 60), (50, 60, 60 + gap, 70 + gap)))
    assert groups.max() + 1 == n_groups


def test_large_strokes_are_cut_and_images_are_kept_apart():
    line, dot = make_strokes((50, 53, 10, 290)), make_strokes((0, 0, 0, 0), (50, 53, 10, 13))
    groups, pixels = group_all(line, dot)
    assert groups.max() + 1 == len(np.unique(np.arange(10, 290) // SQUARE)) + 1
    assert set(groups[pixels.image == 0]).isdisjoint(groups[pixels.image == 1])


def test_some_pixels_can_be_taken():
    pixels = Pixels(*np.arange(12).reshape(4, 3))
    assert [column.tolist() for column in pixels.take(np.array([0, 2]))] == [[0, 2], [3, 5], [6, 8], [9, 11]]


@pytest.mark.parametrize(("n_wanted", "n_each"), [(10, 32), (180, 55), (1000, 100)])
def test_large_strokes_are_thinned_and_small_ones_are_not(n_wanted, n_each):
    """Strokes of 100, 100 and 30 pixels of class 0; the second also has 40 of class 1."""
    sizes = {(0, 0): 100, (1, 0): 100, (2, 0): 30, (1, 1): 40}
    strokes, codes = np.repeat(np.array(list(sizes)), list(sizes.values()), axis=0).T
    order = np.random.default_rng(0).permutation(len(codes))
    pixels = Pixels(np.zeros(len(codes), int), np.arange(len(codes)), strokes[order], codes[order])
    kept = thin_strokes(pixels, strokes[order], n_wanted, np.random.default_rng(1))
    counts = {key: np.sum((kept.cols == key[0]) & (kept.codes == key[1])) for key in sizes}
    assert counts == {key: min(size, n_each) for key, size in sizes.items()}
    assert np.all(np.diff(kept.rows) > 0)
