import numpy as np
import pytest
import tifffile
from sklearn.base import BaseEstimator, clone

from invariance.codebooks.words import WordHistograms, find_words, histogram_distances, nearest_words


class Pixels(BaseEstimator):
    """Every pixel of an image, a vector of its channels."""

    def describe_all(self, image):
        image = image.reshape(*image.shape[:2], -1)
        return image.reshape(-1, image.shape[2]).astype(np.float32)

    def places(self, shape):
        return np.indices(shape[:2]).reshape(2, -1).T.astype(float)


@pytest.fixture(scope="module")
def photos():
    rng = np.random.default_rng(0)
    return [rng.random((10 + i, 12)) for i in range(6)]


def test_a_histogram_counts_the_nearest_words(photos):
    model = WordHistograms(Pixels(), 5, random_state=0).fit(photos)
    distances = np.abs(photos[2].reshape(-1, 1) - model.words_.T)
    counts = np.bincount(distances.argmin(axis=1), minlength=5)
    np.testing.assert_allclose(model.transform(photos)[2], counts / counts.sum(), rtol=1e-6)
    np.testing.assert_array_equal(model.words_of(photos[2]), distances.argmin(axis=1))


def test_words_are_centres_of_what_was_seen():
    image = np.array([[0.1, 0.1, 0.9], [0.9, 0.5, 0.5]])
    model = WordHistograms(Pixels(), 3, random_state=0).fit([image])
    np.testing.assert_allclose(np.sort(model.words_.ravel()), [0.1, 0.5, 0.9], atol=1e-5)


def test_words_by_class_are_those_of_each_class():
    images = [np.full((4, 4), value) + 0.01 * np.arange(16).reshape(4, 4) for value in (0.0, 0.0, 10.0)]
    model = WordHistograms(Pixels(), 4, by_class=True, random_state=0).fit(images, ["a", "a", "b"])
    assert np.sum(model.words_ < 1) == np.sum(model.words_ > 9) == 2
    assert list(model.classes_) == ["a", "b"]


def test_pyramids_hold_the_cells_of_every_level_with_their_weights(photos):
    model = WordHistograms(Pixels(), 3, levels=3, random_state=0).fit(photos)
    histograms = model.transform(photos)
    assert histograms.shape == (6, 3 * (1 + 4 + 16))
    np.testing.assert_allclose(histograms.sum(axis=1), 1, rtol=1e-5)
    whole, quarters, sixteenths = np.split(histograms, [3, 15], axis=1)
    np.testing.assert_allclose(whole.sum(axis=1), 0.25, rtol=1e-5)
    np.testing.assert_allclose(sixteenths.sum(axis=1), 0.5, rtol=1e-5)
    np.testing.assert_allclose(quarters.reshape(6, 4, 3).sum(axis=1), whole, rtol=1e-5)
    photo = photos[0]  # 10 x 12
    upper_right = np.bincount(model.words_of(photo).reshape(10, 12)[:5, 6:].ravel(), minlength=3)
    np.testing.assert_allclose(quarters[0].reshape(4, 3)[1], 0.25 * upper_right / 120, rtol=1e-5)


def test_words_that_change_places_matter_to_pyramids_only():
    image = np.zeros((8, 8))
    image[:, 4:] = 1
    images = [image, image[:, ::-1]]
    for levels, differs in ((1, False), (2, True)):
        histograms = WordHistograms(Pixels(), 2, levels=levels, random_state=0).fit(images).transform(images)
        assert np.allclose(*histograms) != differs


def test_threads_and_paths_change_nothing(photos, tmp_path):
    bytes_ = [np.rint(255 * photo).astype(np.uint8) for photo in photos]
    paths = [tmp_path / f"{i}.tif" for i in range(len(bytes_))]
    for path, photo in zip(paths, bytes_, strict=True):
        tifffile.imwrite(path, photo)
    from invariance.images import read_image

    arrays = [read_image(path) for path in paths]
    model = WordHistograms(Pixels(), 7, n_training=100, levels=2, random_state=3)
    first = model.fit(arrays).transform(arrays)
    again = clone(model).set_params(n_jobs=2).fit(paths).transform(paths)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, clone(model).set_params(random_state=4).fit(arrays).transform(arrays))


