"""The stages of learning: pseudo-labels, context from unseen pixels, the selection of the patch size."""

import numpy as np
import pytest
from scipy import ndimage
from sklearn.base import BaseEstimator, ClassifierMixin

from invariance.datasets import make_membranes
from invariance.images import pyramid_patches
from invariance.jungles import InvariantFeatures
from invariance.jungles.final_estimators import make_final_estimator
from invariance.segmentation import JungleSegmenter, segmenter
from invariance.segmentation.bank import N_RESPONSES
from invariance.segmentation.description import BANK_ALONE
from invariance.segmentation.inputs import pair_up
from invariance.segmentation.observations import group_pixels, number_strokes
from invariance.segmentation.patches import cut_patches, select_patch_size
from invariance.segmentation.pseudo_labels import add_pseudo_labels
from invariance.segmentation.rounds import fit_rounds
from invariance.segmentation.sampling import Pixels, draw_pixels, make_folds
from invariance.segmentation.windows import N_SCALES
from invariance.transformations import Rotations

UNLABELLED = 9
QUICK = {"transformations": Rotations(4), "patch_size": 7, "n_trees": 10, "max_depth": 2, "rank": 12, "random_state": 0}


@pytest.fixture(scope="module")
def membranes():
    return make_membranes(2, (80, 80), cell_size=24, random_state=0)


@pytest.fixture(scope="module")
def scribbles(membranes):
    """Labels in small discs only."""
    discs = np.zeros((2, 80, 80), bool)
    discs[:, 10::20, 10::20] = True
    near = ndimage.distance_transform_edt(~discs, sampling=(1000, 1, 1)) <= 2.5
    return np.where(near, membranes.masks.astype(int), UNLABELLED)


def draw_all(labelled):
    return draw_pixels(
        labelled.masks, labelled.classes, labelled.counts, 10**6, "proportional", np.random.default_rng(0)
    )


def boosting(n_samples):
    return make_final_estimator("boosting", n_samples, 0, 20)


# --- pseudo-labels ----------------------------------------------------------------------------------------------------


def add(labelled, pixels, n_wanted, seed=0):
    return add_pseudo_labels(labelled, pixels, n_wanted, boosting, np.random.default_rng(seed), None)


def test_pseudo_labels_are_of_unlabelled_pixels_and_mostly_right(membranes, scribbles):
    labelled = pair_up(membranes.images, scribbles, UNLABELLED, True)
    pixels = draw_all(labelled)
    together = add(labelled, pixels, 2000)
    places = list(zip(together.image.tolist(), together.rows.tolist(), together.cols.tolist(), strict=True))
    assert len(set(places)) == len(places)
    assert np.all(np.diff(together.image) >= 0)
    given = scribbles[together.image, together.rows, together.cols]
    assert np.count_nonzero(given != UNLABELLED) == len(pixels.codes), "the labelled ones, none of them guessed anew"
    np.testing.assert_array_equal(together.codes[given != UNLABELLED], given[given != UNLABELLED])
    added = together.take(given == UNLABELLED)
    assert 1000 < len(added.codes) <= 2000
    assert set(added.image) == {0, 1}
    truth = membranes.masks[added.image, added.rows, added.cols]
    assert [np.mean(added.codes[truth == code] == code) > 0.8 for code in (0, 1)] == [True, True]


def test_nothing_is_added_where_all_or_enough_is_labelled(membranes, scribbles):
    dense = pair_up(membranes.images, membranes.masks, None, True)
    pixels = draw_pixels(dense.masks, dense.classes, dense.counts, 100, "proportional", np.random.default_rng(0))
    assert add(dense, pixels, 2000) is pixels
    sparse = pair_up(membranes.images, scribbles, UNLABELLED, True)
    pixels = draw_all(sparse)
    assert add(sparse, pixels, 0) is pixels
    assert add(sparse, pixels, len(pixels.codes)) is pixels


