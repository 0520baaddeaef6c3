"""A model remembers the range it was fitted on, and says in one line that other images lie in another one."""

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from invariance import models
from invariance.codebooks import BagOfFeatures, ClusteringForest
from invariance.images import RangeWarning, comparing_once, rescale, watch_range
from invariance.methods import ImageClassifier
from invariance.tangents import TangentSVC
from invariance.tradeoff import FeatureKernel, TradeoffClassifier

RNG = np.random.default_rng(0)
LABELS = np.arange(24) % 2


def scenes(n=24, side=16):
    """Images of uint8: stripes along rows or columns, over all greys."""
    images = RNG.integers(0, 120, (n, side, side))
    images[::2, ::4] += 130
    images[1::2, :, ::4] += 130
    return images.astype(np.uint8)


IMAGES, OTHERS = scenes(), scenes()

OTHER_RANGES = {
    "float from 0 to 255": (OTHERS.astype(np.float32), "as if white were 255", "white=255"),
    "8 bits in 16": (OTHERS.astype(np.uint16), "as if 8 bits were stored in 16", "white=255"),
    "12 bits in 16": (OTHERS.astype(np.uint16) * 16, "as if 12 bits were stored in 16", "white=4095"),
    "14 bits in 16": (OTHERS.astype(np.uint16) * 64, "as if 14 bits were stored in 16", "white=16383"),
}
SAME_RANGES = {
    "the same": OTHERS,
    "float from 0 to 1": OTHERS / 255,
    "16 bits": OTHERS.astype(np.uint16) * 257,
    "darker by half": OTHERS // 2,
    "black": np.zeros_like(OTHERS),
}


class Watcher(BaseEstimator):
    pass


def fitted_watcher(images=IMAGES):
    watcher = Watcher()
    watch_range(watcher, images, reset=True)
    return watcher


@pytest.mark.parametrize("form", [np.asarray, list, lambda images: images.reshape(len(images), -1)])
@pytest.mark.parametrize("name", OTHER_RANGES)
def test_another_range_is_one_line_with_both_ranges_and_the_cure(name, form):
    images, cause, cure = OTHER_RANGES[name]
    with pytest.warns(RangeWarning) as caught:
        watch_range(fitted_watcher(form(IMAGES)), form(images), reset=False)
    [message] = [str(warning.message) for warning in caught]
    assert "\n" not in message
    assert "fitted on uint8 values from 0 to 249" in message
    assert f"the images hold {images.dtype} values from 0 to" in message
    assert cause in message
    assert cure in message


