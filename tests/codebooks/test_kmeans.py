"""The k-means codebook: words are the nearest centres, and say what they stand for."""

import numpy as np
import pytest
import skops.io
from sklearn.base import clone
from sklearn.datasets import make_blobs

from invariance.codebooks import KMeansCodebook, kmeans
from invariance.codebooks.kmeans import find_words, nearest_words
from invariance.codebooks.starts import best_start, spread_centres
from invariance.models import ModelError, load, save
from invariance.models._container import write_container
from invariance.models._persistence import _describe_model


@pytest.fixture(scope="module")
def blobs():
    descriptors, codes = make_blobs(300, 5, centers=6, random_state=0)
    return descriptors, np.array(["bike", "car"])[codes % 2]


@pytest.fixture(scope="module", params=[None, 100], ids=["all at once", "in batches"])
def codebook(request, blobs):
    return KMeansCodebook(12, batch_size=request.param, random_state=0).fit(*blobs)


def test_words_are_the_nearest_centres(codebook, blobs):
    words = codebook.transform(blobs[0])
    assert (words.dtype, words.shape) == (np.int32, (300, 1))
    centres = codebook.words_
    assert codebook.n_words_ == len(centres) == 12
    distances = np.linalg.norm(blobs[0][:, None] - centres, axis=2)
    np.testing.assert_array_equal(words[:, 0], distances.argmin(axis=1))


def test_posteriors_are_the_shares_of_classes_of_the_words(codebook, blobs):
    descriptors, labels = blobs
    words = codebook.transform(descriptors)[:, 0]
    assert codebook.posteriors_.shape == (12, 2)
    for word in np.unique(words):
        expected = [np.mean(labels[words == word] == name) for name in ("bike", "car")]
        np.testing.assert_allclose(codebook.posteriors_[word], expected)
    np.testing.assert_array_equal(codebook.purity_, codebook.posteriors_.max(axis=1))


def test_labels_change_no_word(codebook, blobs):
    blind = clone(codebook).fit(blobs[0])
    assert (blind.classes_, blind.posteriors_, blind.purity_) == (None, None, None)
    np.testing.assert_array_equal(blind.transform(blobs[0]), codebook.transform(blobs[0]))


def test_nearest_words_are_those_of_a_slow_search():
    rng = np.random.default_rng(0)
    vectors, words = rng.standard_normal((2, 300, 5)).astype(np.float32)
    slow = ((vectors[:, None] - words) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(nearest_words(vectors, words), slow)


def test_words_of_the_same_descriptors_and_settings_are_found_once(blobs, monkeypatch):
    X = blobs[0] + 0.5  # of this test alone
    settings = {"n_words": 5, "batch_size": 50, "random_state": 0}
    first = KMeansCodebook(**settings).fit(X)
    monkeypatch.setattr(kmeans, "fit_kmeans", lambda *_: pytest.fail("they were found again"))
    again = KMeansCodebook(**settings).fit(X.copy())
    np.testing.assert_array_equal(again.words_, first.words_)
    assert again.n_iter_ == first.n_iter_ > 0
    again.words_[:] = 0  # a model is its own
    np.testing.assert_array_equal(KMeansCodebook(**settings).fit(X).words_, first.words_)
    for change in ({"n_words": 6}, {"batch_size": 60}, {"random_state": 1}, {"n_init": 1}, {"max_iter": 9}):
        with pytest.raises(pytest.fail.Exception):
            KMeansCodebook(**settings | change).fit(X)
    with pytest.raises(pytest.fail.Exception):
        KMeansCodebook(**settings).fit(X + 1)


def test_starts_are_spread_over_what_is_far_apart():
    centres = 100 * np.random.default_rng(0).standard_normal((40, 3))
    X = (np.repeat(centres, 25, axis=0) + np.random.default_rng(1).standard_normal((1000, 3)) + 1e4).astype(np.float32)
    for seed in range(3):
        start = spread_centres(X - X.mean(axis=0), 40, np.random.default_rng(seed)) + X.mean(axis=0)
        owners = ((start[:, None] - 1e4 - centres) ** 2).sum(axis=2).argmin(axis=1)
        assert len(set(owners.tolist())) > 37  # drawn at random, about 25 of 40 would be hit
    best = best_start(X, 40, 3, 1000, np.random.default_rng(0))
    assert ((X[:, None] - best) ** 2).sum(axis=2).min(axis=1).mean() < 30


def test_starts_among_equal_descriptors_are_found():
    assert spread_centres(np.ones((9, 2), np.float32), 4, np.random.default_rng(0)).tolist() == [[1, 1]] * 4


def test_words_of_the_function_are_those_of_the_default_codebook(blobs):
    codebook = KMeansCodebook(7, random_state=0).fit(blobs[0])
    seed = int(np.random.default_rng(0).integers(2**31))
    np.testing.assert_array_equal(find_words(blobs[0], 7, seed), codebook.words_)


def test_words_by_class_are_those_of_each_class():
    rng = np.random.default_rng(0)
    descriptors, labels = rng.standard_normal((90, 2)), np.repeat(["a", "b", "c"], 30)
    descriptors += 20 * np.repeat([0, 1, 2], 30)[:, None]
    codebook = KMeansCodebook(7, by_class=True, random_state=0).fit(descriptors, labels)
    assert np.bincount(np.rint(codebook.words_.mean(axis=1) / 20).astype(int)).tolist() == [3, 2, 2]
    np.testing.assert_array_equal(codebook.purity_, 1)
    with pytest.raises(ValueError, match="by_class=True needs labels y"):
        KMeansCodebook(3, by_class=True).fit(descriptors)


def test_another_seed_gives_other_words(codebook, blobs):
    other = clone(codebook).set_params(random_state=1).fit(*blobs)
    assert not np.array_equal(other.transform(blobs[0]), codebook.transform(blobs[0]))


def test_centres_may_start_anywhere(blobs):
    spread, random = (
        np.sum((blobs[0] - model.words_[model.transform(blobs[0])[:, 0]]) ** 2)
        for model in (
            KMeansCodebook(6, None, n_init=1, init=init, max_iter=1, random_state=0).fit(*blobs)
            for init in ("k-means++", "random")
        )
    )
    assert spread < random  # six blobs have six spread centres; drawn at random, some blobs get two


@pytest.mark.parametrize("name", ["n_words", "n_init", "max_iter", "init", "batch_size"])
def test_wrong_parameters_are_named(blobs, name):
    with pytest.raises(ValueError, match=f"{name} must be .* got 0"):
        KMeansCodebook(**{"n_words": 3, name: 0}).fit(*blobs)


def test_more_words_than_descriptors_are_refused(blobs):
    with pytest.raises(ValueError, match="n_words must be at most n_samples=300.* got 400"):
        KMeansCodebook().fit(*blobs)


def test_a_saved_codebook_codes_the_same(codebook, blobs, tmp_path):
    loaded = load(save(codebook, tmp_path / "codebook.zip"))
    np.testing.assert_array_equal(loaded.transform(blobs[0]), codebook.transform(blobs[0]))


@pytest.mark.parametrize("forged", [np.zeros((12, 9), np.float32), np.zeros((12, 5)), np.zeros((0, 5), np.float32)])
def test_forged_centres_are_refused(blobs, forged, tmp_path):
    model = KMeansCodebook(12, random_state=0).fit(blobs[0])
    model.words_ = forged
    write_container(tmp_path / "forged.zip", _describe_model(model), skops.io.dumps(model))
    with pytest.raises(ModelError, match="forged.zip.*word"):
        load(tmp_path / "forged.zip")
