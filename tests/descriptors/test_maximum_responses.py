import numpy as np
import pytest
from scipy import ndimage

from invariance.descriptors import maximum_responses
from invariance.descriptors.maximum_responses import MaximumResponses, bank_responses, make_bank, maximize
from invariance.descriptors.patch_grid import grid_lines, standardize
from invariance.transformations import Brightness, Contrast, Gamma, Identity, Reflections, Rotations, Scales, Shifts

SCALES = (1.0, 2.0)
N_VALUES = {"none": 39, "rotation": 12, "scale": 13, "similarity": 4}


@pytest.fixture(scope="module")
def square():
    """A grey image (49, 49) with coarse and fine structure."""
    noise = np.random.default_rng(0).random((2, 49, 49))
    return (0.3 * noise[0] + ndimage.gaussian_filter(noise[1], 2.0)).astype(np.float32)


def turned_vectors(vectors, n_side):
    """The vectors (n, d) of a square image in the order that they have in its rot90."""
    return np.rot90(vectors.reshape(n_side, n_side, -1)).reshape(len(vectors), -1)


@pytest.mark.parametrize("step", [1, 2, 3, 5])
@pytest.mark.parametrize("shape", [(49, 49), (48, 31), (7, 20)], ids=str)
def test_responses_are_correlations_with_the_filters_at_the_places_of_the_grid(square, shape, step):
    plane = standardize(square[: shape[0], : shape[1]])
    responses = bank_responses(plane, SCALES, 3, step)
    slow = np.array([ndimage.correlate(plane, values, mode="reflect") for values in make_bank(SCALES, 3)])
    rows, columns = (grid_lines(length, step) for length in shape)
    np.testing.assert_allclose(responses, slow[:, rows[:, None], columns], atol=1e-5)


def test_filters_sum_to_nothing_but_the_gaussians_and_absolutely_to_one():
    bank = make_bank(SCALES, 6)
    assert len(bank) == 2 * 2 * 6 + 2 * 2
    sums = np.array([values.sum() for values in bank])
    np.testing.assert_allclose([np.abs(values).sum() for values in bank], 1)
    np.testing.assert_allclose(sums[[24, 25]], 1)
    np.testing.assert_allclose(np.delete(sums, [24, 25]), 0, atol=1e-12)


@pytest.mark.parametrize("invariance", N_VALUES)
def test_every_invariance_has_its_number_of_values(photo, invariance):
    descriptor = MaximumResponses(invariance, step=5)
    vectors, places = descriptor.extract(photo)
    assert vectors.shape == (len(places), N_VALUES[invariance])
    assert vectors.dtype == np.float32


@pytest.mark.parametrize("invariance", N_VALUES)
def test_a_quarter_turn_matters_unless_it_is_maximised_over(square, invariance):
    descriptor = MaximumResponses(invariance, step=4)
    before, after = descriptor.extract(square)[0], descriptor.extract(np.rot90(square))[0]
    difference = np.abs(after - turned_vectors(before, 13)).max()
    assert (difference < 1e-3) == (Rotations in descriptor.invariances)


def test_a_maximum_over_orientation_is_that_of_a_pattern_at_any_angle():
    """A bar at each of the six orientations gives the same responses at its middle."""
    rows, columns = np.mgrid[-40:41, -40:41]
    vectors = []
    for angle in np.pi * np.arange(6) / 6:
        across = np.cos(angle) * rows - np.sin(angle) * columns
        window = np.exp(-(rows**2 + columns**2) / 200)
        image = 0.5 + 0.4 * window * np.exp(-(across**2) / 18)
        vectors.append(MaximumResponses("rotation", step=1).extract(image)[0].reshape(81, 81, -1)[40, 40])
    for vector in vectors:
        assert np.linalg.norm(vector - vectors[0]) < 0.05 * np.linalg.norm(vectors[0])


def test_a_maximum_over_scale_is_that_of_a_pattern_at_any_size():
    """Blobs, one twice the size of the other, look alike at their middles once scale is maximised over."""
    rows, columns = np.mgrid[-60:61, -60:61]
    blobs = [np.exp(-(rows**2 + columns**2) / (2 * width**2)) for width in (1.8, 3.6)]
    largest, each = ([maximize(bank_responses(b, (1, 2, 4), 6)[:, 60, 60], how, 3) for b in blobs] for how in
                     ("similarity", "rotation"))  # fmt: skip
    # The Laplacian, the last of the maxima, has its greatest response where its scale is the blob's.
    assert largest[0][-1] == pytest.approx(largest[1][-1], rel=0.05)
    assert abs(each[0][-3] - each[1][-3]) > 0.2 * abs(each[0][-3])


