"""Training on masks: windows are labelled by the object they lie on."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from invariance.codebooks import BagOfFeatures, ClusteringForest, CodebookClassifier, Grid, RandomWindows
from invariance.codebooks.masks import lie_on_object
from invariance.descriptors import HaarPatches
from invariance.transformations import Brightness, Rotations
from invariance.transformations.copies import Orbits

BRIGHT, DARK = 0.9, 0.1


def draw_scenes(n_each, seed):
    """Dark images with a bright square in a corner for the second class; masks of the squares, None without one."""
    rng = np.random.default_rng(seed)
    images, masks = [], []
    for i in range(2 * n_each):
        image = np.full((40, 48), DARK, np.float32) + 0.02 * rng.random((40, 48), np.float32)
        mask = None
        if i >= n_each:
            mask = np.zeros((40, 48), bool)
            mask[:20, :20] = True
            image[mask] = BRIGHT + 0.02 * rng.random(400, np.float32)
        images.append(image)
        masks.append(mask)
    return images, np.repeat(["none", "square"], n_each), masks


def test_windows_lie_on_the_object_by_half_of_their_area():
    rng = np.random.default_rng(0)
    mask = (rng.random((20, 30)) < 0.5).astype(np.float32)
    sides = rng.integers(1, 12, 200)
    windows = np.column_stack([rng.integers(0, 21 - sides), rng.integers(0, 31 - sides), sides])
    expected = [mask[top : top + side, left : left + side].mean() >= 0.5 for top, left, side in windows]
    np.testing.assert_array_equal(lie_on_object(mask, windows), expected)
    assert 50 < sum(expected) < 150
    points = np.column_stack([rng.uniform(0, 19, 50), rng.uniform(0, 29, 50)])
    np.testing.assert_array_equal(
        lie_on_object(mask, points), [mask[round(row), round(column)] > 0 for row, column in points]
    )


class Pixels(BaseEstimator):
    """Every pixel of a grey image, a vector of one value."""

    def extract(self, image, windows=None):
        places = np.indices(image.shape).reshape(2, -1).T.astype(float)
        return image.reshape(-1, 1).astype(np.float32), places


class Remember(ClusteringForest):
    """A forest that keeps what it was fitted on."""

    def fit(self, X, y=None):
        self.seen_ = X.copy(), None if y is None else y.copy()
        return super().fit(X, y)


@pytest.mark.parametrize(
    ("descriptor", "sampler"),
    [(HaarPatches(4), RandomWindows(50, 40, 0.1, 0.3)), (Pixels(), Grid(400))],
    ids=["windows", "grid"],
)
@pytest.mark.parametrize("phi", [None, Rotations(4, border="edge")], ids=["plain", "rotated"])
def test_labels_follow_the_object_wherever_it_is_turned(descriptor, sampler, phi):
    images, y, masks = draw_scenes(4, 0)
    bag = BagOfFeatures(Remember(1), descriptor, sampler, phi, random_state=0).fit(images, y, masks, "none")
    vectors, labels = bag.codebook_.seen_
    brightness = vectors[:, 0]  # the first wavelet is the mean
    on = labels == "square"
    assert 10 < on.sum() < len(on) / 2
    # Windows across an edge of the square are in between; those on the square are brighter than those beside it.
    middle = (brightness.min() + brightness.max()) / 2
    assert np.mean((brightness > middle) == on) > 0.95
    assert bag.background_ == "none"


def test_without_masks_all_windows_have_the_label_of_their_image():
    images, y, masks = draw_scenes(3, 0)
    sampler = RandomWindows(50, 40)
    plain = BagOfFeatures(Remember(1), sampler=sampler, random_state=0).fit(images, y)
    assert plain.background_ is None
    np.testing.assert_array_equal(plain.codebook_.seen_[1], np.repeat(y, 40))
    masked = BagOfFeatures(Remember(1), sampler=sampler, random_state=0).fit(images, y, [None] * len(images))
    np.testing.assert_array_equal(masked.codebook_.seen_[1], np.repeat(y, 40))
    own = BagOfFeatures(Remember(1), sampler=sampler, random_state=0).fit(images, y, masks)
    for seen in (masked, own):
        np.testing.assert_array_equal(seen.codebook_.seen_[0], plain.codebook_.seen_[0])  # the same windows
    assert set(own.codebook_.classes_) == {"none", "square", "background"}


@pytest.mark.parametrize(
    ("labels", "background", "expected"),
    [
        (["background", "square"], None, "background_"),
        ([3, 7], None, 8),
        ([False, True], None, 2),
        ([3, 7], 3, 3),
    ],
)
def test_the_background_has_a_label_of_its_own_or_a_given_one(labels, background, expected):
    images, _, masks = draw_scenes(3, 0)
    bag = BagOfFeatures(ClusteringForest(1), sampler=RandomWindows(50, 40), random_state=0)
    bag.fit(images, np.repeat(labels, 3), masks, background)
    assert bag.background_ == expected
    assert bag.codebook_.classes_.tolist() == sorted({*labels, expected})


def test_a_mask_is_moved_but_not_brightened():
    mask = np.zeros((8, 8), np.float32)
    mask[0, 0] = 1
    phi = Rotations(4) * Brightness(3)
    orbit = Orbits(phi).of_mask(mask)
    assert len(orbit) == len(Orbits(phi).of(mask)) == 12
    for copy in orbit:
        np.testing.assert_allclose(np.sort(copy.ravel()), np.sort(mask.ravel()), atol=1e-6)
    assert len({int(copy.argmax()) for copy in orbit}) == 4


def test_a_classifier_trained_on_masks_knows_where_its_object_is():
    images, y, masks = draw_scenes(6, 0)
    sampler = RandomWindows(200, 60, max_scale=0.4)
    maps = []
    for given in (None, masks):
        bag = BagOfFeatures(ClusteringForest(3, n_leaves=30), sampler=sampler)
        model = CodebookClassifier(bag, random_state=0).fit(images, y, masks=given)
        assert model.classes_.tolist() == ["none", "square"]
        assert model.score(images, y) == 1
        strength = model.word_map(images[-1], "square", n_windows=2000)
        maps.append(np.nanmean(strength[:18, :18]) - np.nanmean(strength[22:, 22:]))
    # Without masks the windows beside a square have its label as well, as many as those of images without one.
    assert maps[0] < 0.65
    assert maps[1] > 0.8


def test_mistakes_are_named():
    images, y, masks = draw_scenes(2, 0)
    bag = BagOfFeatures(sampler=RandomWindows(20, 10))
    with pytest.raises(ValueError, match="masks need labels y"):
        bag.fit(images, masks=masks)
    with pytest.raises(ValueError, match="each of the 4 images; got 3"):
        bag.fit(images, y, masks[:3])
    with pytest.raises(ValueError, match=r"mask of shape \(5, 5\) for an image of shape \(40, 48\)"):
        bag.fit(images, y, [*masks[:3], np.ones((5, 5))])
    with pytest.raises(ValueError, match="background must be a label of the same kind as y.*got 7"):
        bag.fit(images, y, masks, background=7)
