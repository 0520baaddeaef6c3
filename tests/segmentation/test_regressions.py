"""Faults that were found once, each of which must not come back."""

import numpy as np
import pytest

from invariance.datasets import make_membranes
from invariance.jungles import InvariantFeatures
from invariance.jungles.final_estimators import make_final_estimator
from invariance.models import ModelError, load, save
from invariance.segmentation import JungleSegmenter, patches, segmenter
from invariance.segmentation.inputs import pair_up
from invariance.segmentation.patches import select_patch_size
from invariance.segmentation.sampling import count_labels, draw_pixels
from invariance.segmentation.sklearn_boosting import read_trees
from invariance.segmentation.windows import N_SCALES
from invariance.transformations import Rotations

UNLABELLED = 9


def make(**settings):
    quick = {
        "patch_size": 5,
        "max_pixels": 200,
        "n_trees": 5,
        "max_depth": 2,
        "rank": 8,
        "n_rounds": 1,
        "n_pseudo_labels": 0,
    }
    return JungleSegmenter(**{"transformations": Rotations(4), "random_state": 0} | quick | settings)


@pytest.fixture(scope="module")
def membranes():
    return make_membranes(2, (80, 80), cell_size=24, random_state=0)


@pytest.mark.parametrize("number", [0, 1])
def test_an_estimator_of_features_that_are_not_computed_is_refused(number, membranes, tmp_path):
    """Compiled loops follow stored numbers without looking, and an estimator may claim any number of features."""
    model = make(n_rounds=2, final_estimator="boosting").fit(membranes.images, membranes.masks)
    estimator = model.final_estimators_[number]
    estimator.n_features_in_ = 10**9
    for nodes in (nodes for trees in read_trees(estimator).nodes for nodes in trees):
        nodes["feature_idx"][nodes["is_leaf"] == 0] = 10**8
    path = tmp_path / "forged.inv"
    with pytest.raises(ModelError):
        load(save(model, path))


def test_a_tree_whose_branches_meet_again_is_refused(membranes, tmp_path):
    """Such a graph has more paths than nodes: 60 nodes would take years to list."""
    model = make(final_estimator="boosting").fit(membranes.images, membranes.masks)
    tree = model.final_estimators_[0]._predictors[0][0]
    nodes = np.zeros(12, tree.nodes.dtype)
    nodes["left"][:-1] = nodes["right"][:-1] = np.arange(1, 12)
    nodes["is_leaf"][-1] = 1
    tree.nodes = nodes
    with pytest.raises(ModelError):
        load(save(model, tmp_path / "forged.inv"))


@pytest.mark.parametrize("settings", [{}, {"patch_size": None}], ids=["patch size given", "patch size chosen"])
def test_a_class_of_one_pixel_beside_very_many_others(settings, membranes, monkeypatch):
    """Beyond 10,000 samples scikit-learn's boosting would hold some out, which a class of one cannot give."""
    monkeypatch.setattr(segmenter, "PATCH_SIZES", (3, 5))
    masks = membranes.masks.astype(int)
    masks[0, 40, 40] = 2
    model = make(max_pixels=50_000, **settings).fit(membranes.images, masks)
    assert model.n_labelled_.tolist()[2] == 1
    assert model.predict_proba(membranes.images[0]).shape == (80, 80, 3)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_labels", [2, 5])
def test_the_patch_size_can_be_chosen_from_very_few_labels(n_labels, seed, membranes, monkeypatch):
    """So few that no filter is found, and an estimator would have no features."""
    monkeypatch.setattr(segmenter, "PATCH_SIZES", (3, 5))
    rng = np.random.default_rng(seed)
    masks = np.full(membranes.masks.shape, UNLABELLED)
    for mask, truth in zip(masks, membranes.masks, strict=True):
        for code in (0, 1):
            mask.ravel()[rng.choice(np.flatnonzero(truth.ravel() == code), n_labels, replace=False)] = code
    model = make(patch_size=None, unlabelled=UNLABELLED).fit(membranes.images, masks)
    assert model.patch_size_ % 2 == 1


def test_the_patch_size_can_be_chosen_if_a_class_is_compared_in_one_fold_only(membranes, monkeypatch):
    """Both folds hold all classes, but of the third class only a pixel of the second fold is among those compared."""
    monkeypatch.setattr(patches, "MAX_COMPARED", 100)
    labelled = pair_up(membranes.images, membranes.masks, None, True)
    pixels = draw_pixels(labelled.masks, labelled.classes, labelled.counts, 400, "balanced", np.random.default_rng(0))
    folds = pixels.image
    pixels.codes[[1, 396]] = 2
    assert folds[[1, 396]].tolist() == [0, 1]

    def make_filters(size, n_examples):
        shape = (size, size, N_SCALES)
        return InvariantFeatures(n_jungles=1, max_depth=2, rank=8, extremes="both", image_shape=shape, random_state=0)

    def make_boosting(n_samples):
        return make_final_estimator("boosting", n_samples, 0, 5)

    assert select_patch_size(labelled.images, pixels, folds, (3, 5), make_filters, make_boosting) in (3, 5)


@pytest.mark.parametrize("seed", range(3))
def test_the_patch_size_can_be_chosen_if_one_of_two_classes_is_rare(seed, membranes, monkeypatch):
    """Among the pixels that are compared there may be none of it."""
    monkeypatch.setattr(segmenter, "PATCH_SIZES", (3, 5))
    monkeypatch.setattr(patches, "MAX_COMPARED", 100)
    masks = np.zeros(membranes.masks.shape, int)
    for mask in masks:
        mask.ravel()[np.random.default_rng(seed).choice(mask.size, 12, replace=False)] = 1
    model = make(patch_size=None, max_pixels=9000, random_state=seed).fit(membranes.images, masks)
    assert model.patch_size_ % 2 == 1


@pytest.mark.parametrize("totals", [(50, 50), (1, 3), (30, 30, 30)], ids=str)
@pytest.mark.parametrize("n_pixels", [3, 5, 8])
def test_proportional_quotas_keep_to_the_number_asked_for(totals, n_pixels):
    mask = np.repeat(np.arange(len(totals)), totals)[None]
    classes = np.arange(len(totals))
    counts = count_labels([mask], classes)
    pixels = draw_pixels([mask], classes, counts, n_pixels, "proportional", np.random.default_rng(0))
    assert len(pixels.codes) == min(n_pixels, sum(totals))
    assert set(pixels.codes) == set(classes)


def test_images_with_a_channel_axis_of_one_are_grey(membranes):
    """`fit` takes them; so must `predict`, and not take their rows for images."""
    images = membranes.images[..., None]
    model = make().fit(images, membranes.masks)
    expected = model.predict(membranes.images)
    np.testing.assert_array_equal(model.predict(images[0]), expected[0])
    np.testing.assert_array_equal(model.predict(images), expected)


def test_a_stack_without_images_is_refused_in_words(membranes):
    model = make().fit(membranes.images, membranes.masks)
    with pytest.raises(ValueError, match="at least one image"):
        model.predict(membranes.images[:0])


def test_images_without_channels_are_refused_in_words():
    with pytest.raises(ValueError, match="channel"):
        make().fit(np.zeros((8, 8, 0)), np.eye(8, dtype=int))