def test_maxima_are_taken_over_the_axis_named():
    responses = np.random.default_rng(0).standard_normal((2 * 2 * 3 + 2 * 2, 5))
    edges, bars = responses[:12].reshape(2, 2, 3, 5)
    gaussians, laplacians = responses[12:].reshape(2, 2, 5)
    turned = maximize(responses, "rotation", 2)
    np.testing.assert_array_equal(turned[:2], np.abs(edges).max(axis=1))
    np.testing.assert_array_equal(turned[2:4], bars.max(axis=1))
    np.testing.assert_array_equal(turned[4:6], bars.min(axis=1))
    np.testing.assert_array_equal(turned[6:], laplacians)
    scaled = maximize(responses, "scale", 2, gaussians=True)
    assert scaled.shape == (3 + 3 + 2, 5)
    np.testing.assert_array_equal(np.abs(scaled[:3]), np.abs(edges).max(axis=0))
    np.testing.assert_array_equal(np.abs(scaled[6]), np.abs(gaussians).max(axis=0))
    assert np.isin(scaled, responses).all()
    np.testing.assert_array_equal(maximize(responses, "none", 2, gaussians=True), responses)


def test_brightness_and_contrast_do_not_matter(square):
    descriptor = MaximumResponses()
    np.testing.assert_allclose(descriptor.extract(0.3 * square + 0.2)[0], descriptor.extract(square)[0], atol=5e-3)


def test_flat_and_tiny_images_are_described():
    assert not MaximumResponses().extract(np.full((9, 8), 0.3))[0].any()
    assert np.isfinite(MaximumResponses("none").extract(np.eye(3))[0]).all()


def test_unknown_invariances_and_scales_are_refused(photo):
    with pytest.raises(ValueError, match="invariance must be one of 'none', .*got 'affine'"):
        MaximumResponses("affine").extract(photo)[0]
    with pytest.raises(ValueError, match="scales must be a number from 0.1.*got -1"):
        MaximumResponses(scales=(1, -1)).extract(photo)[0]


@pytest.mark.parametrize(
    ("phi", "level", "uncovered"),
    [
        (Identity(), "none", ()),
        (Rotations(8), "rotation", ()),
        (Rotations(36, limit=180), "rotation", ()),
        (Rotations(5, limit=15), "none", (Rotations,)),
        (Rotations(2), "none", (Rotations,)),
        (Scales(3, limit=2), "scale", ()),
        (Scales(3, limit=1.25), "none", (Scales,)),
        (Rotations(8) * Scales(3, limit=3), "similarity", ()),
        (Rotations(8) * Scales(3), "rotation", (Scales,)),
        (Reflections(), "none", (Reflections,)),
        (Rotations(4) * Reflections(), "rotation", ()),
        (Shifts(2) * Brightness() | Contrast(), "none", ()),
        (Gamma() * Rotations(8), "rotation", (Gamma,)),
    ],
    ids=str,
)
def test_the_level_is_what_the_transformations_ask_for_and_no_more(phi, level, uncovered):
    descriptor, left = MaximumResponses.for_transformations(phi, step=3)
    assert (descriptor.invariance, descriptor.step) == (level, 3)
    assert tuple(type(part) for part in left) == uncovered


def test_spectra_of_many_image_sizes_are_kept_in_bounded_memory(square, monkeypatch):
    kept = maximum_responses.ArrayCache(maximum_responses.SPECTRA_BYTES)
    monkeypatch.setattr(maximum_responses, "_kept_spectra", kept)
    first = bank_responses(square, SCALES, 3)
    kept.max_bytes = 3 * kept.nbytes
    for side in range(20, 49, 2):
        bank_responses(square[:side, :side], SCALES, 3)
        assert 0 < kept.nbytes <= kept.max_bytes
    np.testing.assert_array_equal(bank_responses(square, SCALES, 3), first)
