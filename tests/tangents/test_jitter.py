"""Jittered distances are literal minima."""

import pickle

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from invariance.tangents import JitteredDistance, TangentDistance, jitter
from invariance.transformations import Brightness, Identity, Illumination, Reflections, Rotations, Shifts
from tests import reference
from tests.tangents.toys import draw_smooth

IMAGES, OTHERS = draw_smooth(5, (6, 7)), draw_smooth(4, (6, 7), seed=1)
JITTERS = {"shifts": None, "turns and mirrors": Rotations(2) * Reflections(), "lighting": Brightness(3, limit=0.5)}
DISTANCES = {
    "euclidean": None,
    "two-sided": TangentDistance(Rotations()),
    "one-sided": TangentDistance(sides="one"),
    "mean, stiff": TangentDistance(Shifts(1), sides="mean", stiffness=0.3),
}


def literal(X, Y, phi, distance):
    """Every version of every image with every other, then the least."""
    operators = (Shifts(1) if phi is None else phi).operators(X.shape[1:])
    if distance is None:
        return [
            [
                reference.jittered_distance(
                    x, y, lambda image: operators.apply(image[None])[0], lambda v, w: float(((v - w) ** 2).sum())
                )
                for y in Y
            ]
            for x in X
        ]

    def least(A, B):
        versions = operators.apply(A)
        all_pairs = distance.squared(versions.reshape(-1, *A.shape[1:]), B)
        return all_pairs.reshape(*versions.shape[:2], len(B)).min(axis=1)

    return (least(X, Y) + least(Y, X).T) / 2


@pytest.mark.parametrize("distance", DISTANCES.values(), ids=DISTANCES.keys())
@pytest.mark.parametrize("phi", JITTERS.values(), ids=JITTERS.keys())
def test_it_is_the_least_distance_over_versions(phi, distance):
    jittered = JitteredDistance(phi, distance)
    X, Y = IMAGES[:3], OTHERS[:2]
    np.testing.assert_allclose(jittered.squared(X, Y), literal(X, Y, phi, distance), rtol=1e-5)
    np.testing.assert_allclose(jittered.distances(X, Y) ** 2, jittered.squared(X, Y))


@pytest.mark.parametrize("distance", DISTANCES.values(), ids=DISTANCES.keys())
def test_it_is_symmetric_and_less_than_the_distance_of_the_images_as_they_are(distance):
    jittered = JitteredDistance(distance=distance).fit(IMAGES)
    K = jittered(IMAGES)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_allclose(K, jittered(IMAGES, IMAGES), rtol=1e-5)
    np.testing.assert_allclose(np.diag(K), jittered.diag(IMAGES), atol=1e-9)
    np.testing.assert_allclose(jittered(IMAGES, OTHERS), jittered(OTHERS, IMAGES).T, rtol=1e-5)
    still = JitteredDistance(Identity(), distance).squared(IMAGES, OTHERS)
    assert (jittered.squared(IMAGES, OTHERS) <= still * (1 + 1e-6)).all()
    assert jittered.squared(IMAGES, OTHERS).mean() < 0.99 * still.mean()


@pytest.mark.parametrize("distance", DISTANCES.values(), ids=DISTANCES.keys())
@pytest.mark.parametrize("phi", [None, Shifts(1) * Brightness(3, limit=0.5)], ids=["shifts", "shifts and lighting"])
def test_versions_may_be_described_together_or_one_by_one(monkeypatch, phi, distance):
    together = JitteredDistance(phi, distance).squared(IMAGES, OTHERS)
    monkeypatch.setattr(jitter, "N_VERSIONS", 1)
    np.testing.assert_array_equal(JitteredDistance(phi, distance).squared(IMAGES, OTHERS), together)


def test_operators_that_are_kept_are_of_this_set_and_shape_and_not_saved():
    jittered = JitteredDistance(Shifts(1))
    for phi, size in [(Shifts(1), 8), (Shifts(1), 6), (Rotations(4), 6), (Rotations(4), 6)]:
        images, others = draw_smooth(2, (size, size)), draw_smooth(3, (size, size), seed=1)
        found = jittered.set_params(transformations=phi).squared(images, others)
        np.testing.assert_array_equal(found, JitteredDistance(phi).squared(images, others))
    assert vars(pickle.loads(pickle.dumps(jittered))).keys() == jittered.get_params(deep=False).keys()


def test_a_jittered_copy_is_at_no_distance_where_jitters_have_inverses():
    images = draw_smooth(4, (8, 8))
    turned = np.rot90(images, axes=(1, 2))
    jittered = JitteredDistance(Rotations(4))
    assert np.diag(jittered.distances(images, turned)).max() < 1e-5
    assert np.diag(JitteredDistance(Shifts(1)).distances(images, turned)).min() > 0.1


def test_the_automatic_width_is_half_the_median_distance():
    jittered = JitteredDistance().fit(IMAGES)
    between = jittered.distances(IMAGES)[np.triu_indices(5, k=1)]
    assert jittered.sigma_ == pytest.approx(np.median(between) / 2)
    np.testing.assert_allclose(jittered(IMAGES), np.exp(-jittered.squared(IMAGES) / (2 * jittered.sigma_**2)))


def test_flat_rows_and_colours_have_a_shape():
    expected = JitteredDistance().squared(IMAGES, OTHERS)
    flat = JitteredDistance(image_shape=(6, 7)).squared(IMAGES.reshape(5, -1), OTHERS.reshape(4, -1))
    np.testing.assert_array_equal(flat, expected)
    colours = draw_smooth(3, (6, 7, 3))
    np.testing.assert_allclose(JitteredDistance().squared(colours), literal(colours, colours, None, None), atol=1e-9)


def test_mistakes_are_named():
    with pytest.raises(ValueError, match=r"sigma must be a number .*got -3"):
        JitteredDistance(sigma=-3).fit(IMAGES)
    with pytest.raises(NotFittedError):
        JitteredDistance()(IMAGES)


def test_a_given_width_needs_no_fitting():
    np.testing.assert_array_equal(JitteredDistance(sigma=2.0)(IMAGES), JitteredDistance(sigma=2.0).fit(IMAGES)(IMAGES))


def test_a_distance_that_normalizes_the_versions_is_refused():
    images = np.random.default_rng(0).random((3, 8, 8))
    with pytest.raises(ValueError, match="distance must not normalize.*Multiply those of JitteredDistance"):
        JitteredDistance(Shifts(1), TangentDistance(Shifts(1) * Illumination(2))).squared(images)
