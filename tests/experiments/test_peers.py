import importlib
import itertools
import os
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from scipy.special import comb
from skimage.future import TrainableSegmenter
from sklearn.base import clone

from experiments.isbi_patches import one_minus_f
from experiments.peers.pixel_forest import PixelForest, check_labelled
from experiments.peers.trainable_segmenter import SkimageSegmenter
from invariance.datasets import load_isbi2012

needs_data = pytest.mark.skipif("INVARIANCE_DATA" not in os.environ, reason="INVARIANCE_DATA is not set")


@pytest.fixture
def unet():
    pytest.importorskip("torch")
    return importlib.import_module("experiments.peers.unet")


def make_disc(shape, seed):
    """A bright disc in noise at a random place, and the mask that is 1 on it."""
    rng = np.random.default_rng(seed)
    row, col = rng.uniform(0.3, 0.7, 2) * shape
    y, x = np.mgrid[: shape[0], : shape[1]]
    mask = ((y - row) ** 2 + (x - col) ** 2 < (0.3 * min(shape)) ** 2).astype(int)
    return (0.5 * mask + 0.3 * rng.standard_normal(shape)).astype(np.float32), mask


def make_scribbled(shapes=((48, 40), (40, 56), (44, 44)), share=0.3):
    """Images of different sizes, and masks where most pixels are unlabelled."""
    rng = np.random.default_rng(0)
    images, masks = zip(*(make_disc(shape, seed) for seed, shape in enumerate(shapes)), strict=True)
    return list(images), [np.where(rng.random(mask.shape) < share, mask, -1) for mask in masks]


def error_of(predict, seed=100, shape=(45, 51)):
    image, mask = make_disc(shape, seed)
    probabilities = predict(image)
    assert probabilities.shape == shape
    assert probabilities.dtype == np.float32
    assert probabilities.min() >= 0
    assert probabilities.max() <= 1
    return np.mean((probabilities > 0.5) != mask)


def test_the_forest_learns_from_scribbles_on_images_of_different_sizes():
    images, masks = make_scribbled()
    forest = PixelForest().fit(images, masks)
    assert error_of(forest.predict_proba) < 0.06
    assert forest.forest_.classes_.tolist() == [0, 1]


def test_the_forest_draws_no_more_pixels_than_asked_for_and_the_same_for_the_same_seed():
    images, masks = make_scribbled()
    small, twin, other = (PixelForest(seed).fit(images, masks, n_pixels=50) for seed in (0, 0, 1))
    assert small.forest_.estimators_[0].tree_.weighted_n_node_samples[0] == 50
    assert np.array_equal(small.predict_proba(images[0]), twin.predict_proba(images[0]))
    assert not np.array_equal(small.predict_proba(images[0]), other.predict_proba(images[0]))


@pytest.mark.parametrize(
    ("images", "masks", "message"),
    [
        ([np.zeros((4, 4))], [], "same length; got 1 and 0"),
        ([np.zeros((4, 4))], [np.eye(5)], r"images\[0\] and masks\[0\] must be \(h, w\); got \(4, 4\) and \(5, 5\)"),
        ([np.zeros((4, 4, 3))], [np.zeros((4, 4, 3))], r"must be \(h, w\)"),
        ([np.zeros((4, 4))], [np.full((4, 4), -1)], r"got \[-1\]. Label pixels of both classes"),
        ([np.zeros((4, 4))], [255 * np.eye(4, dtype=int)], r"got \[0, 255\]"),
    ],
    ids=["count", "size", "colour", "unlabelled", "values"],
)
def test_images_and_masks_that_do_not_fit_are_refused(images, masks, message):
    with pytest.raises(ValueError, match=message):
        check_labelled(images, masks)


def test_true_and_false_are_labels_too():
    _, [mask] = check_labelled([np.zeros((3, 3))], [np.eye(3, dtype=bool)])
    assert np.array_equal(mask, np.eye(3))


@needs_data
def test_the_forest_finds_membranes():
    data = load_isbi2012()
    labels = (~data.masks).astype(int)
    forest = PixelForest().fit(data.images[:2], labels[:2], n_pixels=4000)
    assert one_minus_f(forest.predict_proba(data.images[20]).ravel(), labels[20].ravel()) < 10


@pytest.mark.parametrize(
    ("package", "peer"), [("torch", "unet"), ("fastfilters2", "fast_filters"), ("apoc", "apoc_pixels")]
)
def test_without_its_package_the_cure_of_a_peer_is_named(package, peer, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"experiments.peers.{peer}", raising=False)
    with pytest.raises(ImportError, match=r"pip install '\.\[bench\]'"):
        importlib.import_module(f"experiments.peers.{peer}")


def test_the_tool_of_scikit_image_is_what_its_own_fit_makes_of_one_image():
    [image], [mask] = (some[:1] for some in make_scribbled())
    ours = SkimageSegmenter().fit([image], [mask])
    theirs = TrainableSegmenter(clone(ours.segmenter_.clf))
    theirs.fit(image, mask + 1)
    assert np.array_equal(ours.predict_proba(image) > 0.5, theirs.predict(image) == 2)


