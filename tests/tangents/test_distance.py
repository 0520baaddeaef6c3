"""Tangent distance: least squares of one pair at a time, and the laws that make it what it is."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF

from invariance.tangents import TangentDistance, points
from invariance.tangents.distance import MIN_STIFFNESS
from invariance.tangents.points import orthonormal
from invariance.transformations import (
    Affine,
    Brightness,
    Identity,
    IlluminationCorrections,
    Rotations,
    Scales,
    Shears,
    Shifts,
)
from tests import reference
from tests.tangents.toys import Blobs, draw_smooth, rows_and_tangents

IMAGES, OTHERS = draw_smooth(7), draw_smooth(5, seed=1)
COLOURS = draw_smooth(4, (9, 8, 3))
SETS = {
    "affine": None,
    "rotation": Rotations(),
    "shifts by steps": Shifts(1),
    "mixed": Shifts(1) | Brightness(3, limit=0.2),
    "lighting": IlluminationCorrections((2.0, 4.0)),
}
SIDES = ("one", "two", "mean")


def literal(X, Y, sides, stiffness, **how):
    """Squared distances (n, m) by the slow twin; free movements cost a little, for the sake of singular systems."""
    stiffness = max(stiffness, MIN_STIFFNESS)
    (rows, of_rows), (cols, of_cols) = rows_and_tangents(X, **how), rows_and_tangents(Y, **how)
    squared = np.empty((len(rows), len(cols)))
    for i, j in np.ndindex(squared.shape):
        x, y, of_x, of_y = rows[i], cols[j], of_rows[i], of_cols[j]
        one, back, two = (
            reference.tangent_distance(x, y, *tangents, stiffness)
            for tangents in (((), of_y), (of_x, ()), (of_x, of_y))
        )
        squared[i, j] = {"one": one, "two": two, "mean": (one + back) / 2}[sides]
    return squared


@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize("phi", SETS.values(), ids=SETS.keys())
def test_it_is_the_least_squares_of_every_pair(phi, sides):
    distance = TangentDistance(phi, sides=sides)
    expected = literal(IMAGES, OTHERS, sides, 0, phi=phi)
    np.testing.assert_allclose(distance.squared(IMAGES, OTHERS), expected, rtol=1e-4)
    assert np.ptp(expected) > 1


@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize("stiffness", [0.05, 0.5, 4.0])
def test_stiffness_makes_movements_cost(sides, stiffness):
    distance = TangentDistance(Shifts(1) | Rotations(), sides=sides, stiffness=stiffness)
    expected = literal(IMAGES, OTHERS, sides, stiffness, phi=Shifts(1) | Rotations())
    np.testing.assert_allclose(distance.squared(IMAGES, OTHERS), expected, rtol=1e-5)
    free = TangentDistance(Shifts(1) | Rotations(), sides=sides).squared(IMAGES, OTHERS)
    assert (distance.squared(IMAGES, OTHERS) > free).all()


@pytest.mark.parametrize("sides", SIDES)
def test_finite_differences_and_colours_are_tangents_as_well(sides):
    phi = Rotations(3, limit=10)
    how = {"phi": phi, "method": "difference", "blur": 0.5}
    distance = TangentDistance(phi, sides=sides, method="difference", blur=0.5)
    np.testing.assert_allclose(
        distance.squared(COLOURS), literal(COLOURS, COLOURS, sides, 0, **how), rtol=1e-4, atol=1e-9
    )
    np.testing.assert_allclose(
        TangentDistance(sides=sides).squared(COLOURS), literal(COLOURS, COLOURS, sides, 0), rtol=1e-4, atol=1e-9
    )


def test_without_tangents_it_is_the_euclidean_distance_and_its_kernel_the_gaussian_one():
    flat, others = IMAGES.reshape(7, -1), OTHERS.reshape(5, -1)
    for sides in SIDES:
        kernel = TangentDistance(Identity(), sides=sides, sigma=3.0, blur=0)
        np.testing.assert_allclose(kernel.distances(IMAGES, OTHERS), cdist(flat, others), rtol=1e-12)
        np.testing.assert_allclose(kernel(IMAGES, OTHERS), RBF(3.0)(flat, others), rtol=1e-12)


@pytest.mark.parametrize("phi", SETS.values(), ids=SETS.keys())
@pytest.mark.parametrize("stiffness", [0.0, 0.3])
def test_it_never_exceeds_the_euclidean_distance_nor_two_sides_one(phi, stiffness):
    blurred, others = rows_and_tangents(IMAGES)[0], rows_and_tangents(OTHERS)[0]
    one, two, mean = (
        TangentDistance(phi, sides=sides, stiffness=stiffness).distances(IMAGES, OTHERS) for sides in SIDES
    )
    back = TangentDistance(phi, sides="one", stiffness=stiffness).distances(OTHERS, IMAGES).T
    slack = 1 + 1e-9
    assert (one <= slack * cdist(blurred, others)).all()
    assert (two <= slack * np.minimum(one, back)).all()
    assert (mean <= slack * np.maximum(one, back)).all()
    assert two.mean() < 0.99 * one.mean()


TURN = {
    "shift along x": (Shifts(1), lambda s: {"offset": (s, 0)}),
    "shift along y": (Shifts(1), lambda s: {"offset": (0, s)}),
    "rotation": (Rotations(), lambda s: {"matrix": ((np.cos(s), -np.sin(s)), (np.sin(s), np.cos(s)))}),
    "scale": (Scales(), lambda s: {"matrix": ((np.exp(s), 0), (0, np.exp(s)))}),
    "shear along x": (Shears(axis="horizontal"), lambda s: {"matrix": ((1, s), (0, 1))}),
    "shear along y": (Shears(axis="vertical"), lambda s: {"matrix": ((1, 0), (s, 1))}),
    "stretch": (Affine(), lambda s: {"matrix": ((np.exp(s), 0), (0, np.exp(-s)))}),
    "any affine map": (None, lambda s: {"matrix": ((1 + s, 0.5 * s), (-s, 1 + 0.3 * s)), "offset": (8 * s, 4 * s)}),
}


@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize(("phi", "move"), TURN.values(), ids=TURN.keys())
def test_it_is_invariant_to_the_first_order(phi, move, sides):
    """The distance to a moved copy grows with the square of the step, the Euclidean one with the step."""
    blobs = Blobs()
    # Steps that move the content by a tenth to half a pixel: the image is rounded to pixels, its derivatives too.
    step = 0.4 if "offset" in move(1.0) and "matrix" not in move(1.0) else 0.04
    copies = np.stack([blobs.draw(**move(s * step)) for s in (1, 2, 4)])
    here = blobs.draw()[None]
    euclidean = TangentDistance(Identity()).distances(copies, here)[:, 0]
    invariant = TangentDistance(phi, sides=sides).distances(copies, here)[:, 0]
    np.testing.assert_allclose(euclidean[1:] / euclidean[:-1], 2, rtol=0.15)
    assert (invariant < 0.1 * np.array([1, 2, 4]) * euclidean).all()
    if sides == "two":  # both meet half way, to the third order; what is left are the derivatives' own errors
        assert (invariant < 0.05 * euclidean).all()
        expected = literal(copies, here, "two", 0, phi=phi)[:, 0]
        np.testing.assert_allclose(invariant**2, expected, rtol=2e-3)
    else:
        np.testing.assert_allclose(invariant[1:] / invariant[:-1], 4, rtol=0.25)


def test_an_image_moved_in_another_way_stays_away():
    """The law above can fail: rotations do not make up for a shift."""
    blobs = Blobs()
    here, there = blobs.draw()[None], blobs.draw(offset=(0.4, 0))[None]
    euclidean = TangentDistance(Identity()).distances(there, here)[0, 0]
    assert TangentDistance(Rotations()).distances(there, here)[0, 0] > 0.3 * euclidean


@pytest.mark.parametrize("sides", ["two", "mean"])
def test_its_gram_matrix_is_symmetric_with_ones_on_the_diagonal(sides):
    kernel = TangentDistance(sides=sides).fit(IMAGES)
    K = kernel(IMAGES)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(np.diag(K), 1)
    np.testing.assert_array_equal(kernel.diag(IMAGES), 1)
    np.testing.assert_allclose(K, kernel(IMAGES, IMAGES), rtol=1e-6)  # products of tangents are float32
    np.testing.assert_allclose(kernel(IMAGES, OTHERS), kernel(OTHERS, IMAGES).T, rtol=1e-4)
    both = np.concatenate([IMAGES, OTHERS])
    np.testing.assert_allclose(kernel(both)[:7, 7:], kernel(IMAGES, OTHERS), rtol=1e-4)
    assert K.dtype == np.float64
    assert np.ptp(K) > 0.1


def test_one_sided_it_is_not_symmetric():
    squared = TangentDistance(sides="one").squared(IMAGES)
    assert np.abs(squared - squared.T).max() > 0.1
    np.testing.assert_allclose(squared, TangentDistance(sides="one").squared(IMAGES, IMAGES), rtol=1e-12)


@pytest.mark.parametrize("sides", SIDES)
def test_neither_blocks_nor_jobs_change_it(sides, monkeypatch):
    distance = TangentDistance(sides=sides)
    whole, own = distance.squared(IMAGES, OTHERS), distance.squared(IMAGES)
    monkeypatch.setattr(points, "BLOCK_BYTES", 1500)  # two or three images per side
    blocks = distance.squared(IMAGES, OTHERS)
    np.testing.assert_allclose(blocks, whole, rtol=1e-6)
    np.testing.assert_allclose(distance.squared(IMAGES), own, rtol=1e-6, atol=1e-12)
    for n_jobs in (2, 3):
        np.testing.assert_array_equal(distance.set_params(n_jobs=n_jobs).squared(IMAGES, OTHERS), blocks)


def draw_poor():
    """Images with fewer independent tangents than six, or none: blank, grey, ring, ramp, bar, one pixel; and a copy."""
    y, x = np.mgrid[:12, :12] - 5.5
    images = np.zeros((7, 12, 12))
    images[1] = 0.7
    images[2] = np.exp(-((np.hypot(x, y) - 3) ** 2))
    images[3] = x
    images[4, :, 5:7] = 1
    images[5, 6, 6] = 1
    images[6] = images[2]
    return images


@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize("blur", [0, 0.8])
def test_poor_images_have_finite_distances_and_none_to_themselves(sides, blur):
    images = draw_poor()
    distance = TangentDistance(sides=sides, blur=blur)
    squared = distance.squared(images)
    assert np.isfinite(squared).all()
    assert (squared >= 0).all()
    assert np.diag(squared).max() < 1e-10
    assert squared[2, 6] < 1e-10
    assert squared[0, 1] > 1  # neither has anywhere to go
    np.testing.assert_allclose(squared, literal(images, images, sides, 0, blur=blur), rtol=1e-3, atol=1e-6)


def test_a_frame_is_as_large_as_the_span():
    _, tangents = rows_and_tangents(draw_poor())
    lengths = np.linalg.norm(tangents, axis=2, keepdims=True)
    units = tangents / np.where(lengths > 0, lengths, 1)
    frames = orthonormal(units)
    products = frames @ frames.transpose(0, 2, 1)
    np.testing.assert_allclose(products @ products, products, atol=1e-9)
    ranks = np.trace(products, axis1=1, axis2=2)
    np.testing.assert_allclose(ranks, np.round(ranks), atol=1e-9)
    assert ranks[0] == ranks[1] == 0
    # A ramp knows where it is across, and how steep: shifts, scale and stretch are the same two directions.
    assert ranks[3] < 6
    rest = units - units @ frames.transpose(0, 2, 1) @ frames
    assert np.linalg.norm(rest, axis=2).max() < 1e-2


def test_the_automatic_width_is_half_the_median_distance():
    distance = TangentDistance().fit(IMAGES)
    between = distance.distances(IMAGES)[np.triu_indices(7, k=1)]
    assert distance.sigma_ == pytest.approx(np.median(between) / 2)
    np.testing.assert_allclose(distance(IMAGES), np.exp(-distance.squared(IMAGES) / (2 * distance.sigma_**2)))
    assert TangentDistance().fit(np.ones((4, 6, 6))).sigma_ == 0.5
    assert TangentDistance(sigma=2.5).fit(IMAGES).sigma_ == 2.5


def test_at_most_500_images_are_looked_at_for_the_width(monkeypatch):
    seen = []
    squared = TangentDistance.squared

    def spy(self, X, Y=None):
        seen.append(len(X))
        return squared(self, X, Y)

    monkeypatch.setattr(TangentDistance, "squared", spy)
    TangentDistance(Identity()).fit(np.random.default_rng(0).random((1201, 2, 2)))
    assert 0 < max(seen) <= 500


def test_bytes_are_scaled_and_flat_rows_have_a_shape():
    pixels = np.random.default_rng(0).integers(0, 256, (4, 6, 7)).astype(np.uint8)
    distance = TangentDistance(image_shape=(6, 7))
    expected = distance.squared(pixels / 255.0)
    np.testing.assert_allclose(distance.squared(pixels), expected, rtol=1e-3)
    np.testing.assert_array_equal(distance.squared((pixels / 255.0).reshape(4, -1)), expected)
    rows = TangentDistance().squared((pixels / 255.0).reshape(4, -1))
    np.testing.assert_allclose(rows, TangentDistance().squared((pixels / 255.0).reshape(4, 1, -1)))
    assert np.abs(rows - expected).max() > 0.1


MISTAKES = {
    "sides must be one of .*got 'three'": {"sides": "three"},
    "sigma must be a number .*got -1": {"sigma": -1},
    "stiffness must be a number .*got -0.5": {"stiffness": -0.5},
    "blur must be a number .*got 'much'": {"blur": "much"},
    "method must be one of .*got 'exact'": {"method": "exact"},
    r"image_shape \(3, 3\) means 9 values per row, but X has 110": {"image_shape": (3, 3)},
}


@pytest.mark.parametrize("message", MISTAKES)
def test_mistakes_are_named(message):
    with pytest.raises(ValueError, match=message):
        TangentDistance(**{"sigma": 1.0, **MISTAKES[message]})(IMAGES.reshape(7, -1))


def test_a_wrong_shape_and_a_missing_width_are_named():
    with pytest.raises(ValueError, match=r"got shape \(110,\)"):
        TangentDistance(sigma=1.0)(IMAGES[0].ravel())
    with pytest.raises(NotFittedError, match="sigma='auto' is found by fit"):
        TangentDistance()(IMAGES)
