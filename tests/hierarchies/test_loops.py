"""Every compiled loop equals its plain twin."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from invariance.hierarchies import _jit
from invariance.hierarchies._jit import Scratch
from invariance.hierarchies.pooling import pool
from tests import reference

COMPILED = settings(max_examples=60, deadline=None, derandomize=True)


@st.composite
def cuttings(draw):
    """(image shape, patch height and width, hop): patches of one pixel, of the whole image, hops beyond the patch."""
    height, width = draw(st.integers(1, 9)), draw(st.integers(1, 9))
    channels, hop, seed = draw(st.integers(1, 3)), draw(st.integers(1, 6)), draw(st.integers(0, 2**32))
    return (height, width, channels), draw(st.integers(1, height)), draw(st.integers(1, width)), hop, seed


def grid_of(shape, height, width, hop):
    return (shape[0] - height) // hop + 1, (shape[1] - width) // hop + 1


@COMPILED
@given(cuttings(), st.booleans())
def test_cut_patches(drawn, normalized):
    shape, height, width, hop, seed = drawn
    rng = np.random.default_rng(seed)
    # Half the values are 0, so that small patches are often blank.
    image = (rng.standard_normal(shape) * rng.integers(0, 2, shape)).astype(np.float32)
    out = np.full((*grid_of(shape, height, width, hop), height * width * shape[2]), np.nan, np.float32)
    _jit.cut_patches(image.reshape(shape[0], -1), height, width, shape[2], hop, normalized, out)
    patches = reference.patches_of(image, height, width, hop)
    assert set(patches) == set(np.ndindex(out.shape[:2]))
    for place, patch in patches.items():
        expected = reference.at_length_one(patch) if normalized else patch
        np.testing.assert_allclose(out[place], expected.ravel(), rtol=3e-7)


@COMPILED
@given(cuttings(), st.integers(1, 8))
def test_cut_histograms(drawn, n_bins):
    shape, height, width, hop, seed = drawn
    codes = np.random.default_rng(seed).integers(0, n_bins, shape).astype(np.uint8)
    out = np.full((*grid_of(shape, height, width, hop), shape[2] * n_bins), np.nan, np.float32)
    _jit.cut_histograms(codes, height, width, hop, n_bins, out)
    patches = reference.patches_of(codes, height, width, hop)
    assert set(patches) == set(np.ndindex(out.shape[:2]))
    for place, patch in patches.items():
        counts = [np.sum(patch[..., channel] == level) for channel in range(shape[2]) for level in range(n_bins)]
        np.testing.assert_allclose(out[place], reference.at_length_one(counts), rtol=1e-7)


@pytest.mark.parametrize("hop", [1, 2, 3, 4, 9])
def test_histograms_at_any_hop_are_those_of_hop_one(hop):
    """The running counts forget exactly what they leave behind, also where the hop passes the patch."""
    codes = np.random.default_rng(0).integers(0, 101, (14, 17, 2)).astype(np.uint8)
    every = np.empty((12, 14, 202), np.float32)
    _jit.cut_histograms(codes, 3, 4, 1, 101, every)
    out = np.empty((*grid_of(codes.shape, 3, 4, hop), 202), np.float32)
    _jit.cut_histograms(codes, 3, 4, hop, 101, out)
    np.testing.assert_array_equal(out, every[::hop, ::hop])


@COMPILED
@given(st.data())
def test_running_maximum(data):
    rows, cols, q = (data.draw(st.integers(1, most)) for most in (10, 10, 4))
    window = data.draw(st.integers(1, rows)), data.draw(st.integers(1, cols))
    values = np.random.default_rng(data.draw(st.integers(0, 99))).integers(-9, 9, (rows, cols, q)).astype(np.float32)
    out = np.full((rows - window[0] + 1, cols - window[1] + 1, q), np.nan, np.float32)
    along = np.full((rows, out.shape[1], q), np.nan, np.float32)
    memory = np.full((max(window) + 1, q), np.nan, np.float32)
    _jit.running_maximum(values, *window, along, memory, out)
    np.testing.assert_array_equal(out, reference.windowed_maximum(values, *window))


@pytest.mark.parametrize("window", [(1, 1), (1, 5), (6, 1), (6, 5), (6, 13), (17, 5), (17, 13)], ids=str)
def test_running_maximum_of_part_of_a_grid(window):
    """Where the hop does not divide the sizes, part of a larger grid is pooled: its rows are not adjacent."""
    grid = np.random.default_rng(0).standard_normal((19, 16, 3)).astype(np.float32)
    values = grid[:17, :13]
    pooled = pool(values, window, np.inf, Scratch())
    np.testing.assert_array_equal(pooled, reference.windowed_maximum(values, *window))


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (5, 1), (6, 40)], ids=str)
def test_normalize_rows(shape):
    values = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    values[shape[0] // 2] = 0
    values[0] *= np.float32(1e-25)
    expected = [reference.at_length_one(row) for row in values]
    _jit.normalize_rows(values)
    np.testing.assert_allclose(values, expected, rtol=3e-7)
