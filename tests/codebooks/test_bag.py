"""Bags of features over random windows: what is counted, and that neither threads nor neighbours change it."""

import numpy as np
import pytest
from sklearn.base import clone

from invariance.codebooks import BagOfFeatures, ClusteringForest, KMeansCodebook, RandomWindows
from invariance.codebooks.counting import informative_thresholds
from invariance.descriptors import HaarPatches, MaximumResponses
from invariance.models import load, save


def draw_images(n_each, seed=0):
    """Images of several sizes: stripes across or along, in noise."""
    rng = np.random.default_rng(seed)
    photos, labels = [], []
    for index in range(2 * n_each):
        height, width = rng.integers(40, 70, size=2)
        rows, cols = np.mgrid[:height, :width]
        wave = np.sin((rows if index % 2 else cols) * rng.uniform(0.7, 1.0) + rng.uniform(0, 6))
        photos.append(np.clip(0.5 + 0.25 * wave + 0.1 * rng.standard_normal((height, width)), 0, 1).astype(np.float32))
        labels.append("along" if index % 2 else "across")
    return photos, np.array(labels)


@pytest.fixture(scope="module")
def striped():
    return draw_images(12)


def make_bag(**settings):
    defaults = {"codebook": ClusteringForest(3, n_leaves=20), "sampler": RandomWindows(100, 20), "random_state": 0}
    return BagOfFeatures(**defaults | settings)


@pytest.mark.parametrize("codebook", [ClusteringForest(3, n_leaves=20), KMeansCodebook(15)], ids=["forest", "k-means"])
def test_a_bag_counts_every_window_once_for_every_tree(codebook, striped):
    bag = make_bag(codebook=codebook).fit(*striped)
    counts = bag.count(striped[0])
    n_codes = bag.codebook_.transform(bag.extract(striped[0][0], 5)[0]).shape[1]
    assert counts.shape == (len(striped[0]), bag.n_words_)
    np.testing.assert_array_equal(counts.sum(axis=1), 100 * n_codes)


def test_counts_are_those_of_the_windows_one_by_one(striped):
    bag = make_bag().fit(*striped)
    words = bag.codebook_.transform(bag.extract(striped[0][3])[0])
    expected = np.zeros(bag.n_words_)
    for word in words.ravel():
        expected[word] += 1
    np.testing.assert_array_equal(bag.count(striped[0])[3], expected)


def test_an_image_has_the_same_bag_alone_and_among_others(striped):
    bag = make_bag().fit(*striped)
    together = bag.transform(striped[0])
    np.testing.assert_array_equal(bag.transform(striped[0][5:6])[0], together[5])
    np.testing.assert_array_equal(bag.transform(striped[0][::-1])[::-1], together)


def test_the_seed_decides_and_the_threads_do_not(striped):
    first, second = (make_bag(n_jobs=n_jobs).fit(*striped).transform(striped[0]) for n_jobs in (1, 2))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, make_bag(random_state=1).fit(*striped).transform(striped[0]))


def test_fit_transform_is_fit_and_transform(striped):
    for normalization in ("sqrt", "information"):
        bag = make_bag(normalization=normalization)
        together = clone(bag).fit_transform(*striped)
        np.testing.assert_array_equal(together, bag.fit(*striped).transform(striped[0]))


def test_the_normalizations(striped):
    bag = make_bag().fit(*striped)
    counts = bag.count(striped[0])
    shares = counts / counts.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(bag.normalize(counts), np.sqrt(shares), rtol=1e-6)
    np.testing.assert_allclose(bag.set_params(normalization="sum").normalize(counts), shares, rtol=1e-6)
    np.testing.assert_array_equal(bag.set_params(normalization="binary").normalize(counts), counts > 0)


def test_the_sampler_follows_the_descriptor(striped):
    assert make_bag(sampler=None, descriptor=MaximumResponses()).fit(striped[0][:2]).sampler_.n_descriptors == 100_000
    bag = make_bag(sampler=None).fit(striped[0][:2])
    assert (bag.sampler_.n_windows, type(bag.descriptor_)) == (8000, HaarPatches)


