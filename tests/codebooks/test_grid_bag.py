"""Bags of features over grids: histograms of the nearest words of k-means, whole or in the cells of a pyramid."""

import numpy as np
import pytest
import tifffile
from sklearn.base import BaseEstimator, clone

from invariance.codebooks import BagOfFeatures, Grid, KMeansCodebook, histogram_distances
from invariance.descriptors import DenseSift


class Pixels(BaseEstimator):
    """Every pixel of an image, a vector of its channels."""

    def extract(self, image, windows=None):
        image = image.reshape(*image.shape[:2], -1)
        places = np.indices(image.shape[:2]).reshape(2, -1).T.astype(float)
        return image.reshape(-1, image.shape[2]).astype(np.float32), places


def count_pixels(n_words, descriptor=None, n_descriptors=100_000, by_class=False, **settings):
    """Histograms of the words of pixels."""
    codebook, descriptor = KMeansCodebook(n_words, by_class=by_class), descriptor or Pixels()
    return BagOfFeatures(codebook, descriptor, Grid(n_descriptors), normalization="sum", **settings)


def words_of(model, image):
    return model.codebook_.transform(model.extract(image)[0])[:, 0]


@pytest.fixture(scope="module")
def photos():
    rng = np.random.default_rng(0)
    return [rng.random((10 + i, 12)) for i in range(6)]


def test_a_histogram_counts_the_nearest_words(photos):
    model = count_pixels(5, random_state=0).fit(photos)
    distances = np.abs(photos[2].reshape(-1, 1) - model.codebook_.words_.T)
    counts = np.bincount(distances.argmin(axis=1), minlength=5)
    np.testing.assert_allclose(model.transform(photos)[2], counts / counts.sum(), rtol=1e-6)
    np.testing.assert_array_equal(words_of(model, photos[2]), distances.argmin(axis=1))


def test_words_are_centres_of_what_was_seen():
    image = np.array([[0.1, 0.1, 0.9], [0.9, 0.5, 0.5]])
    model = count_pixels(3, random_state=0).fit([image])
    np.testing.assert_allclose(np.sort(model.codebook_.words_.ravel()), [0.1, 0.5, 0.9], atol=1e-5)


def test_words_by_class_are_those_of_each_class():
    images = [np.full((4, 4), value) + 0.01 * np.arange(16).reshape(4, 4) for value in (0.0, 0.0, 10.0)]
    model = count_pixels(4, by_class=True, random_state=0).fit(images, ["a", "a", "b"])
    assert np.sum(model.codebook_.words_ < 1) == np.sum(model.codebook_.words_ > 9) == 2
    assert list(model.codebook_.classes_) == ["a", "b"]


def test_pyramids_hold_the_cells_of_every_level_with_their_weights(photos):
    model = count_pixels(3, levels=3, random_state=0).fit(photos)
    histograms = model.transform(photos)
    assert histograms.shape == (6, 3 * (1 + 4 + 16))
    np.testing.assert_allclose(histograms.sum(axis=1), 1, rtol=1e-5)
    whole, quarters, sixteenths = np.split(histograms, [3, 15], axis=1)
    np.testing.assert_allclose(whole.sum(axis=1), 0.25, rtol=1e-5)
    np.testing.assert_allclose(sixteenths.sum(axis=1), 0.5, rtol=1e-5)
    np.testing.assert_allclose(quarters.reshape(6, 4, 3).sum(axis=1), whole, rtol=1e-5)
    photo = photos[0]  # 10 x 12
    upper_right = np.bincount(words_of(model, photo).reshape(10, 12)[:5, 6:].ravel(), minlength=3)
    np.testing.assert_allclose(quarters[0].reshape(4, 3)[1], 0.25 * upper_right / 120, rtol=1e-5)


def test_words_that_change_places_matter_to_pyramids_only():
    image = np.zeros((8, 8))
    image[:, 4:] = 1
    images = [image, image[:, ::-1]]
    for levels, differs in ((1, False), (2, True)):
        histograms = count_pixels(2, levels=levels, random_state=0).fit(images).transform(images)
        assert np.allclose(*histograms) != differs


