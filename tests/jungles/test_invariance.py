"""Predictions are exactly invariant under groups that map the pixel grid to itself."""

import numpy as np
import pytest
from scipy import ndimage

from invariance.jungles import InvariantFeatures, JungleClassifier, TreeClassifier
from invariance.transformations import Contrast, IlluminationCorrections, Morphology, Reflections, Rotations, Shifts
from tests.jungles.toys import QUICK

QUARTER_TURNS = [lambda images, k=k: np.rot90(images, k, (1, 2)) for k in (1, 2, 3)]
FLIP = [lambda images: images[:, :, ::-1]]
SQUARE = [*QUARTER_TURNS, *FLIP, lambda images: np.rot90(images[:, :, ::-1], 1, (1, 2))]
ROTATED_SQUARE = Rotations(4) * Reflections()
ROLLED = [lambda images: np.roll(images, (2, -1), (1, 2))]

# Φ, the transformations that must not matter, the shape of an image. Photometric and morphological members commute with
# rotations and reflections, so that the product is invariant to these although it is no group as a whole.
GROUPS = {
    "rotations": (Rotations(4), QUARTER_TURNS, (16, 16)),
    "eight rotations": (Rotations(8), QUARTER_TURNS, (15, 15)),
    "reflections": (Reflections(), FLIP, (16, 16)),
    "reflections of a rectangle": (Reflections(), FLIP, (11, 16)),
    "rotations and reflections": (ROTATED_SQUARE, SQUARE, (16, 16)),
    "wrapped shifts": (Shifts(2, border="wrap"), ROLLED, (5, 5)),
    "colour": (ROTATED_SQUARE, SQUARE, (9, 9, 3)),
    "with illumination": (Rotations(4) * IlluminationCorrections(), QUARTER_TURNS, (16, 16)),
    "with contrast": (ROTATED_SQUARE * Contrast(), SQUARE, (12, 12)),
    "with morphology": (Rotations(4) * Morphology(), QUARTER_TURNS, (12, 12)),
    # Above 2,000 values per image the reduced basis is found by iteration instead of exactly.
    "large": (ROTATED_SQUARE, SQUARE, (46, 46)),
    "large, reflections": (Reflections(), FLIP, (46, 46)),
    "large, colour": (Rotations(4), QUARTER_TURNS, (27, 27, 3)),
    "large, with contrast": (Rotations(4) * Contrast(), QUARTER_TURNS, (46, 46)),
}


def make_images(shape, n=90, seed=0):
    """Smooth noise with one of two patterns that no symmetry of the square maps to itself, and the labels."""
    rng = np.random.default_rng(seed)
    images = ndimage.gaussian_filter(rng.random((n, *shape)), (0, 1, 1, *(0,) * (len(shape) - 2)))
    labels = rng.integers(0, 3, n)
    rows, cols = np.meshgrid(*(np.linspace(0, 3, side) for side in shape[:2]), indexing="ij")
    patterns = np.stack([np.zeros(shape[:2]), np.sin(3 * rows) * cols, rows * cols**2])
    images += 0.05 * patterns[labels].reshape(n, *shape[:2], *(1,) * (len(shape) - 2))
    return (images / images.max()).astype(np.float32), labels


@pytest.mark.parametrize("final_estimator", ["vote", "linear"])
@pytest.mark.parametrize("group", GROUPS)
def test_predictions_of_transformed_images_are_equal(group, final_estimator):
    phi, transformations, shape = GROUPS[group]
    images, labels = make_images(shape)
    model = JungleClassifier(phi, **QUICK | {"max_depth": 3}, final_estimator=final_estimator)
    model.fit(images[:60], labels[:60])
    probabilities = model.predict_proba(images[60:])
    assert len(model.filters_) > 1
    assert np.ptp(probabilities, axis=0).max() > 0.1, "images differ, so that equal predictions mean something"
    for transform in transformations:
        transformed = model.predict_proba(np.ascontiguousarray(transform(images[60:])))
        np.testing.assert_allclose(transformed, probabilities, atol=1e-5)


@pytest.mark.parametrize("rank", [5, 24, 37, 0.999, "auto"])
def test_every_rank_is_exact(rank):
    """A group mixes the basis vectors of one eigenvalue, so these must be kept or dropped together."""
    images, labels = make_images((16, 16))
    features = InvariantFeatures(ROTATED_SQUARE, **QUICK | {"rank": rank}, extremes="both")
    responses = features.fit(images[:60], labels[:60]).transform(images[60:])
    for transform in SQUARE:
        transformed = features.transform(np.ascontiguousarray(transform(images[60:])))
        np.testing.assert_allclose(transformed, responses, atol=1e-5 * np.abs(responses).max())


def test_a_tree_is_invariant_as_well():
    images, labels = make_images((16, 16))
    model = TreeClassifier(ROTATED_SQUARE, max_depth=4, rank=48, random_state=0).fit(images[:60], labels[:60])
    np.testing.assert_allclose(
        model.predict_proba(np.rot90(images[60:], 1, (1, 2))), model.predict_proba(images[60:]), atol=1e-5
    )


@pytest.mark.parametrize(
    ("phi", "settings"),
    [(None, {}), (Reflections(), {}), (ROTATED_SQUARE, {"max_members": 0.5})],
    ids=["no transformations", "another group", "half of the members"],
)
def test_without_the_whole_group_predictions_differ(phi, settings):
    """The tests above can fail: with a part of the members the maximum is no longer invariant."""
    images, labels = make_images((16, 16))
    model = JungleClassifier(phi, **QUICK | settings, final_estimator="linear").fit(images[:60], labels[:60])
    rotated = model.predict_proba(np.rot90(images[60:], 1, (1, 2)))
    assert np.abs(rotated - model.predict_proba(images[60:])).max() > 0.05


@pytest.mark.parametrize("final_estimator", ["vote", "linear"])
def test_contrast_alone_runs(final_estimator):
    """It is no group: a stronger contrast than the strongest member has no inverse in the set."""
    images, labels = make_images((12, 12))
    model = JungleClassifier(Contrast(), **QUICK, final_estimator=final_estimator).fit(images[:60], labels[:60])
    assert np.isfinite(model.predict_proba(images[60:])).all()