def count_warnings(watcher, images):
    """How many warnings of another range these images cause."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        watch_range(watcher, images, reset=False)
    return [warning.category for warning in caught].count(RangeWarning)


@pytest.mark.parametrize("name", SAME_RANGES)
def test_the_same_range_is_silent(name):
    assert count_warnings(fitted_watcher(), SAME_RANGES[name]) == 0


def test_few_values_may_lie_anywhere():
    watcher = fitted_watcher()
    assert count_warnings(watcher, OTHERS[:1, :15, :15].astype(float)) == 0
    assert count_warnings(watcher, OTHERS[:1].astype(float)) == 1


def test_the_cure_makes_the_warning_go_away():
    from invariance.images import as_float32

    stored = OTHERS.astype(np.uint16) * 16
    assert count_warnings(fitted_watcher(), stored) == 1
    assert count_warnings(fitted_watcher(), as_float32(stored, white=4095)) == 0


@pytest.mark.parametrize("images", [[], None, "text", [None], np.array([["a"]]), np.full((2, 3, 3), np.nan)], ids=str)
def test_what_cannot_be_measured_is_left_to_others(images):
    assert count_warnings(fitted_watcher(), images) == 0
    assert count_warnings(fitted_watcher(images), OTHERS.astype(float)) == 0


@pytest.mark.parametrize("forged", [None, 3, {}, {"dtype": "x", "low": 0.0, "high": "1"}, {"low": 0.0, "high": 1.0}])
def test_a_forged_range_is_ignored(forged):
    watcher = Watcher()
    watcher.intensity_range_ = forged
    assert count_warnings(watcher, OTHERS.astype(float)) == 0


def test_a_range_of_an_unknown_dtype_is_still_compared():
    watcher = Watcher()
    watcher.intensity_range_ = {"dtype": "unknown", "low": 0.0, "high": 1.0}
    with pytest.warns(RangeWarning, match="fitted on unknown values from 0 to 1"):
        watch_range(watcher, OTHERS.astype(np.float64), reset=False)


def estimators():
    forest = ClusteringForest(n_trees=1)
    return {
        "TangentSVC": TangentSVC(),
        "BagOfFeatures": BagOfFeatures(forest, random_state=0),
        "TradeoffClassifier": TradeoffClassifier([FeatureKernel(BagOfFeatures(forest, random_state=0))]),
        "ImageClassifier": ImageClassifier("tangent", random_state=0),
    }


@pytest.mark.parametrize("name", estimators())
def test_every_estimator_warns_once_also_after_loading_and_results_do_not_change(name, tmp_path):
    estimator = estimators()[name].fit(IMAGES, LABELS)
    assert estimator.intensity_range_ == {"dtype": "uint8", "low": 0.0, "high": pytest.approx(249 / 255, abs=0.01)}
    models.save(estimator, tmp_path / "a.inv")
    loaded = models.load(tmp_path / "a.inv")
    results = [getattr(part, "predict", None) or part.transform for part in (estimator, loaded)]
    with warnings.catch_warnings():
        warnings.simplefilter("error", RangeWarning)
        results[1](OTHERS)
    with pytest.warns(RangeWarning) as caught:
        found = results[1](OTHERS.astype(np.float32))
    assert [warning.category for warning in caught].count(RangeWarning) == 1
    with comparing_once():
        np.testing.assert_array_equal(found, results[0](OTHERS.astype(np.float32)))


def test_comparing_once_ends_with_its_block():
    with comparing_once():
        with comparing_once():
            assert count_warnings(fitted_watcher(), OTHERS.astype(float)) == 0
        assert count_warnings(fitted_watcher(), OTHERS.astype(float)) == 0
    assert count_warnings(fitted_watcher(), OTHERS.astype(float)) == 1


@pytest.mark.parametrize("scale", ["image", "percentile"])
def test_scaled_images_do_not_depend_on_the_range_they_are_stored_in(scale):
    expected = rescale(OTHERS[0], scale)
    for factor, dtype in ((16, np.uint16), (257, np.uint16), (1, np.float32), (1 / 255, np.float64)):
        np.testing.assert_allclose(rescale((OTHERS[0] * np.float64(factor)).astype(dtype), scale), expected, atol=1e-5)
    assert (expected.min(), expected.max()) == (0, 1)
    np.testing.assert_array_equal(rescale(expected, scale), expected)


def test_percentiles_ignore_a_hot_pixel_and_extremes_do_not():
    hot = OTHERS[0].astype(np.uint16)
    hot[3, 4] = 60_000
    assert rescale(hot, "image").mean() < 0.01
    assert np.abs(rescale(hot, "percentile") - rescale(OTHERS[0], "percentile")).mean() < 0.05


@pytest.mark.parametrize("scale", ["dtype", "image", "percentile"])
def test_opacity_and_constant_images_stay(scale):
    image = np.dstack([RNG.random((5, 6, 3)), np.full((5, 6), 0.5)])
    np.testing.assert_array_equal(rescale(image, scale)[..., 3], 0.5)
    assert np.isfinite(rescale(np.full((4, 4), 7, np.uint8), scale)).all()


def test_unknown_scale():
    with pytest.raises(ValueError, match="scale must be one of 'dtype', 'image', 'percentile'; got 'bits'"):
        rescale(OTHERS[0], "bits")
    with pytest.raises(ValueError, match="scale must be one of"):
        ImageClassifier("tangent", scale="bits").fit(IMAGES, LABELS)


@pytest.mark.parametrize("scale", ["image", "percentile"])
def test_a_classifier_that_scales_neither_warns_nor_errs(scale):
    classifier = ImageClassifier("tangent", random_state=0, scale=scale).fit(IMAGES, LABELS)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RangeWarning)
        found = classifier.predict_proba(OTHERS.astype(np.uint16) * 16)
    np.testing.assert_allclose(found, classifier.predict_proba(OTHERS), atol=1e-4)