@pytest.mark.parametrize(
    ("package", "module", "name"),
    [
        ("skimage", "trainable_segmenter", "SkimageSegmenter"),
        ("fastfilters2", "fast_filters", "FastFiltersForest"),
        ("apoc", "apoc_pixels", "ApocPixels"),
    ],
)
def test_other_tools_learn_from_scribbles_on_images_of_different_sizes(package, module, name):
    pytest.importorskip(package)
    model = getattr(importlib.import_module(f"experiments.peers.{module}"), name)()
    images, masks = make_scribbled()
    assert model.fit([*images, np.zeros((20, 20))], [*masks, np.full((20, 20), -1)]) is model
    assert error_of(model.predict_proba) < 0.06


def test_fast_filters_of_a_small_image_are_those_of_its_mirrored_continuation():
    pytest.importorskip("fastfilters2")
    fast_filters = importlib.import_module("experiments.peers.fast_filters")
    image = np.random.default_rng(0).random((50, 70)).astype(np.float32)
    features = fast_filters.describe_pixels(image)
    assert features.shape == (50, 70, 43)
    assert np.array_equal(features[..., 0], image)
    for number, width in enumerate(fast_filters.WIDTHS[:4]):
        smoothed = gaussian_filter(image, width, mode="mirror", truncate=4)
        np.testing.assert_allclose(features[..., 1 + 7 * number], smoothed, atol=2e-3)


def test_the_unet_learns_from_scribbles_on_images_of_different_sizes(unet):
    training = unet.Training(*make_scribbled())
    for _ in range(30):
        training.step()
    assert training.crop_size == 40
    assert error_of(training.predictor()) < 0.06


@pytest.mark.parametrize("shape", [(1, 1), (3, 17), (16, 40)], ids=str)
def test_the_unet_labels_images_of_any_size(unet, shape):
    predict = unet.Training(*make_scribbled()).predictor()
    assert predict(np.ones(shape, np.uint8)).shape == shape


def test_asking_for_a_predictor_changes_nothing(unet):
    images, masks = make_scribbled()
    asked, left_alone = unet.Training(images, masks), unet.Training(images, masks)
    early = asked.predictor()
    before = early(images[0])
    for _ in range(2):
        asked.step()
        asked.predictor()
        left_alone.step()
    assert np.array_equal(early(images[0]), before)
    assert np.array_equal(asked.predictor()(images[0]), left_alone.predictor()(images[0]))
    assert not np.array_equal(asked.predictor()(images[0]), before)
    assert (early.n_crops, asked.predictor().n_crops) == (0, 2 * unet.BATCH)


def test_the_clock_counts_training_and_stands_still_at_checkpoints(unet, monkeypatch):
    ticks, met = itertools.count(), []
    monkeypatch.setattr(unet, "time", SimpleNamespace(perf_counter=lambda: next(ticks)))

    def meet(seconds, predictor):
        met.append((seconds, predictor.n_crops // unet.BATCH))
        for _ in range(1000):
            next(ticks)

    # Preparing takes one tick and so does each step.
    last = unet.train_unet(*make_scribbled(), seconds=6, checkpoints=(5, 2, 99), on_checkpoint=meet)
    assert met == [(2, 1), (5, 4)]
    assert last.n_crops == 5 * unet.BATCH


def test_the_average_weighs_networks_by_a_power_of_their_number(unet):
    values = np.random.default_rng(0).random(50)
    average = values[0]
    for n, value in enumerate(values):
        average = unet.favour_recent(average, value, n)
    weights = comb(np.arange(50) + unet.RECENCY, unet.RECENCY)
    assert average == pytest.approx(np.average(values, weights=weights))


def test_an_image_and_its_mask_are_turned_together(unet):
    _, mask = make_disc((90, 70), seed=3)
    rng = np.random.default_rng(0)
    for _ in range(40):
        crop, crop_mask = unet.draw_crop(mask.astype(np.float32), mask.astype(np.int16), 32, rng)
        assert np.mean((crop > 0.5) != crop_mask) < 0.03


def test_every_crop_holds_a_labelled_pixel(unet):
    mask = np.full((200, 300), -1, np.int16)
    mask[199, 0] = 1
    rng = np.random.default_rng(0)
    crops = [unet.draw_crop(mask.astype(np.float32), mask, 64, rng)[1] for _ in range(60)]
    assert all((crop == 1).any() for crop in crops)


def test_half_of_the_crops_are_not_interpolated_and_come_in_all_eight_orientations(unet):
    image = np.arange(40 * 50, dtype=np.float32).reshape(40, 50)
    rng = np.random.default_rng(0)
    crops = [unet.draw_crop(image, np.zeros((40, 50), np.int16), 16, rng)[0] for _ in range(200)]
    exact = [crop for crop in crops if np.array_equal(crop, np.round(crop))]
    steps = {(float(crop[0, 1] - crop[0, 0]), float(crop[1, 0] - crop[0, 0])) for crop in exact}
    assert 60 < len(exact) < 140
    assert steps == {
        (a, b) for one, fifty in itertools.product((1, -1), (50, -50)) for a, b in [(one, fifty), (fifty, one)]
    }