def test_windows_of_a_pyramid_are_counted_in_the_cell_of_their_centre(striped):
    bag = make_bag(levels=2).fit(*striped)
    counts = bag.count(striped[0][:1])[0]
    vectors, windows = bag.extract(striped[0][0])
    words = bag.codebook_.transform(vectors)
    middles = windows[:, :2] + (windows[:, 2:] - 1) / 2
    is_upper_right = (middles < np.array(striped[0][0].shape) / 2) == [True, False]
    expected = np.bincount(words[is_upper_right.all(axis=1)].ravel(), minlength=bag.n_words_)
    np.testing.assert_array_equal(counts[: bag.n_words_], np.bincount(words.ravel(), minlength=bag.n_words_))
    np.testing.assert_array_equal(counts[2 * bag.n_words_ : 3 * bag.n_words_], expected)


def test_thresholds_part_the_classes_where_that_is_possible():
    counts = np.array([[0, 5, 2], [1, 5, 2], [4, 6, 2], [7, 9, 2]], np.float32)
    thresholds = informative_thresholds(counts, np.array([0, 0, 1, 1]))
    np.testing.assert_array_equal(thresholds, [2.5, 5.5, 2])


def test_thresholds_are_the_best_of_all_cuts():
    rng = np.random.default_rng(0)
    column, codes = rng.integers(0, 6, 40), rng.integers(0, 3, 40)

    def information(threshold):
        total = 0.0
        for side in (column > threshold, column <= threshold):
            for code in range(3):
                joint = np.mean(side & (codes == code))
                if joint > 0:
                    total += joint * np.log(joint / (side.mean() * np.mean(codes == code)))
        return total

    chosen = informative_thresholds(column[:, None].astype(np.float32), codes)[0]
    assert information(chosen) == pytest.approx(max(information(cut + 0.5) for cut in range(5)))


def test_a_codebook_without_labels(striped):
    bag = make_bag().fit(striped[0])
    assert bag.transform(striped[0]).shape == (24, bag.n_words_)
    with pytest.raises(ValueError, match="needs labels"):
        make_bag(normalization="information").fit(striped[0])


def test_grey_images_among_colours_are_colours_without_saturation(striped):
    photos, labels = striped
    as_colours = [np.stack([photo] * 3, axis=2) for photo in photos]
    mixed = [as_colours[i] if i % 3 else photos[i] for i in range(len(photos))]
    expected = make_bag().fit(as_colours, labels).transform(as_colours)
    bag = make_bag().fit(mixed, labels)
    np.testing.assert_array_equal(bag.transform(mixed), expected)
    np.testing.assert_array_equal(bag.transform(photos), expected)


def test_paths_will_do(striped, tmp_path):
    from PIL import Image

    paths = []
    for index, photo in enumerate(striped[0][:6]):
        paths.append(tmp_path / f"{index}.png")
        Image.fromarray(np.uint8(255 * photo)).save(paths[-1])
    bag = make_bag().fit(paths, striped[1][:6])
    read = [np.uint8(255 * photo) for photo in striped[0][:6]]
    np.testing.assert_array_equal(bag.transform(paths), bag.transform(read))


def test_a_saved_bag_counts_the_same(striped, tmp_path):
    bag = make_bag().fit(*striped)
    again = load(save(bag, tmp_path / "bag.inv"))
    np.testing.assert_array_equal(again.transform(striped[0]), bag.transform(striped[0]))


@pytest.mark.parametrize(
    ("settings", "images", "message"),
    [
        ({"normalization": "tfidf"}, None, "normalization must be one of"),
        ({"levels": 0}, None, "levels must be"),
        ({"sampler": RandomWindows(0, 5)}, None, "n_windows must be"),
        ({"sampler": RandomWindows(5, 1.5)}, None, "n_training_windows must be"),
        ({"sampler": RandomWindows(5, 5, 0.9, 0.5)}, None, "min_scale must be"),
        ({"descriptor": MaximumResponses()}, None, "takes no windows"),
        ({}, [], "at least one image"),
        ({}, [np.zeros((4, 4)), np.zeros(5)], "image must be"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_mistakes_are_named(settings, images, message, striped):
    photos = striped[0] if images is None else images
    labels = striped[1] if images is None else np.arange(len(images))
    with pytest.raises(ValueError, match=message):
        make_bag(**settings).fit(photos, labels).transform(photos)
