"""Sets that come with the dependencies: there without network, in the promised shape."""

import numpy as np
import pytest

from invariance.datasets import load_digits, load_faces, load_textures
from invariance.datasets.shipped import cut_windows


def test_digits():
    digits = load_digits()
    assert digits.images.shape == (1797, 8, 8)
    assert digits.images.dtype == np.float32
    assert (digits.images.min(), digits.images.max()) == (0, 1)
    assert set(digits.labels) == set(range(len(digits.class_names)))


def test_faces():
    faces = load_faces()
    assert faces.images.shape == (200, 25, 25)
    assert faces.images.dtype == np.float32
    assert np.bincount(faces.labels).tolist() == [100, 100]
    # A face has eyes and a mouth everywhere one looks; most cut-outs are smooth.
    other, face = (np.abs(np.diff(faces.images[faces.labels == label])).mean() for label in (0, 1))
    assert face > 1.3 * other


def test_textures_have_their_splits_from_different_halves(monkeypatch):
    from skimage import data

    halves = np.repeat(np.array([51, 204], np.uint8), 256)[:, None] * np.ones((1, 512), np.uint8)
    for name in ("brick", "grass", "gravel"):
        monkeypatch.setattr(data, name, lambda: halves)
    for split, value in (("train", 0.2), ("test", 0.8)):
        windows = load_textures(40, size=40, split=split).images
        assert windows.shape == (120, 40, 40)
        np.testing.assert_allclose(windows, value, atol=1e-6)


def test_textures_are_seeded_and_labelled():
    one, same, other = load_textures(5), load_textures(5), load_textures(5, split="test")
    np.testing.assert_array_equal(one.images, same.images)
    assert not np.array_equal(one.images, other.images)
    assert one.labels.tolist() == [0] * 5 + [1] * 5 + [2] * 5
    assert one.class_names == ("brick", "grass", "gravel")


def test_windows_are_turned_not_distorted():
    """On a ramp, a window is a ramp of the same steepness in another direction."""
    ramp = np.add.outer(np.arange(100.0), np.zeros(100))
    windows = cut_windows(ramp, 20, 9, np.random.default_rng(0))
    down, across = np.diff(windows, axis=1)[:, 0, 0], np.diff(windows, axis=2)[:, 0, 0]
    np.testing.assert_allclose(np.hypot(down, across), 1, atol=1e-4)
    assert np.ptp(np.arctan2(down, across)) > 3


def test_window_too_large():
    with pytest.raises(ValueError, match=r"size must let a rotated window fit into \(256, 512\) pixels; got 200"):
        load_textures(1, size=200)
