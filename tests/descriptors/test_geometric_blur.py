"""Geometric blur: features at edges, and images matched by them."""

import numpy as np
import pytest
from scipy import ndimage

from invariance.descriptors.geometric_blur import (
    GeometricBlur,
    draw_points,
    match_distances,
    orient_edges,
    ring_offsets,
)
from invariance.transformations import Shifts


def shape_at(kind, row, column, size=80):
    """A bright disc or square of about 30 pixels on dark ground."""
    rows, columns = np.abs(np.ogrid[:size, :size][0] - row), np.abs(np.ogrid[:size, :size][1] - column)
    inside = np.hypot(rows, columns) < 15 if kind == "disc" else np.maximum(rows, columns) < 14
    return ndimage.gaussian_filter(inside.astype(float), 1)


def slow_distances(photos, others):
    """Every pair of features compared by itself."""

    def one_way(features, gallery):
        return np.mean([min(np.linalg.norm(a - b) for b in gallery) for a in features])

    return np.array([[one_way(a, b) + one_way(b, a) for b in others] for a in photos])


def random_features(counts, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((count, 7)).astype(np.float32) for count in counts]


def test_distances_equal_the_slow_ones():
    photos, others = random_features([3, 1, 8]), random_features([5, 2, 1, 6], seed=1)
    np.testing.assert_allclose(match_distances(photos, others), slow_distances(photos, others), rtol=1e-5)
    among = match_distances(photos)
    np.testing.assert_allclose(among, slow_distances(photos, photos), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(among, among.T)


def test_blocks_and_threads_do_not_change_distances(monkeypatch):
    photos = random_features([4, 9, 2, 7, 3])
    whole = match_distances(photos)
    monkeypatch.setattr("invariance.descriptors.geometric_blur.BLOCK_BYTES", 300)
    np.testing.assert_allclose(match_distances(photos, n_jobs=2), whole, atol=1e-5)
    np.testing.assert_allclose(match_distances(photos, photos[1:]), whole[:, 1:], atol=2e-3)


def test_an_image_without_features_is_refused():
    with pytest.raises(ValueError, match="at least one feature each"):
        match_distances([np.zeros((0, 7)), np.zeros((2, 7))])


@pytest.mark.parametrize("degrees", [0, 45, 90, 135])
def test_an_edge_is_seen_by_the_channel_of_its_direction(degrees):
    rows, columns = np.mgrid[:40, :40] - 19.5
    angle = np.radians(degrees)
    edges = orient_edges(np.float32(columns * np.cos(angle) + rows * np.sin(angle)), 4)[10:30, 10:30]
    shares = edges.mean(axis=(0, 1)) / edges.mean(axis=(0, 1)).max()
    expected = np.array([1, 0.06, 0, 0.06])  # half midway between two channels, so little at the neighbour
    np.testing.assert_allclose(shares, np.roll(expected, degrees // 45), atol=0.3)
    assert shares.argmax() == degrees // 45


def test_points_lie_on_edges_and_are_the_same_each_time():
    image = np.float32(shape_at("disc", 40, 40))
    strength = orient_edges(image, 4).sum(axis=2)
    points = draw_points(strength, 50, 0)
    assert points.shape == (50, 2)
    assert len(np.unique(points, axis=0)) == 50
    assert np.median(np.abs(np.hypot(*(points - 40).T) - 15)) < 1.5
    np.testing.assert_array_equal(points, draw_points(strength, 50, 0))
    assert len(draw_points(strength, 10**6, 0)) < strength.size


def test_features_have_length_one_and_a_flat_image_has_one_of_zeros(photo):
    n_values = 4 * sum(len(ring_offsets(radius)) for radius in GeometricBlur().radii)
    features = GeometricBlur(30).extract(photo)[0]
    assert features.shape == (30, n_values)
    assert features.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(features, axis=1), 1, atol=1e-5)
    flat = GeometricBlur(30).extract(np.full((20, 30), 0.4))[0]
    assert flat.shape == (1, n_values)
    assert not flat.any()


def test_matching_knows_shapes_and_only_distortion_knows_places():
    photos = {
        name: shape_at(*name) for name in (("disc", 40, 40), ("disc", 42, 37), ("disc", 24, 56), ("square", 40, 40))
    }
    plain, placed = (
        match_distances([descriptor.extract(image)[0] for image in photos.values()])[0]
        for descriptor in (
            GeometricBlur(60, radii=(0, 4, 8, 14)),
            GeometricBlur(60, radii=(0, 4, 8, 14), distortion=4.0),
        )
    )
    _, near, far, square = plain
    assert max(near, far) < 0.8 * square
    _, near, far, _ = placed
    assert far > 1.5 * near
    assert Shifts in GeometricBlur().invariances
    assert Shifts not in GeometricBlur(distortion=1.0).invariances


def test_contrast_does_not_matter(photo):
    grey = photo[..., 0] / 255
    one, other = (GeometricBlur(40).extract(image)[0] for image in (grey, 0.1 + 0.5 * grey))
    np.testing.assert_allclose(one, other, atol=1e-3)


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"n_points": 0}, "n_points"),
        ({"blur": -1}, "blur"),
        ({"radii": (-2,)}, "radii"),
        ({"distortion": -1}, "distortion"),
    ],
    ids=str,
)
def test_bad_settings_are_named(settings, name, photo):
    with pytest.raises(ValueError, match=f"{name} must be a"):
        GeometricBlur(**settings).extract(photo)[0]
