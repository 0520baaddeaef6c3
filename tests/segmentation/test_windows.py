"""Responses of all pixels from maps are those of their patches."""

import numpy as np
import pytest
from scipy import ndimage

from invariance.images import pyramid_patches
from invariance.jungles import InvariantFeatures
from invariance.segmentation import windows
from invariance.segmentation.windows import N_SCALES, WindowResponses, _kernels, cut_windows, window_reach
from invariance.transformations import Brightness, Identity, Illumination, Reflections, Rotations, Shifts

SIZE = 7
SIDE = 40
# name -> (Φ, channels, more settings)
CASES = {
    "identity": (Identity(), 1, {}),
    "rotations": (Rotations(8), 1, {}),
    "with reflections": (Rotations(4) * Reflections(), 1, {}),
    "shifts in colour": (Shifts(1), 3, {}),
    "two channels": (Rotations(4), 2, {}),
    "parts of Φ": (Rotations(8), 1, {"n_jungles": 3, "max_members": 0.4}),
    "not linear": (Brightness(3), 1, {}),
    "normalized patches": (Rotations(4) * Illumination(2), 1, {}),
    "not linear, in colour, in parts": (
        Rotations(4) * Brightness(3), 3, {"n_jungles": 2, "max_members": 0.4}
    ),
}  # fmt: skip


def photo(n_channels, shape=(70, 80), seed=0):
    noise = np.random.default_rng(seed).standard_normal((*shape, n_channels))
    return (noise + 4 * ndimage.gaussian_filter(noise, (3, 2, 0))).astype(np.float32)


def learn(phi, n_channels, size=SIZE, **settings):
    """Filters that tell pixels apart by their surroundings, of an image (h, w, c)."""
    image = photo(n_channels)
    rows, cols = np.random.default_rng(1).integers(0, 70, (2, 250))
    codes = (ndimage.gaussian_filter(image[..., 0], 1.5)[rows, cols] > 0).astype(int)
    filters = InvariantFeatures(
        phi, **{"n_jungles": 1, "max_depth": 2, "max_steps": 10, "rank": 12} | settings,
        extremes="both", image_shape=(size, size, N_SCALES * n_channels), random_state=0,
    )  # fmt: skip
    return WindowResponses(filters.fit(cut_windows(image, rows, cols, size), codes), size, n_channels)


@pytest.mark.parametrize("case", CASES)
def test_everywhere_equals_at(case, monkeypatch):
    phi, n_channels, settings = CASES[case]
    responses = learn(phi, n_channels, **settings)
    members = {len(dag.members) for dag in responses.filters.dags_}
    assert (max(members) < len(phi.members((SIZE, SIZE)))) == ("max_members" in settings)
    monkeypatch.setattr(windows, "CHUNK", 300)
    reach = window_reach(SIZE)
    height, width = 33, 26
    part = photo(n_channels, (height + 2 * reach, width + 2 * reach), seed=2)
    maps = responses.everywhere(part, SIDE)
    rows, cols = np.mgrid[:height, :width].reshape(2, -1)
    expected = responses.at(part, rows + reach, cols + reach)
    assert maps.dtype == np.float32
    assert maps.shape == (expected.shape[1], height, width)
    assert expected.shape[1] >= 4
    np.testing.assert_allclose(maps.reshape(len(maps), -1).T, expected, atol=1e-5 * np.abs(expected).max())
    assert np.all(expected.std(axis=0) > 0.01 * np.abs(expected).max()), "responses that differ between pixels"


@pytest.mark.parametrize("size", [1, 3, 9, 15])
def test_windows_of_any_size(size):
    responses = learn(Rotations(4), 1, size=size)
    reach = window_reach(size)
    part = photo(1, (20 + 2 * reach, 20 + 2 * reach), seed=2)
    rows, cols = np.mgrid[:20, :20].reshape(2, -1) + reach
    maps, expected = responses.everywhere(part, 20), responses.at(part, rows, cols)
    np.testing.assert_allclose(maps.reshape(len(maps), -1).T, expected, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("n_channels", [1, 3])
def test_the_kernels_give_the_coordinates_of_the_patches(n_channels):
    responses = learn(Rotations(4), n_channels)
    kernels, reach = _kernels(responses.filters, SIZE, n_channels), window_reach(SIZE)
    image, row, col = photo(n_channels), 30, 41
    window = image[row - reach : row + reach + 1, col - reach : col + reach + 1].astype(np.float64)
    coordinates = np.einsum("rcij,ijc->r", kernels, window)
    patch = pyramid_patches(image, [row], [col], SIZE, N_SCALES).ravel()
    np.testing.assert_allclose(coordinates, responses.filters.reduced_.basis.T @ patch, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("size", [3, 7, 15])
def test_a_patch_looks_as_far_as_its_reach_and_no_farther(size):
    middle, reach = 35, window_reach(size)
    image = photo(1, (71, 71))
    before = cut_windows(image, [middle], [middle], size)
    distance = np.maximum(*np.abs(np.indices(image.shape[:2]) - middle))
    for farther, same in ((1, True), (0, False)):
        changed = image + 1e3 * (distance >= reach + farther)[..., None]
        after = cut_windows(changed.astype(np.float32), [middle], [middle], size)
        assert np.array_equal(before, after) == same


def test_patches_are_cut_in_blocks_of_bounded_memory(monkeypatch):
    responses = learn(Rotations(4), 1)
    image = photo(1)
    rows, cols = np.random.default_rng(3).integers(0, 70, (2, 57))
    expected, lengths = responses.at(image, rows, cols), []
    cut = windows.cut_windows
    monkeypatch.setattr(windows, "PATCH_BYTES", 10 * 4 * SIZE**2 * N_SCALES)
    monkeypatch.setattr(windows, "cut_windows", lambda *given: lengths.append(len(given[1])) or cut(*given))
    np.testing.assert_allclose(responses.at(image, rows, cols), expected, rtol=1e-6)
    assert lengths == [10, 10, 10, 10, 10, 7]


def test_no_patch_is_cut_where_maps_serve(monkeypatch):
    responses = learn(Rotations(4), 1)
    monkeypatch.setattr(windows, "cut_windows", None)
    assert responses.everywhere(photo(1), SIDE + 20).shape[0] == 2 * responses.filters._n_filters


def test_spectra_of_many_tile_sizes_are_kept_in_bounded_memory(monkeypatch):
    sides = range(20, 60, 4)
    one = learn(Rotations(4), 1)
    one.prepare(max(sides))
    monkeypatch.setattr(windows, "SPECTRA_BYTES", 2 * one._spectra.nbytes)
    responses, reach = learn(Rotations(4), 1), window_reach(SIZE)
    part = photo(1, (20 + 2 * reach, 20 + 2 * reach), seed=2)
    maps = {}
    for side in sides:
        maps[side] = responses.everywhere(part, side)
        assert 0 < responses._spectra.nbytes <= windows.SPECTRA_BYTES
    for side in sides:
        np.testing.assert_array_equal(responses.everywhere(part, side), maps[side])
