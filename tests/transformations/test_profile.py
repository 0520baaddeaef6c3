"""How invariant is a representation? Cases worked out by hand, and every kind of representation."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, TransformerMixin

from invariance.transformations import Custom, InvarianceProfile, Reflections, Rotations, Shifts, invariance_profile

IMAGES = np.random.default_rng(0).random((5, 6, 6))


def profile_of(within, between):
    return InvarianceProfile(np.array(within, float), np.array(between, float))


def pixels(images):
    return images.reshape(len(images), -1)


def levels(images):
    """The same for every turn by a quarter: the sorted grey levels."""
    return np.sort(pixels(images), axis=1)


def test_ratio_and_separation_by_hand():
    profile = profile_of([1, 2], [2, 4, 6])
    assert profile.ratio == pytest.approx(1.5 / 4)
    # 1 is below all three, 2 below two and level with one, which counts half: 5.5 of 6.
    assert profile.separation == pytest.approx(5.5 / 6)
    assert profile_of([0, 0], [1, 1]).separation == 1
    assert profile_of([3, 3], [1, 2]).separation == 0
    assert profile_of([1, 1], [1, 1]).separation == 0.5
    assert np.isnan(profile_of([0], [0]).ratio)


def test_quantiles_and_sentence_by_hand():
    profile = profile_of([0, 1, 2], [2, 4])
    within, between = profile.quantiles(5)
    np.testing.assert_allclose(within, [0, 0.5, 1, 1.5, 2])
    np.testing.assert_allclose(between, [2, 2.5, 3, 3.5, 4])
    assert len(profile.quantiles()[0]) == 101
    # 0 and 1 are below both, 2 is below one and level with one: 5.5 of 6, 92 %.
    assert profile.sentence == (
        "Versions of one image are 0.33 times as far apart as different images on average, "
        "and nearer than those in 92% of the comparisons."
    )


def test_distances_within_and_between_by_hand():
    """Two images of two pixels and their mirror images: (0, 1) (1, 0) and (2, 5) (5, 2)."""
    images = np.array([[[0.0, 1.0]], [[2.0, 5.0]]])
    profile = invariance_profile(pixels, images, Reflections())
    np.testing.assert_allclose(profile.within, np.sqrt([2, 18]))
    np.testing.assert_allclose(profile.between, np.sqrt([20, 20, 26, 26]))
    assert profile.ratio == pytest.approx(np.sqrt([2, 18]).mean() / np.sqrt([20, 20, 26, 26]).mean())
    assert profile.separation == 1


def test_exact_invariance_is_zero_and_none_is_about_one():
    exact = invariance_profile(levels, IMAGES, Rotations(4))
    assert len(exact.within) == 5 * 6
    assert len(exact.between) == 10 * 16
    np.testing.assert_array_equal(exact.within, 0)
    assert (exact.ratio, exact.separation) == (0, 1)
    none = invariance_profile(pixels, IMAGES, Rotations(4))
    assert 0.7 < none.ratio < 1.3
    assert none.separation < 0.9
    assert (np.diff(none.within) >= 0).all()
    assert (np.diff(none.between) >= 0).all()


def test_a_representation_that_sees_nothing_has_no_ratio():
    nothing = invariance_profile(lambda images: np.zeros((len(images), 1)), IMAGES, Rotations(4))
    assert np.isnan(nothing.ratio)
    assert nothing.separation == 0.5


class Levels(TransformerMixin, BaseEstimator):
    """A fitted transformer."""

    def transform(self, images):
        return levels(images)


class Product:
    """A kernel that only has a diagonal: the product of pixels."""

    def __call__(self, X, Y=None):
        return pixels(X) @ pixels(X if Y is None else Y).T

    def diag(self, X):
        return (pixels(X) ** 2).sum(axis=1)


class Measured(Product):
    """A kernel that knows its distances, which are others than it induces."""

    def distances(self, X, Y=None):
        return cdist(pixels(X), pixels(X if Y is None else Y), "cityblock")


def test_a_transformer_and_a_function_are_taken_alike():
    ours, theirs = (invariance_profile(what, IMAGES, Shifts(1)) for what in (Levels(), levels))
    np.testing.assert_array_equal(ours.within, theirs.within)
    np.testing.assert_array_equal(ours.between, theirs.between)


def test_a_kernel_with_a_diagonal_is_normalised():
    images = np.array([[[0.0, 1.0]], [[3.0, 4.0]]])
    profile = invariance_profile(Product(), images, Reflections())
    # Cosines: 0 within the first, 24 / 25 within the second; between, 4 / 5 and 3 / 5, twice each.
    np.testing.assert_allclose(profile.within, np.sqrt([2 - 48 / 25, 2]))
    np.testing.assert_allclose(profile.between, np.sqrt([2 - 8 / 5, 2 - 8 / 5, 2 - 6 / 5, 2 - 6 / 5]))
    blank = invariance_profile(Product(), np.concatenate([images, [[[0.0, 0.0]]]]), Reflections())
    assert np.isfinite(blank.within).all()
    assert np.isfinite(blank.between).all()


def test_the_distances_of_a_kernel_come_first():
    images = np.array([[[0.0, 1.0]], [[2.0, 5.0]]])
    profile = invariance_profile(Measured(), images, Reflections())
    np.testing.assert_allclose(profile.within, [2, 6])
    np.testing.assert_allclose(profile.between, [6, 6, 6, 6])


def test_a_function_of_images_may_make_the_orbits_and_images_have_colours():
    colours = np.random.default_rng(1).random((3, 4, 4, 3))
    ours = invariance_profile(pixels, colours, Reflections())
    theirs = invariance_profile(pixels, colours, lambda images: np.stack([images, images[:, :, ::-1]], axis=1))
    np.testing.assert_allclose(ours.within, theirs.within)
    np.testing.assert_allclose(ours.between, theirs.between)


@pytest.mark.parametrize(
    ("message", "images", "phi"),
    [
        (r"at least two.*got shape \(1, 6, 6\)", IMAGES[:1], Rotations(4)),
        (r"at least two.*got shape \(6, 6\)", IMAGES[0], Rotations(4)),
        ("phi must have at least two members.*got 1", IMAGES, Shifts(0)),
        ("phi must have at least two members.*got 1", IMAGES, Custom([])),
        ("1001 images in 4 versions are more than 4000 in all", np.ones((1001, 2, 2)), Rotations(4)),
    ],
)
def test_mistakes_are_named(message, images, phi):
    with pytest.raises(ValueError, match=message):
        invariance_profile(pixels, images, phi)
