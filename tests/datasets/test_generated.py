"""Generated sets: same seed same images, exact masks, classes that are really different."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from invariance.datasets import make_glyphs, make_membranes, make_textures

MAKERS = [
    lambda seed: make_membranes(2, (64, 48), random_state=seed),
    lambda seed: make_glyphs(3, random_state=seed),
    lambda seed: make_textures(3, random_state=seed),
]


@pytest.mark.parametrize("make", MAKERS)
def test_the_seed_decides_everything(make):
    first, again, other = make(3), make(3), make(4)
    np.testing.assert_array_equal(first.images, again.images)
    assert not np.array_equal(first.images, other.images)
    assert first.images.dtype == np.float32
    assert first.images.min() >= 0
    assert first.images.max() <= 1


def test_a_membrane_image_does_not_depend_on_how_many_are_made():
    few, many = make_membranes(1, (64, 64)), make_membranes(3, (64, 64))
    np.testing.assert_array_equal(few.images[0], many.images[0])
    np.testing.assert_array_equal(few.masks[0], many.masks[0])


def test_membranes_are_dark_and_enclose_cells():
    from scipy.ndimage import label

    tissue = make_membranes(2, (128, 160), random_state=1)
    assert tissue.images.shape == tissue.masks.shape == (2, 128, 160)
    assert tissue.masks.dtype == bool
    assert 0.1 < tissue.masks.mean() < 0.4
    for image, mask in zip(tissue.images, tissue.masks, strict=True):
        assert image[mask].mean() < image[~mask].mean() - 0.2
        _, n_cells = label(~mask)
        assert n_cells > 10


def test_brightness_alone_does_not_solve_the_membranes():
    """Organelles, noise and uneven light: the best threshold stays well below perfect."""
    tissue = make_membranes(2, (128, 128))
    best = max(
        (((tissue.images < level) & tissue.masks).sum() / ((tissue.images < level) | tissue.masks).sum())
        for level in np.linspace(0.1, 0.9, 33)
    )
    assert 0.3 < best < 0.9


def test_thickness_widens_the_membranes():
    thin, thick = (make_membranes(1, (96, 96), thickness=width).masks.mean() for width in (3, 7))
    assert thick > 1.5 * thin


def test_without_motion_glyphs_of_a_class_are_one_drawing():
    still = make_glyphs(4, rotation=0, shift=0, scale=0, noise=0)
    by_class = still.images.reshape(6, 4, 28, 28)
    np.testing.assert_array_equal(by_class[:, :1], by_class[:, 1:2])
    assert len(np.unique(by_class[:, 0].reshape(6, -1), axis=0)) == 6


def test_glyphs_stay_inside_and_rotation_is_what_makes_them_hard():
    turned, upright = (make_glyphs(30, rotation=angle, noise=0, random_state=0) for angle in (180, 0))
    assert turned.images[:, [0, -1], :].max() == 0
    assert turned.images[:, :, [0, -1]].max() == 0

    def accuracy(glyphs):
        flat, train = glyphs.images.reshape(len(glyphs), -1), np.arange(len(glyphs)) % 2 == 0
        model = LogisticRegression(max_iter=200).fit(flat[train], glyphs.labels[train])
        return model.score(flat[~train], glyphs.labels[~train])

    assert accuracy(upright) > accuracy(turned) + 0.1


def test_textures_differ_in_spectrum_not_in_brightness():
    noise = make_textures(20, size=32)
    means, deviations = noise.images.mean(axis=(1, 2)), noise.images.std(axis=(1, 2))
    np.testing.assert_allclose(means, 0.5, atol=0.02)
    np.testing.assert_allclose(deviations, 0.15, atol=0.02)
    steps = np.abs(np.diff(noise.images, axis=1)).mean(axis=(1, 2)) + np.abs(np.diff(noise.images)).mean(axis=(1, 2))
    coarse, fine = (steps[noise.labels == label].mean() for label in (0, 1))
    assert fine > 1.3 * coarse


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_membranes(0), "n_images must be a whole number of at least 1; got 0"),
        (lambda: make_membranes(1, (4, 64)), "shape must be a whole number of at least 8; got 4"),
        (lambda: make_membranes(1, thickness=30), "thickness must be a number from 1 to 18; got 30"),
        (lambda: make_glyphs(2, rotation=200), "rotation must be a number from 0 to 180; got 200"),
        (lambda: make_textures(2, size=2), "size must be a whole number of at least 8; got 2"),
    ],
)
def test_bad_parameters_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
