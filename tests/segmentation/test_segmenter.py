"""What the segmenter learns, what it is invariant to, and how it is improved."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import balanced_accuracy_score
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

from invariance.datasets import make_membranes
from invariance.segmentation import JungleSegmenter
from invariance.transformations import Reflections, Rotations, Shifts

UNLABELLED = 9


def make(**settings):
    quick = {"patch_size": 9, "max_pixels": 600, "n_trees": 20, "max_depth": 2, "rank": 16, "n_pseudo_labels": 0}
    return JungleSegmenter(**{"transformations": Rotations(4), "n_rounds": 1, "random_state": 0} | quick | settings)


@pytest.fixture(scope="module")
def membranes():
    return make_membranes(4, (80, 80), cell_size=24, random_state=0)


@pytest.fixture(scope="module")
def model(membranes):
    return make().fit(membranes.images[:2], membranes.masks[:2])


# --- learning ---------------------------------------------------------------------------------------------------------

LEARNERS = {
    "one round": {},
    "two rounds": {"n_rounds": 2},
    "balanced": {"sampling": "balanced"},
    "linear": {"final_estimator": "linear", "n_rounds": 2},
    "a user's estimator": {"final_estimator": RandomForestClassifier(30, random_state=0)},
    "several jungles": {"n_jungles": 3},
    "colour": {"colour": True},
}


@pytest.mark.parametrize("learner", LEARNERS)
def test_membranes_of_new_images_are_found(learner, membranes):
    settings = dict(LEARNERS[learner])
    images = membranes.images
    if settings.pop("colour", False):
        images = np.stack([images, 1 - images, images**2], axis=-1)
    model = make(**settings).fit(images[:2], membranes.masks[:2])
    labels = model.predict(images[2:])
    assert balanced_accuracy_score(membranes.masks[2:].ravel(), labels.ravel()) > 0.85
    probabilities = model.predict_proba(images[2:])
    np.testing.assert_allclose(probabilities.sum(axis=-1), 1, atol=1e-5)
    np.testing.assert_array_equal(labels, model.classes_[probabilities.argmax(axis=-1)])


def test_labels_that_mean_nothing_are_not_learned(membranes):
    """The test above can fail."""
    masks = np.random.default_rng(0).permutation(membranes.masks[:2].ravel()).reshape(2, 80, 80)
    labels = make(sampling="balanced").fit(membranes.images[:2], masks).predict(membranes.images[2:])
    assert balanced_accuracy_score(membranes.masks[2:].ravel(), labels.ravel()) < 0.7


def test_few_scribbles_are_enough(membranes):
    masks = np.full((80, 80), UNLABELLED)
    for row, col in np.random.default_rng(0).integers(4, 76, (24, 2)):
        masks[row - 1 : row + 2, col - 1 : col + 2] = membranes.masks[0, row - 1 : row + 2, col - 1 : col + 2]
    model = make(unlabelled=UNLABELLED, n_pseudo_labels=1000).fit(membranes.images[0], masks)
    assert model.n_labelled_.sum() < 250
    labels = model.predict(membranes.images[2:])
    assert balanced_accuracy_score(membranes.masks[2:].ravel(), labels.ravel()) > 0.8


def stripes(seed, noise=0.1):
    """Squares with stripes along rows (0) or along columns (1)."""
    rng = np.random.default_rng(seed)
    mask = np.kron(rng.permutation(np.arange(16) % 2).reshape(4, 4), np.ones((20, 20), int))
    rows, cols = np.indices(mask.shape)
    return np.sin(1.5 * np.where(mask, cols, rows)) + rng.normal(0, noise, mask.shape), mask


def test_a_round_of_context_pays_where_surroundings_help():
    """In noise a filter often mistakes the direction of stripes, which the bank does not see; neighbours know it."""
    images, masks = zip(*(stripes(seed, noise=1.0) for seed in range(5)), strict=True)
    errors = []
    for n_rounds in (1, 2):
        model = make(transformations=Shifts(1), n_rounds=n_rounds).fit(images[:4], masks[:4])
        errors.append(np.mean(model.predict(images[4]) != masks[4]))
    assert errors[0] < 0.15
    assert errors[1] < 0.9 * errors[0]


# --- invariance -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("phi", "can_tell"), [(Shifts(1), True), (Reflections(), True), (Rotations(4), False)], ids=str
)
def test_what_does_not_matter_cannot_be_told_apart(phi, can_tell):
    """The bank sees no directions, nor do filters under quarter turns; without these they do."""
    images, masks = zip(*(stripes(seed) for seed in range(3)), strict=True)
    model = make(transformations=phi, sampling="balanced").fit(images[:2], masks[:2])
    score = balanced_accuracy_score(masks[2].ravel(), model.predict(images[2]).ravel())
    assert score > 0.85 if can_tell else score < 0.65


def test_a_turned_image_has_turned_labels(membranes, model):
    image = membranes.images[3]
    expected = model.predict_proba(image)
    for quarters in (1, 2, 3):
        turned = np.rot90(model.predict_proba(np.rot90(image, quarters)), -quarters)
        assert np.mean(np.abs(turned - expected).max(axis=2) > 0.01) < 0.01


@pytest.mark.parametrize(("factor", "offset"), [(0.3, 0.1), (2.0, -5.0), (1000.0, 300.0)])
def test_brightness_and_contrast_of_an_image_do_not_matter(factor, offset, membranes, model):
    image = membranes.images[3].astype(np.float64)
    differences = np.abs(model.predict_proba(factor * image + offset) - model.predict_proba(image)).max(axis=2)
    assert np.mean(differences > 1e-3) < 1e-3


def test_brightness_and_contrast_matter_if_images_are_not_standardized(membranes):
    model = make(standardize=False, final_estimator="boosting").fit(membranes.images[:2], membranes.masks[:2])
    image = membranes.images[3]
    assert np.mean(model.predict(image) == membranes.masks[3]) > 0.85
    assert np.mean(model.predict(0.3 * image + 0.1) != model.predict(image)) > 0.1


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("final_estimator", ["boosting", "linear"])
def test_a_constant_image_teaches_shares_and_can_be_labelled(standardize, final_estimator, membranes):
    model = make(standardize=standardize, final_estimator=final_estimator).fit(
        np.full((80, 80), 0.4), membranes.masks[0]
    )
    probabilities = model.predict_proba(np.full((30, 20), 0.4))
    np.testing.assert_allclose(probabilities[..., 1], membranes.masks[0].mean(), atol=0.05)


def test_a_constant_image_can_be_labelled_by_a_model_of_others(model):
    probabilities = model.predict_proba(np.zeros((20, 30)))
    assert np.isfinite(probabilities).all()
    assert np.ptp(probabilities, axis=(0, 1)).max() < 1e-6


def test_without_transformations_sixteen_turns_do_not_matter(membranes):
    model = make(transformations=None, patch_size=5).fit(membranes.images[0], membranes.masks[0])
    assert repr(model.features_.reduced_.phi) == repr(Rotations(16))
    assert model.transformations is None


# --- scikit-learn's contract ------------------------------------------------------------------------------------------


def test_tags_declare_images_and_masks():
    tags = get_tags(JungleSegmenter())
    assert tags.input_tags.three_d_array
    assert not tags.input_tags.two_d_array
    assert tags.target_tags.required


@pytest.mark.filterwarnings("ignore:Can't test estimator:sklearn.exceptions.SkipTestWarning")
def test_no_check_of_scikit_learn_fails():
    """Those for rows of numbers are skipped, as the tags say that the input is images."""
    results = check_estimator(JungleSegmenter(), on_fail=None)
    assert {result["status"] for result in results} <= {"passed", "skipped"}


# --- improving a model ------------------------------------------------------------------------------------------------


def test_a_warm_start_keeps_the_filters_and_fits_the_final_estimators_again(membranes):
    model = make(warm_start=True, n_rounds=2)
    model.fit(membranes.images[:1], membranes.masks[:1])
    filters, estimators, before = model.features_, model.final_estimators_, model.predict_proba(membranes.images[3])
    model.fit(membranes.images[:3], membranes.masks[:3])
    assert model.features_ is filters
    assert all(new is not old for new in model.final_estimators_ for old in estimators)
    assert model.n_labelled_.sum() == 3 * 80 * 80
    after = model.predict_proba(membranes.images[3])
    assert not np.array_equal(before, after)
    assert balanced_accuracy_score(membranes.masks[3].ravel(), after.argmax(axis=2).ravel()) > 0.85


def test_without_a_warm_start_filters_are_learned_anew(membranes):
    model = make().fit(membranes.images[:1], membranes.masks[:1])
    filters = model.features_
    model.fit(membranes.images[:3], membranes.masks[:3])
    assert model.features_ is not filters


def test_a_warm_start_with_other_classes_or_channels_is_refused(membranes):
    images, masks = membranes.images[:1], membranes.masks[:1].astype(int)
    model = make(warm_start=True).fit(images, masks)
    estimators = model.final_estimators_
    with pytest.raises(ValueError, match=r"classes and channels must stay the same; fitted on \[0, 1\] and 1, got \[5"):
        model.fit(images, masks + 5)
    with pytest.raises(ValueError, match=r"fitted on \[0, 1\] and 1, got \[0, 1\] and 3\. Fit a new estimator\."):
        model.fit(np.stack([images] * 3, axis=-1), masks)
    assert model.final_estimators_ is estimators
    assert model.classes_.tolist() == [0, 1]