def test_threads_and_paths_change_nothing(photos, tmp_path):
    bytes_ = [np.rint(255 * photo).astype(np.uint8) for photo in photos]
    paths = [tmp_path / f"{i}.tif" for i in range(len(bytes_))]
    for path, photo in zip(paths, bytes_, strict=True):
        tifffile.imwrite(path, photo)
    from invariance.images import read_image

    arrays = [read_image(path) for path in paths]
    model = count_pixels(7, n_descriptors=100, levels=2, random_state=3)
    first = model.fit(arrays).transform(arrays)
    again = clone(model).set_params(n_jobs=2).fit(paths).transform(paths)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, clone(model).set_params(random_state=4).fit(arrays).transform(arrays))


@pytest.mark.parametrize("room", [0, 2000, 2**29])
@pytest.mark.parametrize("levels", [1, 2])
def test_vectors_that_fit_into_memory_are_computed_once(room, levels, photos, monkeypatch):
    described = []

    class Counted(Pixels):
        def extract(self, image, windows=None):
            described.append(image.shape)
            return super().extract(image)

    monkeypatch.setattr("invariance.codebooks.bag.KEPT_BYTES", room)
    model = count_pixels(5, Counted(), levels=levels, random_state=0, n_jobs=1)
    histograms = model.fit_transform(photos)
    n_kept = int(np.searchsorted(np.cumsum([4 * photo.size for photo in photos]), room, "right"))
    assert len(described) == 2 * len(photos) - n_kept
    np.testing.assert_array_equal(histograms, clone(model).fit(photos).transform(photos))


def test_few_vectors_per_image_are_enough_to_learn_from(photos):
    model = count_pixels(6, n_descriptors=6, random_state=0).fit(photos)
    # With one vector an image every word is one of the vectors.
    for word in model.codebook_.words_.ravel():
        assert min(np.abs(photo - word).min() for photo in photos) < 1e-6


def test_distances_follow_their_formulas():
    rng = np.random.default_rng(0)
    X, Y = rng.dirichlet(np.ones(6), 4), rng.dirichlet(np.ones(6), 3)
    chi2 = 0.5 * ((X[:, None] - Y) ** 2 / (X[:, None] + Y)).sum(axis=2)
    np.testing.assert_allclose(histogram_distances(X, Y), chi2)
    np.testing.assert_allclose(histogram_distances(X, Y, "intersection"), 0.5 * np.abs(X[:, None] - Y).sum(axis=2))
    for kind in ("chi2", "intersection"):
        np.testing.assert_allclose(np.diag(histogram_distances(X, kind=kind)), 0, atol=1e-12)


def test_an_image_smaller_than_all_windows_has_equal_shares():
    images = [np.random.default_rng(0).random((40, 40)), np.zeros((9, 9))]
    bag = BagOfFeatures(KMeansCodebook(4), DenseSift(4, (8,)), normalization="sum", levels=2, random_state=0).fit(
        images
    )
    np.testing.assert_allclose(bag.transform(images)[1], np.repeat([0.125, 0.03125], [4, 16]))


def test_mistakes_are_named(photos):
    with pytest.raises(ValueError, match="n_descriptors must be"):
        count_pixels(2, n_descriptors=0).fit(photos)
    with pytest.raises(ValueError, match="images must give vectors of 1 values.*got 3"):
        count_pixels(2).fit(photos).transform([np.zeros((3, 3, 3))])
    with pytest.raises(ValueError, match="vectors of one length"):
        count_pixels(2).fit([np.zeros((3, 3, 2)), np.zeros((3, 3, 3))])
    with pytest.raises(ValueError, match="got one array of shape"):
        count_pixels(2).fit(np.zeros((5, 5)))
    for method in ("fit", "transform"):
        with pytest.raises(ValueError, match=r"got one array of shape \(9, 8, 3\)\. Put a single image in a list"):
            getattr(count_pixels(2).fit(photos), method)(np.zeros((9, 8, 3)))
    with pytest.raises(ValueError, match="at least one image"):
        count_pixels(2).fit([])
