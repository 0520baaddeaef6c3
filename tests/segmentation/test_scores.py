import numpy as np
import pytest
from scipy import ndimage, sparse
from scipy.stats import entropy
from skimage.metrics import adapted_rand_error, variation_of_information
from sklearn.metrics import homogeneity_completeness_v_measure

from invariance.segmentation.regions import compare_regions, thinned_regions
from invariance.segmentation.scores import segmentation_scores
from tests import reference


def walls(size=24, width=1):
    """Four rooms: True on walls of this width through the middle."""
    truth = np.zeros((size, size), dtype=bool)
    middle = slice(size // 2 - width // 2, size // 2 - width // 2 + width)
    truth[middle] = truth[:, middle] = True
    return truth


def blobs(seed, shape=(40, 50), sigma=2.0):
    """Smooth random probabilities in 0..1."""
    smooth = ndimage.gaussian_filter(np.random.default_rng(seed).random(shape), sigma)
    return (smooth - smooth.min()) / np.ptp(smooth)


def rooms(seed, n_seeds=40, shape=(60, 70)):
    """Cells around random points, with boundaries of irregular width."""
    rng = np.random.default_rng(seed)
    rows, cols = rng.integers(shape[0], size=n_seeds), rng.integers(shape[1], size=n_seeds)
    distances = np.hypot(*(np.indices(shape)[..., None] - np.array([rows, cols])[:, None, None]))
    nearest = np.sort(distances, axis=-1)
    return nearest[..., 1] - nearest[..., 0] < 1.5


# --- against the slow twins -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("shape", [(9, 11), (1, 12), (12, 1), (1, 1), (2, 2)])
def test_thinning_equals_the_slow_twin(shape, seed):
    boundary = np.random.default_rng(seed).random(shape) < 0.2 + 0.12 * seed
    regions, expected = thinned_regions(boundary), reference.thinned_regions(boundary)
    n_regions = expected.max()
    np.testing.assert_array_equal(np.where(regions > n_regions, 0, regions), expected)
    singles = regions[regions > n_regions]
    assert len(np.unique(singles)) == len(singles)


@pytest.mark.parametrize("seed", range(6))
def test_scores_equal_the_slow_twins(seed):
    rng = np.random.default_rng(seed)
    probabilities, truth = rng.integers(0, 8, (8, 9)) / 7, rng.random((8, 9)) < 0.35  # many equal probabilities
    scores = segmentation_scores(probabilities, truth, thresholds=[0.5])
    expected = reference.region_scores(reference.thinned_regions(probabilities >= 0.5), reference.components(~truth))
    names = ("v_rand", "v_rand_split", "v_rand_merge", "v_info", "v_info_split", "v_info_merge")
    np.testing.assert_allclose([getattr(scores, name) for name in names], expected, atol=1e-12)
    np.testing.assert_allclose(
        (scores.best_pixel_error, scores.boundary_f, scores.cell_f), reference.pixel_scores(probabilities, truth)
    )
    assert scores.pixel_error == np.mean((probabilities >= 0.5) != truth)


# --- against scikit-image and scikit-learn ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_v_rand_is_scikit_images_adapted_rand(seed):
    pytest.importorskip("skimage", "0.26", reason="scikit-image takes tables that are sparse arrays since 0.26")
    true, found = reference.components(~rooms(seed)), thinned_regions(blobs(seed, (60, 70)) > 0.5)
    scores = compare_regions(found, true)
    table = sparse.csr_array((np.ones(np.count_nonzero(true)), (true[true > 0], found[true > 0])))
    # scikit-image leaves out the pair that a pixel makes with itself; of 1e9 copies of every pixel that is nothing.
    error, precision, recall = adapted_rand_error(table=table * 1e9)
    assert scores.v_rand == pytest.approx(1 - error, abs=1e-7)
    # Sorted, as its documentation and its code disagree about which of the two is which.
    assert sorted((scores.v_rand_split, scores.v_rand_merge)) == pytest.approx(sorted((precision, recall)), abs=1e-7)
    assert scores.v_rand == pytest.approx(1 - adapted_rand_error(true, found)[0], abs=1e-2)


@pytest.mark.parametrize("seed", range(3))
def test_v_info_is_scikit_images_variation_of_information_normalised(seed):
    true, found = reference.components(~rooms(seed)), thinned_regions(blobs(seed, (60, 70)) > 0.5)
    scores = compare_regions(found, true)
    splits, merges = variation_of_information(true, found, ignore_labels=(0,))  # H(S|T), H(T|S) in bits
    h_found, h_true = (entropy(np.bincount(regions[true > 0]), base=2) for regions in (found, true))
    assert scores.v_info_split == pytest.approx(1 - splits / h_found)
    assert scores.v_info_merge == pytest.approx(1 - merges / h_true)
    assert scores.v_info == pytest.approx(1 - (splits + merges) / (h_found + h_true))
    assert (scores.v_info_merge, scores.v_info_split, scores.v_info) == pytest.approx(
        homogeneity_completeness_v_measure(true[true > 0], found[true > 0])
    )


# --- what the scores must say -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1, 2, 5])
def test_the_truth_itself_is_perfect(width):
    truth = walls(width=width)
    scores = segmentation_scores(truth.astype(np.float32), truth)
    assert scores.pixel_error == scores.best_pixel_error == 0
    assert scores[2:7] == pytest.approx([1] * 5)
    assert (scores.v_info, scores.v_info_split, scores.v_info_merge) == pytest.approx((1, 1, 1))


def test_the_width_of_a_boundary_does_not_matter_to_regions():
    truth = walls(width=3)
    for width in (1, 5, 9):
        scores = segmentation_scores(walls(width=width) * 0.9, truth)
        assert (scores.v_rand, scores.v_info) == pytest.approx((1, 1))
        assert scores.pixel_error > 0


def test_a_gap_merges_and_a_false_wall_splits():
    truth = walls(width=3)
    gap, wall = truth.copy(), truth.copy()
    gap[4, :] = False
    wall[5, :] = True
    merged, split = segmentation_scores(gap, truth), segmentation_scores(wall, truth)
    assert merged.pixel_error < 0.01  # yet two pairs of rooms are one
    assert merged.v_rand_split == merged.v_info_split == 1
    assert max(merged.v_rand_merge, merged.v_info_merge, merged.v_rand, merged.v_info) < 0.9
    assert split.v_rand_split < 0.9 < 1 == split.v_rand_merge
    assert split.v_info_split < 0.9 < 1 == split.v_info_merge


@pytest.mark.parametrize("level", [0.0, 1.0])
def test_a_flat_map_is_one_region(level):
    truth = walls(size=25)  # four rooms of 144 pixels
    scores = segmentation_scores(np.full(truth.shape, level), truth)
    assert (scores.v_rand_split, scores.v_rand_merge) == (1, 0.25)
    assert scores.v_rand == pytest.approx(2 / (1 + 4))
    assert scores.v_info == 0
    assert scores.pixel_error == (truth.mean() if level == 0 else 1 - truth.mean())
    assert scores.best_pixel_error == truth.mean()
    assert scores.cell_f == pytest.approx(2 * (1 - truth.mean()) / (2 - truth.mean()))
    assert scores.boundary_f == pytest.approx(2 * truth.mean() / (1 + truth.mean()))


def test_one_true_region_found_as_one_is_perfect():
    truth = np.zeros((6, 6), dtype=bool)
    truth[2:4, 2:4] = True
    scores = segmentation_scores(np.zeros((6, 6)), truth)
    assert (scores.v_rand, scores.v_info, scores.v_info_split, scores.v_info_merge) == (1, 1, 1, 1)


def test_a_line_in_the_wrong_place_costs_its_pixels():
    true, boundary = np.ones((1, 5), dtype=int), np.array([[False, False, True, False, False]])
    scores = compare_regions(thinned_regions(boundary), true)
    assert scores.v_rand_split == pytest.approx((2**2 + 1 + 2**2) / 5**2)
    assert (scores.v_rand_merge, scores.v_info, scores.v_info_merge) == (1, 0, 1)


def test_each_score_is_at_its_own_best_threshold():
    truth = rooms(0)
    probabilities = np.clip(0.6 * ndimage.gaussian_filter(truth * 1.0, 1) + 0.4 * blobs(1, truth.shape), 0, 1)
    thresholds = [0.2, 0.3, 0.4, 0.5]
    best = segmentation_scores(probabilities, truth, thresholds=thresholds)
    single = {t: segmentation_scores(probabilities, truth, thresholds=[t]) for t in thresholds}
    assert best.v_rand == max(scores.v_rand for scores in single.values()) == single[best.v_rand_threshold].v_rand
    assert best.v_info == max(scores.v_info for scores in single.values()) == single[best.v_info_threshold].v_info
    assert best[4:7] == single[best.v_rand_threshold][4:7]
    assert best[8:11] == single[best.v_info_threshold][8:11]
    assert len({scores.v_rand for scores in single.values()}) == 4
    assert best.best_pixel_error <= best.pixel_error
    assert best.boundary_f == single[0.2].boundary_f  # over every threshold, not over those given


# --- stacks and masks -------------------------------------------------------------------------------------------------


def test_a_stack_pools_pixels_and_averages_regions_at_one_threshold():
    truth = np.stack([rooms(seed) for seed in range(3)])
    maps = np.stack([0.5 * t + 0.5 * blobs(seed, t.shape, 1) for seed, t in enumerate(truth)])
    thresholds = [0.3, 0.4, 0.5, 0.6]
    together = segmentation_scores(maps, truth, thresholds=thresholds)
    rows = [[segmentation_scores(m, t, thresholds=[c]) for m, t in zip(maps, truth, strict=True)] for c in thresholds]
    assert together.v_rand == pytest.approx(max(np.mean([s.v_rand for s in row]) for row in rows))
    assert together.v_info == pytest.approx(max(np.mean([s.v_info for s in row]) for row in rows))
    pooled = reference.pixel_scores(np.round(maps, 2).reshape(3, -1), truth.reshape(3, -1))
    rounded = segmentation_scores(np.round(maps, 2), truth, thresholds=[0.5])
    assert (rounded.best_pixel_error, rounded.boundary_f, rounded.cell_f) == pytest.approx(pooled)
    assert segmentation_scores(maps, truth, thresholds=thresholds, n_jobs=2) == together


def test_a_section_that_is_all_boundary_has_no_say_in_regions():
    truth = np.stack([walls(), np.ones((24, 24), dtype=bool)])
    scores = segmentation_scores(np.stack([walls() * 0.9, np.zeros((24, 24))]), truth)
    assert scores.v_rand == pytest.approx(1)
    assert scores.pixel_error == 0.5


def test_only_labelled_pixels_count():
    truth, probabilities = rooms(0), blobs(0, (60, 70))
    labelled = np.zeros(truth.shape, dtype=bool)
    labelled[:, :40] = True
    scores = segmentation_scores(probabilities, truth, labelled=labelled)
    garbage = np.where(labelled, truth, ~truth)
    assert segmentation_scores(probabilities, garbage, labelled=labelled) == scores
    assert scores.pixel_error == np.mean((probabilities >= 0.5)[labelled] != truth[labelled])
    assert segmentation_scores(probabilities, truth) != scores
    everywhere = np.ones(truth.shape, dtype=bool)
    assert segmentation_scores(probabilities, truth, labelled=everywhere) == segmentation_scores(probabilities, truth)


# --- mistakes ---------------------------------------------------------------------------------------------------------

TRUTH, FLAT = walls(), np.full((24, 24), 0.5)


@pytest.mark.parametrize(
    ("probabilities", "truth", "options", "message"),
    [
        (FLAT[:-1], TRUTH, {}, r"truth must have the shape \(23, 24\) of probabilities; got \(24, 24\)"),
        (FLAT[None], TRUTH, {}, r"truth must have the shape \(1, 24, 24\)"),
        (FLAT[0], TRUTH[0], {}, "must be a section .* or a stack"),
        (FLAT[:0], TRUTH[:0], {}, "must be a section .* or a stack"),
        (np.where(TRUTH, np.nan, FLAT), TRUTH, {}, "from 0 to 1; got values from nan"),
        (255 * FLAT, TRUTH, {}, "from 0 to 1; got values from 127.5 to 127.5. Divide 8-bit maps by 255"),
        (FLAT - 1, TRUTH, {}, "from 0 to 1; got values from -0.5"),
        (FLAT.astype(complex), TRUTH, {}, "of dtype complex128"),
        (FLAT.astype(str), TRUTH, {}, "of dtype <U"),
        (FLAT, TRUTH * 255, {}, "truth must be boolean; got int64"),
        (FLAT, np.zeros_like(TRUTH), {}, "truth must have boundary .* got 0 and 576"),
        (FLAT, np.ones_like(TRUTH), {}, "truth must have boundary .* got 576 and 0"),
        (FLAT, TRUTH, {"labelled": TRUTH}, "truth must have boundary .* got 47 and 0"),
        (FLAT, TRUTH, {"labelled": np.zeros_like(TRUTH)}, "truth must have boundary .* got 0 and 0"),
        (FLAT, TRUTH, {"labelled": TRUTH[1:]}, "labelled must have the shape"),
        (FLAT, TRUTH, {"labelled": FLAT}, "labelled must be boolean"),
        (FLAT, TRUTH, {"thresholds": []}, "thresholds must contain at least one"),
        (FLAT, TRUTH, {"thresholds": [0.5, 1.5]}, "each of thresholds must be a number from 0 to 1; got 1.5"),
        (FLAT, TRUTH, {"thresholds": [np.nan]}, "each of thresholds"),
        (FLAT, TRUTH, {"thresholds": "half"}, "each of thresholds"),
        (FLAT, TRUTH, {"thresholds": None}, "each of thresholds"),
    ],
)
def test_mistakes_are_explained_in_one_line(probabilities, truth, options, message):
    with pytest.raises(ValueError, match=message) as caught:
        segmentation_scores(probabilities, truth, **options)
    assert "\n" not in str(caught.value)


def test_rounding_and_a_single_threshold_are_no_mistakes():
    probabilities = TRUTH * np.float32(1 + 1e-7)
    assert probabilities.max() > 1
    assert segmentation_scores(probabilities, TRUTH, thresholds=0.4).v_rand_threshold == 0.4


def test_the_arguments_are_left_as_they_were():
    probabilities, truth = blobs(0, (60, 70)), rooms(0)
    copies = probabilities.copy(), truth.copy()
    segmentation_scores(probabilities, truth)
    np.testing.assert_array_equal(probabilities, copies[0])
    np.testing.assert_array_equal(truth, copies[1])