def test_a_descriptor_that_can_describes_no_more_than_is_learned_from(photos):
    asked = []

    class FewPixels(Pixels):
        def describe_some(self, image, rows):
            asked.append(len(rows))
            return self.describe_all(image)[rows]

    words = [
        WordHistograms(kind(), 5, n_training=60, random_state=0).fit(photos).words_ for kind in (Pixels, FewPixels)
    ]
    np.testing.assert_array_equal(*words)
    assert asked == [10] * len(photos)


@pytest.mark.parametrize("room", [0, 2000, 2**29])
@pytest.mark.parametrize("levels", [1, 2])
def test_vectors_that_fit_into_memory_are_computed_once(room, levels, photos, monkeypatch):
    described = []

    class Counted(Pixels):
        def describe_all(self, image):
            described.append(image.shape)
            return super().describe_all(image)

    monkeypatch.setattr("invariance.codebooks.words.KEPT_BYTES", room)
    model = WordHistograms(Counted(), 5, levels=levels, random_state=0, n_jobs=1)
    histograms = model.fit_transform(photos)
    n_kept = int(np.searchsorted(np.cumsum([4 * photo.size for photo in photos]), room, "right"))
    assert len(described) == 2 * len(photos) - n_kept
    np.testing.assert_array_equal(histograms, clone(model).fit(photos).transform(photos))


def test_few_vectors_an_image_are_enough_to_learn_from(photos):
    model = WordHistograms(Pixels(), 6, n_training=6, random_state=0).fit(photos)
    # With one vector an image every word is one of the vectors.
    for word in model.words_.ravel():
        assert min(np.abs(photo - word).min() for photo in photos) < 1e-6


def test_nearest_words_are_those_of_a_slow_search():
    rng = np.random.default_rng(0)
    vectors, words = rng.standard_normal((2, 300, 5)).astype(np.float32)
    slow = ((vectors[:, None] - words) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(nearest_words(vectors, words), slow)


def test_distances_follow_their_formulas():
    rng = np.random.default_rng(0)
    X, Y = rng.dirichlet(np.ones(6), 4), rng.dirichlet(np.ones(6), 3)
    chi2 = 0.5 * ((X[:, None] - Y) ** 2 / (X[:, None] + Y)).sum(axis=2)
    np.testing.assert_allclose(histogram_distances(X, Y), chi2)
    np.testing.assert_allclose(histogram_distances(X, Y, "intersection"), 0.5 * np.abs(X[:, None] - Y).sum(axis=2))
    for kind in ("chi2", "intersection"):
        np.testing.assert_allclose(np.diag(histogram_distances(X, kind=kind)), 0, atol=1e-12)


def test_mistakes_are_named(photos):
    with pytest.raises(ValueError, match="n_words must be at most the 36 vectors"):
        find_words(np.zeros((36, 2), np.float32), 40, 0)
    with pytest.raises(ValueError, match="by_class=True needs labels y"):
        WordHistograms(Pixels(), 2, by_class=True).fit(photos)
    with pytest.raises(ValueError, match="must all be grey or all in colour"):
        WordHistograms(Pixels(), 2).fit([np.zeros((3, 3)), np.zeros((3, 3, 3))])
    with pytest.raises(ValueError, match="images must give vectors of 1 values.*got 3"):
        WordHistograms(Pixels(), 2).fit(photos).transform([np.zeros((3, 3, 3))])
    with pytest.raises(ValueError, match="got one array of shape"):
        WordHistograms(Pixels(), 2).fit(np.zeros((5, 5)))
    with pytest.raises(ValueError, match="at least one image"):
        WordHistograms(Pixels(), 2).fit([])
