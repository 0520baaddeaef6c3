"""Bags over Φ: exactly unchanged by groups that move pixels, for every sampler, and as fast as without Φ."""

import numpy as np
import pytest
from scipy import ndimage

from invariance.codebooks import (
    BagOfFeatures,
    ClusteringForest,
    CodebookClassifier,
    Grid,
    KMeansCodebook,
    RandomWindows,
)
from invariance.codebooks.samplers import MAX_TRAINING_COPIES, MIN_WINDOWS, _draw_copies
from invariance.descriptors import HaarPatches, MaximumResponses, PatchGrid, SiftWindows
from invariance.models import load, save
from invariance.transformations import Brightness, Contrast, Elastic, Identity, Reflections, Rotations, Scales, Shifts

GROUPS = {
    "quarter turns": (Rotations(4), [np.rot90, lambda image: np.rot90(image, 2)]),
    "mirror images": (Reflections(), [np.fliplr]),
    "all mirror images": (Reflections("both"), [np.fliplr, np.flipud]),
    "turns and mirror images": (Rotations(4) * Reflections(), [np.rot90, np.flipud, lambda image: np.rot90(image).T]),
}


def draw_photos(n=8, seed=0, channels=()):
    """Square images with coarse structure, of two sizes."""
    rng = np.random.default_rng(seed)
    noise = [ndimage.gaussian_filter(rng.standard_normal((side, side, *channels)), (2, 3, 0)[: 2 + len(channels)])
             for side in (40, 49) * (n // 2)]  # fmt: skip
    return [np.clip(0.5 + 2 * part, 0, 1).astype(np.float32) for part in noise]


def make_bag(phi=None, **settings):
    defaults = {"codebook": ClusteringForest(2, n_leaves=20), "sampler": RandomWindows(400, 30), "random_state": 0}
    return BagOfFeatures(transformations=phi, **defaults | settings)


SETTINGS = {
    "windows": {},
    "windows of a grid": {"sampler": Grid(500)},
    "sift": {"descriptor": SiftWindows()},
    "patches": {"descriptor": PatchGrid(5, step=3), "sampler": None, "codebook": KMeansCodebook(10)},
}


@pytest.mark.parametrize(("phi", "moves"), GROUPS.values(), ids=GROUPS)
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_the_bag_of_a_transformed_image_is_exactly_the_same(settings, phi, moves):
    images, labels = draw_photos(), np.arange(8) % 2
    bag = make_bag(phi, **settings).fit(images, labels)
    plain = make_bag(**settings).fit(images, labels)
    for move in moves:
        moved = [np.ascontiguousarray(move(image)) for image in images]
        np.testing.assert_array_equal(bag.count(moved), bag.count(images))
        assert not np.array_equal(plain.count(moved), plain.count(images))  # the law can fail


def test_colours_are_turned_as_well():
    images, labels = draw_photos(channels=(3,)), np.arange(8) % 2
    bag = make_bag(Rotations(4)).fit(images, labels)
    np.testing.assert_array_equal(bag.count([np.rot90(image) for image in images]), bag.count(images))


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_counts_are_summed_over_the_transformed_images(settings):
    images, labels = draw_photos(), np.arange(8) % 2
    bag = make_bag(Rotations(4), **settings).fit(images, labels)
    n_windows = {"n_windows": 100} if isinstance(bag.sampler_, RandomWindows) else {}
    alone = make_bag().set_params(sampler=bag.sampler_.set_params(**n_windows), levels=bag.levels)
    for name in ("codebook_", "descriptor_", "sampler_", "n_words_", "n_values_", "in_colour_", "seed_"):
        setattr(alone, name, getattr(bag, name))
    expected = sum(alone.count([np.rot90(image, turns) for image in images]) for turns in range(4))
    bag.sampler_.set_params(**({"n_windows": 400} if n_windows else {}))
    np.testing.assert_array_equal(bag.count(images), expected)


def test_no_transformation_is_the_same_as_none():
    images, labels = draw_photos(), np.arange(8) % 2
    expected = make_bag().fit_transform(images, labels)
    np.testing.assert_array_equal(make_bag(Identity()).fit_transform(images, labels), expected)
    np.testing.assert_array_equal(make_bag(Rotations(1)).fit_transform(images, labels), expected)


@pytest.mark.parametrize(
    "phi", [Contrast(3), Brightness(), Elastic(2), Scales() * Shifts(1, border="reflect"), Rotations(4) | Contrast()],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_every_kind_of_set_is_pooled_over_and_threads_change_nothing(settings, phi):
    images, labels = draw_photos(), np.arange(8) % 2
    first, second = (make_bag(phi, n_jobs=n_jobs, **settings).fit_transform(images, labels) for n_jobs in (1, 2))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(make_bag(phi, **settings).fit(images, labels).transform(images), first)
    assert not np.array_equal(first, make_bag(**settings).fit_transform(images, labels))


def test_windows_are_divided_among_the_members():
    images, labels = draw_photos(), np.arange(8) % 2
    counts = make_bag(Rotations(3)).fit(images, labels).count(images)
    np.testing.assert_array_equal(counts.sum(axis=1), 2 * 3 * (400 // 3))
    counts = make_bag(Rotations(20)).fit(images, labels).count(images)
    np.testing.assert_array_equal(counts.sum(axis=1), 2 * 20 * MIN_WINDOWS)


@pytest.mark.parametrize("n_members", [3, 50])
def test_training_windows_are_drawn_from_several_members(n_members):
    """The codebook learns from as many vectors as without Φ, and from transformed images."""
    seen = {}

    class Watched(HaarPatches):
        def _describe(self, image, windows):
            seen.setdefault(image.tobytes(), []).append(len(windows))
            return super()._describe(image, windows)

    images = draw_photos(2)
    make_bag(Rotations(n_members), descriptor=Watched()).fit(images)
    numbers = [number for of_image in seen.values() for number in of_image]
    assert sum(numbers) == 2 * 30
    assert len(seen) == 2 * min(n_members, MAX_TRAINING_COPIES)


def test_invariance_helps_where_test_images_are_turned():
    rng = np.random.default_rng(0)

    def draw(n, turned):
        images = []
        for label in np.arange(n) % 2:
            image = 0.2 * rng.random((40, 40))
            top, left = rng.integers(0, 20, 2)
            image[top : top + 20, left : left + 10] += 0.5
            image[top : top + 6 if label else top + 20, left + 10 : left + 20] += 0.5 if label else 0.25
            images.append(np.rot90(image, rng.integers(4) if turned else 0))
        return images, np.arange(n) % 2

    train, test = draw(40, False), draw(60, True)
    rates = [
        CodebookClassifier(make_bag(descriptor=SiftWindows()), transformations=phi).fit(*train).score(*test)
        for phi in (None, Rotations(4))
    ]
    assert rates[1] > rates[0] + 0.05


def test_a_classifier_hands_its_transformations_to_the_bag(tmp_path):
    images, labels = draw_photos(), np.arange(8) % 2
    model = CodebookClassifier(make_bag(), transformations=Rotations(4)).fit(images, labels)
    moved = [np.rot90(image) for image in images]
    np.testing.assert_array_equal(model.decision_function(moved), model.decision_function(images))
    again = load(save(model, tmp_path / "words.inv"))
    np.testing.assert_array_equal(again.decision_function(moved), model.decision_function(images))
    own = CodebookClassifier(make_bag(Rotations(4))).fit(images, labels)
    np.testing.assert_array_equal(own.decision_function(images), model.decision_function(images))
    with pytest.raises(ValueError, match="to the classifier or to its bag, not to both"):
        CodebookClassifier(make_bag(Rotations(4)), transformations=Rotations(4)).fit(images, labels)


def test_maps_need_windows():
    images, labels = draw_photos(), np.arange(8) % 2
    bag = BagOfFeatures(KMeansCodebook(5), MaximumResponses())
    model = CodebookClassifier(bag, random_state=0).fit(images, labels)
    with pytest.raises(ValueError, match="need windows"):
        model.word_map(images[0], 1)


def test_training_windows_of_many_images_are_of_all_members():
    drawn = {int(copy) for seed in range(20) for copy in _draw_copies(12, 67, np.random.default_rng(seed))}
    assert drawn == set(range(12))