def test_an_image_that_is_fully_labelled_gets_no_pseudo_labels(membranes, scribbles):
    masks = [membranes.masks[0].astype(int), scribbles[1]]
    labelled = pair_up(membranes.images, masks, UNLABELLED, True)
    pixels = draw_pixels(
        labelled.masks, labelled.classes, labelled.counts, 500, "proportional", np.random.default_rng(0)
    )
    together = add(labelled, pixels, 1500)
    assert np.count_nonzero(together.image == 0) == np.count_nonzero(pixels.image == 0)
    assert np.count_nonzero(together.image == 1) > np.count_nonzero(pixels.image == 1) + 500


def test_an_uncertain_model_gives_no_pseudo_labels(membranes, scribbles):
    class Undecided:
        classes_ = np.arange(2)

        def fit(self, features, codes):
            return self

        def predict_proba(self, features):
            return np.tile([0.6, 0.4], (len(features), 1))

    labelled = pair_up(membranes.images, scribbles, UNLABELLED, True)
    pixels = draw_all(labelled)
    together = add_pseudo_labels(labelled, pixels, 2000, lambda n: Undecided(), np.random.default_rng(0), None)
    assert len(together.codes) == len(pixels.codes)


class Counting(ClassifierMixin, BaseEstimator):
    """An estimator that remembers how many samples it was fitted on, and gives the shares of the classes."""

    def fit(self, X, y):
        self.n_seen_ = len(y)
        self.classes_, counts = np.unique(y, return_counts=True)
        self.shares_ = counts / len(y)
        return self

    def predict_proba(self, X):
        return np.tile(self.shares_, (len(X), 1))


@pytest.mark.parametrize(("n_pseudo_labels", "more"), [(0, 0), (1200, 500)])
def test_pseudo_labels_serve_the_filters_and_never_the_final_estimator(membranes, scribbles, n_pseudo_labels, more):
    """The shares of the classes are certain enough of one of them to label pixels."""
    model = JungleSegmenter(
        **QUICK, n_rounds=1, n_pseudo_labels=n_pseudo_labels, unlabelled=UNLABELLED, final_estimator=Counting()
    )
    model.fit(membranes.images, scribbles)
    assert model.final_estimators_[0].n_seen_ == model.n_labelled_.sum()
    n_pseudo_labels = model.features_.n_images_ - model.n_labelled_.sum()
    assert n_pseudo_labels >= more
    assert (n_pseudo_labels > 0) == (more > 0)


# --- rounds of context ------------------------------------------------------------------------------------------------


class Witness:
    """An estimator that says 1 of the pixels of images it was fitted on, and 0 of all others; images are constant."""

    def fit(self, features, codes):
        self.features = features
        self.seen = np.unique(np.round(features[:, 0]))
        self.classes_ = np.arange(2)
        return self

    def predict_proba(self, features):
        seen = np.isin(np.round(features[:, 0]), self.seen).astype(float)
        return np.stack([1 - seen, seen], axis=1)


