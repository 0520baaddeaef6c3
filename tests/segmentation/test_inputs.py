"""What a segmenter takes, and what it refuses in one line."""

import numpy as np
import pytest
import tifffile

from invariance.datasets import make_membranes
from invariance.images import RangeWarning, open_stack
from invariance.segmentation import JungleSegmenter
from invariance.segmentation.inputs import pair_up
from invariance.transformations import Rotations

UNLABELLED = 99
RNG = np.random.default_rng(0)


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
    return JungleSegmenter(Rotations(4), **quick | {"random_state": 0} | settings)


@pytest.fixture(scope="module")
def membranes():
    """Two images (2, 64, 64) uint8, and masks of 7 (cell) and 200 (membrane)."""
    data = make_membranes(2, (64, 64), cell_size=24, random_state=0)
    return np.rint(255 * data.images).astype(np.uint8), np.where(data.masks, 200, 7).astype(np.uint8)


@pytest.fixture(scope="module")
def model(membranes):
    return make().fit(*membranes)


def in_colour(images):
    return np.stack([images, 255 - images, images // 2], axis=-1)


# --- the same images in other clothes ---------------------------------------------------------------------------------


def on_disk(images, folder):
    np.save(folder / "images.npy", images)
    return np.load(folder / "images.npy", mmap_mode="r")


def as_tiff(images, folder):
    tifffile.imwrite(folder / "images.tif", images, photometric="minisblack")
    return open_stack(folder / "images.tif")


CLOTHES = {
    "list": lambda images, folder: list(images),
    "list of stacks": lambda images, folder: [images[:1], images[1:]],
    "memory-mapped": on_disk,
    "lazy stack": as_tiff,
    "float32": lambda images, folder: images.astype(np.float32) / np.float32(255),
    "16 bits": lambda images, folder: images.astype(np.uint16) * 257,
    "another order in memory": lambda images, folder: np.asfortranarray(images),
}


@pytest.mark.parametrize("clothes", CLOTHES)
def test_the_same_images_give_the_same_model_and_the_same_labels(clothes, membranes, model, tmp_path):
    images, masks = membranes
    dressed = CLOTHES[clothes](images, tmp_path)
    masks = CLOTHES[clothes](masks, tmp_path) if clothes == "list of stacks" else masks
    expected = model.predict_proba(images)
    found = make().fit(dressed, masks).predict_proba(dressed)
    assert isinstance(found, list) == isinstance(dressed, list | tuple)
    joined = np.concatenate(found) if clothes == "list of stacks" else np.stack(list(found))
    np.testing.assert_allclose(joined, expected, atol=2e-2 if clothes == "16 bits" else 1e-6)


def test_masks_own_values_come_back(membranes, model):
    images, masks = membranes
    assert model.classes_.tolist() == [7, 200]
    assert model.n_labelled_.tolist() == [np.sum(masks == 7), np.sum(masks == 200)]
    labels = model.predict(images)
    assert labels.shape == images.shape
    assert labels.dtype == masks.dtype
    assert set(np.unique(labels)) == {7, 200}
    assert np.mean(labels == masks) > 0.8


@pytest.mark.parametrize("values", [(-5, 3), (0, 70_000), (False, True)], ids=str)
def test_masks_of_any_integers(values, membranes):
    images, masks = membranes
    labels = make().fit(images, np.where(masks == 7, *values)).predict(images[0])
    assert set(np.unique(labels)) == set(map(int, values))


def test_a_single_image_a_stack_and_a_list(membranes, model):
    images, _ = membranes
    probabilities = model.predict_proba(images)
    assert probabilities.shape == (2, 64, 64, 2)
    np.testing.assert_array_equal(model.predict_proba(images[1]), probabilities[1])
    assert model.predict(images[1]).shape == (64, 64)
    sizes = [labels.shape for labels in model.predict([images[0], images[1, :30], images])]
    assert sizes == [(64, 64), (30, 64), (2, 64, 64)]


def test_one_image_of_colour_or_grey_is_enough(membranes):
    images, masks = membranes
    assert make().fit(images[0], masks[0]).n_channels_ == 1
    model = make().fit(in_colour(images[0]), masks[0])
    assert model.n_channels_ == 3
    probabilities = model.predict_proba(in_colour(images))
    assert probabilities.shape == (2, 64, 64, 2)
    np.testing.assert_array_equal(model.predict_proba(in_colour(images[1])), probabilities[1])


def test_images_of_different_sizes(membranes):
    images, masks = membranes
    model = make().fit([images[0], images[1, :40, :50]], [masks[0], masks[1, :40, :50]])
    assert model.n_labelled_.sum() == 64 * 64 + 40 * 50


def test_colour_tells_apart_what_grey_does_not():
    """Two colours of the same brightness, in a chequerboard."""
    board = (np.indices((64, 64)) // 16).sum(axis=0) % 2
    shade = np.where(board, 0.6, 0.4)
    image = np.stack([shade, 1 - shade, np.full_like(shade, 0.5)], axis=2) + RNG.normal(0, 0.02, (64, 64, 3))
    labels = make(standardize=False).fit(image, board).predict(image)
    assert np.mean(labels == board) > 0.9


def test_unlabelled_pixels_and_images_count_for_nothing(membranes):
    images, masks = membranes
    sparse = masks.copy()
    sparse[0, :, 20:] = UNLABELLED
    sparse[1] = UNLABELLED
    model = make(unlabelled=UNLABELLED).fit(images, sparse)
    alone = make(unlabelled=UNLABELLED).fit(images[:1], sparse[:1])
    assert model.classes_.tolist() == [7, 200]
    assert model.n_labelled_.sum() == 64 * 20
    np.testing.assert_array_equal(model.predict_proba(images), alone.predict_proba(images))


def test_stacks_in_lists_become_pages():
    stack, page = RNG.random((3, 8, 9)), RNG.random((7, 7))
    masks = [RNG.integers(0, 2, (3, 8, 9)), RNG.integers(0, 2, (7, 7))]
    labelled = pair_up([stack, page], masks, None, True)
    assert [image.shape for image in labelled.images] == [(8, 9, 1)] * 3 + [(7, 7, 1)]
    np.testing.assert_array_equal(labelled.counts.sum(axis=1), [72, 72, 72, 49])


def test_a_model_without_standardization_warns_of_another_range_and_one_with_it_need_not(membranes):
    images, masks = membranes
    twelve_bits = images.astype(np.uint16) * 16
    plain = make(standardize=False).fit(images, masks)
    assert plain.intensity_range_["dtype"] == "uint8"
    with pytest.warns(RangeWarning, match="as if 12 bits were stored in 16"):
        plain.predict(twelve_bits[0])
    model = make().fit(images, masks)
    np.testing.assert_allclose(model.predict_proba(twelve_bits[0]), model.predict_proba(images[0]), atol=2e-2)


@pytest.mark.parametrize("scale", ["image", "percentile"])
def test_scaled_images_may_be_stored_in_any_range(membranes, scale):
    images, masks = membranes
    model = make(standardize=False, scale=scale).fit(images, masks)
    expected = model.predict_proba(images[0])
    np.testing.assert_allclose(model.predict_proba(images[0].astype(np.uint16) * 16), expected, atol=2e-2)
    hot = images[0].astype(np.uint16) * 16
    hot[5, 5] = 65535
    moved = np.abs(model.predict_proba(hot) - expected).mean()
    assert (moved < 0.02) == (scale == "percentile")


# --- mistakes ---------------------------------------------------------------------------------------------------------

GREY, COLOUR = RNG.random((12, 10)), RNG.random((12, 10, 3))
MASK = np.indices((12, 10)).sum(axis=0) % 2
NAN = np.where(np.arange(10) == 4, np.nan, GREY)

# description -> (images, masks, settings, the message)
FIT_MISTAKES = {
    "mask of another size": (
        [GREY, GREY], [MASK, MASK[:7]], {},
        r"mask 1 has shape \(7, 10\), but its image has \(12, 10\)\. A mask must be as large as its image\.",
    ),
    "turned mask": (GREY, MASK.T, {}, r"mask 0 has shape \(10, 12\), but its image has \(12, 10\)"),
    "mask in colour": ([GREY], [np.stack([MASK] * 3, axis=2)], {}, "A mask must be as large as its image"),
    "mask of a stack of another length": ([np.stack([GREY] * 3)], [np.stack([MASK] * 2)], {}, "mask 0 has shape"),
    "other number of masks": ([GREY, GREY], [MASK], {}, "X and y must have the same length, .* got 2 and 1"),
    "no images": ([], [], {}, "X must contain at least one image; got none"),
    "mask of floats": (GREY, MASK / 2, {}, "mask 0 must have an integer dtype; got float64"),
    "nothing labelled": (
        GREY, np.full_like(MASK, 3), {"unlabelled": 3},
        "no pixel is labelled: .* 3, the unlabelled value",
    ),
    "one class": (GREY, np.full_like(MASK, 3), {}, "at least two classes; got 3 only"),
    "one class beside unlabelled": (GREY, MASK, {"unlabelled": 0}, "at least two classes; got 1 only"),
    "numbered objects": (
        GREY, np.arange(120).reshape(12, 10), {},
        r"the masks hold 120 classes \(0, 1, 2, 3, ..., 119\); at most 32 are expected. They are probably numbers of "
        r"objects: .* set max_classes=120 \(--max-classes\)",
    ),
    "greys of a lossy mask": (
        GREY, np.arange(120).reshape(12, 10) // 3 * 5, {},
        r"the masks hold 40 classes \(0, 5, 10, 15, ..., 195\); .* probably greys: are images and masks swapped",
    ),
    "more classes than allowed": (
        GREY, MASK + 2 * (np.arange(10) > 4), {"max_classes": 3}, "the masks hold 4 classes .* at most 3"
    ),
    "unknown scale": (GREY, MASK, {"scale": "bits"}, "scale must be one of 'dtype', 'image', 'percentile'"),
    "1 x 3 image": (GREY[:1, :3], MASK[:1, :3], {}, "an image must have at least 2 pixels per side; got 1 x 3"),
    "grey beside colour": (
        [GREY, COLOUR], [MASK, MASK], {},
        "images must have the same number of channels; got 1 and, at number 1, 3. Convert one of them",
    ),
    "NaN": ([GREY, NAN], [MASK, MASK], {}, r"images must be finite; got \[nan\] at row 0, column 4"),
    "infinity": (np.where(np.isnan(NAN), np.inf, NAN), MASK, {}, r"images must be finite; got \[inf\]"),
    "numbers too large": (1e300 * GREY, MASK, {}, "image values must fit float32"),
    "a vector": (GREY[0], MASK[0], {}, "as large as its image"),
    "even patch size": (GREY, MASK, {"patch_size": 8}, "patch_size must be odd .* got 8. Try 9"),
    "huge patch size": (GREY, MASK, {"patch_size": 1025}, "patch_size must be at most 1023; got 1025"),
    "no rounds": (GREY, MASK, {"n_rounds": 0}, "n_rounds must be a whole number of at least 1; got 0"),
    "one pixel": (GREY, MASK, {"max_pixels": 1}, "max_pixels must be a whole number of at least 2; got 1"),
    "no trees": (GREY, MASK, {"n_trees": 0}, "n_trees must be a whole number of at least 1; got 0"),
    "negative pseudo-labels": (GREY, MASK, {"n_pseudo_labels": -1}, "n_pseudo_labels must be a whole number"),
    "unknown sampling": (
        GREY, MASK, {"sampling": "fair"}, "sampling must be one of 'proportional', 'balanced'; got 'fair'"
    ),
    "the leaves' vote": (GREY, MASK, {"final_estimator": "vote"}, "final_estimator must be .*; got 'vote'"),
    "unknown estimator": (GREY, MASK, {"final_estimator": "forest"}, "final_estimator must be .*; got 'forest'"),
    "no set": (GREY, MASK, {"transformations": "rotations:4"}, "transformations must be a set such as"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", FIT_MISTAKES)
def test_a_mistake_in_training_is_one_line(mistake):
    images, masks, settings, message = FIT_MISTAKES[mistake]
    model = make().set_params(**settings)
    with pytest.raises(ValueError, match=message) as caught:
        model.fit(images, masks)
    assert "\n" not in str(caught.value)
    assert not hasattr(model, "final_estimators_")


PREDICT_MISTAKES = {
    "a stack in colour": ([COLOUR[None]], "an image must be (h, w) or (h, w, c); got an array of shape (1, 12, 10, 3)"),
    "1 x 3 image": (GREY[:1, :3], "an image must have at least 2 pixels per side; got 1 x 3"),
    "NaN": (NAN, "images must be finite; got [nan] at row 0, column 4. Replace such values."),
    "NaN in a list": ([GREY, NAN], "images must be finite"),
    "NaN in a stack": (np.stack([GREY, NAN]), "images must be finite"),
    "a vector": (GREY[0], "an image must be (h, w) or (h, w, c); got an array of shape (10,)"),
    "a number": (3.0, "an image must be (h, w) or (h, w, c); got an array of shape ()"),
}


@pytest.mark.parametrize("mistake", PREDICT_MISTAKES)
def test_a_mistake_in_prediction_is_one_line(mistake, model):
    images, message = PREDICT_MISTAKES[mistake]
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole message is compared below
        model.predict(images)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("n_channels", [1, 2, 4])
def test_other_channels_than_in_training_are_refused(n_channels):
    model = make().fit(COLOUR, MASK)
    image = GREY if n_channels == 1 else RNG.random((12, 10, n_channels))
    with pytest.raises(ValueError, match=f"has {n_channels} channels, but the model was trained on 3. Convert it"):
        model.predict(image)


def test_a_model_that_was_not_fitted_says_so():
    with pytest.raises(ValueError, match="not fitted"):
        make().predict(GREY)
