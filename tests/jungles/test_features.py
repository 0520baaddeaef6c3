"""Learned responses for any classifier."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from invariance.jungles import InvariantFeatures, JungleClassifier
from invariance.transformations import Reflections, Rotations, Shifts
from tests.jungles.toys import QUICK


@pytest.mark.parametrize("rank", [23, 24, 44, 256])
@pytest.mark.parametrize("phi", [Rotations(4), Rotations(4) * Reflections(), Reflections("both")], ids=repr)
def test_a_group_leaves_the_responses_unchanged(glyphs, phi, rank):
    """Also where few directions are kept: they must be as symmetric as the group."""
    (images, labels), (test_images, _) = glyphs
    features = InvariantFeatures(phi, **QUICK | {"rank": rank}).fit(images, labels)
    responses = features.transform(test_images)
    orbit = phi.operators((16, 16)).apply(test_images)
    for member in range(1, orbit.shape[1]):
        change = np.abs(features.transform(orbit[:, member]) - responses).max()
        assert change < 1e-5 * np.abs(responses).max()


def test_without_the_group_responses_do_change(glyphs):
    """The law above can fail."""
    (images, labels), (test_images, _) = glyphs
    features = InvariantFeatures(Reflections(), **QUICK).fit(images, labels)
    turned = np.rot90(test_images, axes=(1, 2))
    responses = features.transform(test_images)
    assert np.abs(features.transform(turned) - responses).max() > 0.05 * np.abs(responses).max()


def test_the_filters_are_those_of_the_classifier(glyphs):
    (images, labels), (test_images, _) = glyphs
    settings = QUICK | {"validation_fraction": 0.0, "max_samples": 1.0}
    features = InvariantFeatures(Rotations(4), **settings, extremes="both").fit(images, labels)
    classifier = JungleClassifier(Rotations(4), **settings, final_estimator="linear").fit(images, labels)
    np.testing.assert_array_equal(features.filters_, classifier.filters_)
    responses = features.transform(test_images)
    np.testing.assert_array_equal(
        classifier.final_estimator_.predict_proba(responses), classifier.predict_proba(test_images)
    )


def test_the_smallest_responses_follow_the_largest(glyphs):
    (images, labels), (test_images, _) = glyphs
    largest = InvariantFeatures(Rotations(4), **QUICK).fit(images, labels)
    both = InvariantFeatures(Rotations(4), **QUICK, extremes="both").fit(images, labels)
    n_filters = len(largest.filters_)
    assert largest.transform(test_images).dtype == np.float32
    assert both.transform(test_images).shape == (len(test_images), 2 * n_filters)
    np.testing.assert_array_equal(both.transform(test_images)[:, :n_filters], largest.transform(test_images))
    assert np.all(both.transform(test_images)[:, n_filters:] <= largest.transform(test_images))
    # The smallest response to a filter is the largest to its negative.
    negative = both.dags_[0]._replace(filters=-both.dags_[0].filters)
    smallest = both.transform(test_images)[:, n_filters : n_filters + len(negative.filters)]
    largest.dags_ = [negative]
    np.testing.assert_allclose(largest.transform(test_images), -smallest, rtol=1e-6)


@pytest.mark.parametrize("extremes", ["largest", "both"])
def test_names_of_the_features(glyphs, extremes):
    (images, labels), _ = glyphs
    features = InvariantFeatures(**QUICK, extremes=extremes).fit(images, labels)
    names = features.get_feature_names_out()
    assert len(names) == len(set(names)) == features.transform(images[:2]).shape[1]
    assert names[0] == "invariantfeatures0"


def test_each_jungle_answers_with_its_own_members(glyphs):
    (images, labels), (test_images, _) = glyphs
    features = InvariantFeatures(Rotations(8), **QUICK | {"rank": 256}, max_members=0.4).fit(images, labels)
    orbit = Rotations(8).operators((16, 16)).apply(test_images)
    photos = iter(features.filters_)
    columns = iter(features.transform(test_images).T)
    for dag in features.dags_:
        for _ in dag.filters:
            responses = np.einsum("nthw,hw->nt", orbit[:, dag.members], next(photos)).max(axis=1)
            np.testing.assert_allclose(next(columns), responses, atol=1e-4 * responses.std())


def test_in_a_pipeline(glyphs):
    (images, labels), (test_images, test_labels) = glyphs
    pipeline = make_pipeline(
        InvariantFeatures(Rotations(4), **QUICK), StandardScaler(), LogisticRegression(max_iter=1000)
    )
    assert pipeline.fit(images, labels).score(test_images, test_labels) > 0.9
    assert len(pipeline[:-1].get_feature_names_out()) == len(pipeline[0].filters_)


def test_a_search_finds_the_set_that_pays(glyphs):
    (images, labels), (test_images, test_labels) = glyphs
    pipeline = make_pipeline(InvariantFeatures(**QUICK), StandardScaler(), LogisticRegression(max_iter=1000))
    sets = [None, Shifts(1), Rotations(8)]
    search = GridSearchCV(pipeline, {"invariantfeatures__transformations": sets}, cv=2)
    search.fit(images[:60], labels[:60])
    assert repr(search.best_params_["invariantfeatures__transformations"]) == repr(Rotations(8))
    assert search.score(test_images, test_labels) > 0.9


def test_a_search_reaches_into_the_set(glyphs):
    (images, labels), _ = glyphs
    search = GridSearchCV(JungleClassifier(Rotations(1), **QUICK), {"transformations__n": [1, 8]}, cv=2)
    search.fit(images[:60], labels[:60])
    assert search.best_params_ == {"transformations__n": 8}