@pytest.mark.parametrize("n_rounds", [2, 3])
def test_context_comes_from_estimators_that_have_not_seen_the_image(n_rounds):
    images = [np.full((20, 24), index, np.float32) for index in range(6)]
    masks = [np.indices((20, 24))[1] // 12 for _ in images]
    labelled = pair_up(images, masks, None, False)
    pixels = draw_pixels(labelled.masks, labelled.classes, labelled.counts, 300, "balanced", np.random.default_rng(0))
    strokes = number_strokes([np.isin(mask, labelled.classes) for mask in labelled.masks], pixels)
    folds = make_folds(group_pixels(pixels, strokes), pixels.codes, 2, np.random.default_rng(0))
    made = []

    def make_witness(n_samples):
        made.append(Witness())
        return made[-1]

    estimators = fit_rounds(labelled, pixels, folds, BANK_ALONE, make_witness, n_rounds, None)
    assert len(estimators) == n_rounds
    assert len(made) == n_rounds + 2 * (n_rounds - 1)
    assert set(estimators[0].predict_proba(estimators[0].features)[:, 1]) == {1}, "predictions for training pixels"
    for estimator in estimators[1:]:
        assert estimator.features.shape == (len(pixels.codes), 2 * N_RESPONSES)
        np.testing.assert_array_equal(estimator.features[:, N_RESPONSES:], 0)
    for estimator in set(made) - set(estimators):
        assert len(estimator.seen) == 3


def test_without_folds_there_is_one_round(membranes):
    labelled = pair_up(membranes.images[0], membranes.masks[0], None, True)
    pixels = draw_pixels(labelled.masks, labelled.classes, labelled.counts, 100, "balanced", np.random.default_rng(0))
    assert len(fit_rounds(labelled, pixels, None, BANK_ALONE, boosting, 3, None)) == 1


# --- patches and their size -------------------------------------------------------------------------------------------


def test_examples_are_the_patches_of_their_images(membranes):
    labelled = pair_up(membranes.images, membranes.masks, None, False)
    rng = np.random.default_rng(0)
    pixels = Pixels(np.repeat([0, 1], 15), *rng.integers(0, 80, (2, 30)), np.zeros(30, int))
    found = cut_patches(labelled.images, pixels, 9)
    for index, places in pixels.by_image():
        rows, cols = pixels.rows[places], pixels.cols[places]
        expected = pyramid_patches(membranes.images[index], rows, cols, 9, N_SCALES).reshape(len(rows), -1)
        np.testing.assert_allclose(found[places], expected, atol=1e-6)


def dots_far_and_near(seed, side=128):
    """Faint noise with bright dots; pixels at 10 to 12 pixels from the nearest dot are 1, farther ones 0."""
    rng = np.random.default_rng(seed)
    dots = np.zeros((side, side), bool)
    dots[16::32, 16::32] = True
    distance = ndimage.distance_transform_edt(~dots)
    mask = np.select([(distance >= 10) & (distance <= 12), distance > 13], [1, 0], UNLABELLED)
    return (rng.normal(0, 0.05, dots.shape) + ndimage.gaussian_filter(20.0 * dots, 1)).astype(np.float32), mask


def make_filters(size, n_examples):
    return InvariantFeatures(
        Rotations(8), n_jungles=1, extremes="both", max_depth=2, max_steps=20, rank=40, min_samples_leaf=5,
        image_shape=(size, size, N_SCALES), random_state=0,
    )  # fmt: skip


@pytest.mark.parametrize("sizes", [(3, 13), (13, 3)], ids=str)
def test_the_patch_size_that_sees_what_matters_is_chosen(sizes):
    image, mask = dots_far_and_near(0)
    labelled = pair_up(image, mask, UNLABELLED, True)
    pixels = draw_pixels(labelled.masks, labelled.classes, labelled.counts, 600, "balanced", np.random.default_rng(0))
    strokes = number_strokes([np.isin(mask, labelled.classes) for mask in labelled.masks], pixels)
    folds = make_folds(group_pixels(pixels, strokes), pixels.codes, 2, np.random.default_rng(0))
    assert select_patch_size(labelled.images, pixels, folds, sizes, make_filters, boosting) == 13


def test_without_a_patch_size_one_of_the_candidates_is_taken(membranes, monkeypatch):
    monkeypatch.setattr(segmenter, "PATCH_SIZES", (5, 9))
    model = JungleSegmenter(**QUICK | {"patch_size": None}, max_pixels=400, n_rounds=1)
    model.fit(membranes.images, membranes.masks)
    assert model.patch_size_ in (5, 9)
    assert model.features_.image_shape_ == (model.patch_size_, model.patch_size_, N_SCALES)
    assert np.mean(model.predict(membranes.images[0]) == membranes.masks[0]) > 0.85


def test_without_folds_and_a_patch_size_the_default_is_taken(membranes, monkeypatch):
    monkeypatch.setattr(segmenter, "DEFAULT_PATCH_SIZE", 5)
    model = JungleSegmenter(**QUICK | {"patch_size": None}, max_pixels=200, n_rounds=1)
    image, mask = membranes.images[0, :60, :60], membranes.masks[0, :60, :60]
    assert model.fit(image, mask).patch_size_ == 5


def test_the_candidates_are_odd_and_the_default_is_one_of_them():
    assert all(size % 2 == 1 for size in segmenter.PATCH_SIZES)
    assert segmenter.DEFAULT_PATCH_SIZE in segmenter.PATCH_SIZES
    assert JungleSegmenter().patch_size == segmenter.DEFAULT_PATCH_SIZE
