"""Every descriptor ignores what it declares, and turns that it does not declare change its vectors.

Images are sums of waves, drawn exactly at any angle and size: nothing is interpolated or cut off. A vector of an image
is compared with the vector at the corresponding place of the transformed image; the difference is measured in units of
the difference to another image.
"""

import inspect
from functools import lru_cache

import numpy as np
import pytest

from invariance import descriptors
from invariance.descriptors import (
    ColourGrid,
    DenseSift,
    FractalFeatures,
    GeometricBlur,
    GradientGrid,
    GradientPyramid,
    HaarPatches,
    HslPatches,
    MaximumResponses,
    PatchGrid,
    SiftWindows,
    SortedRings,
    WindowDescriptor,
    uncovered_parts,
)
from invariance.descriptors.protocol import regular_windows
from invariance.transformations import Brightness, Contrast, Identity, Reflections, Rotations, Scales, Shifts

SIDE, CENTRE = 97, 48.0
DESCRIPTORS = [
    HaarPatches(),
    HslPatches(),
    SiftWindows(),
    DenseSift(2, (12,)),
    DenseSift(2, (12,), "hsv"),
    DenseSift(2, (12,), "opponent"),
    ColourGrid(1, 3),
    *(MaximumResponses(level, step=1) for level in ("none", "rotation", "scale", "similarity")),
    PatchGrid(9, step=1),
    PatchGrid(9, aligned=True, step=1, centred=True),
    SortedRings(4, step=1),
    *(FractalFeatures(kind, step=1) for kind in ("rotation", "bilipschitz")),
    GeometricBlur(10**6, radii=(0, 3, 6)),
    GeometricBlur(10**6, radii=(0, 3, 6), distortion=1.0),
    GradientGrid(),
    GradientPyramid(180),
    GradientPyramid(360),
]


def turned(degrees):
    """The linear map of rows and columns that turns an image."""
    angle = np.radians(degrees)
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


# Linear maps and shifts that places follow, and maps of values.
STILL, NO_SHIFT = np.eye(2), np.zeros(2)
CHANGES = {
    Shifts: [(STILL, np.array([5, -7]), None)],
    Rotations: [(turned(degrees), NO_SHIFT, None) for degrees in (30, 45, 90, 180)],
    Reflections: [(np.diag([1, -1]), NO_SHIFT, None), (np.diag([-1, 1]), NO_SHIFT, None)],
    Scales: [(zoom * STILL, NO_SHIFT, None) for zoom in (0.67, 1.5)],
    Brightness: [(STILL, NO_SHIFT, lambda image: image + 0.1)],
    Contrast: [(STILL, NO_SHIFT, lambda image: image.mean(axis=(0, 1)) + 1.4 * (image - image.mean(axis=(0, 1))))],
}


def draw_scene(seed, linear=STILL, shift=NO_SHIFT):
    """An image (97, 97, 3) of waves in [0.2, 0.8], whose content has moved by a linear map about its centre."""
    rng = np.random.default_rng(seed)
    directions, lengths = rng.uniform(0, 2 * np.pi, (3, 40)), np.exp(rng.uniform(np.log(9), np.log(40), (3, 40)))
    phases = rng.uniform(0, 2 * np.pi, (3, 40, 1))
    places = np.indices((SIDE, SIDE)).reshape(2, -1) - CENTRE
    sources = np.linalg.solve(linear, places - shift[:, None])
    waves = np.stack([np.cos(directions), np.sin(directions)], axis=-1) * (2 * np.pi / lengths)[..., None]
    values = np.cos(waves @ sources + phases).mean(axis=1) + 0.5 * np.cos(waves[:1] @ sources + phases[:1]).mean(axis=1)
    return np.clip(0.5 + 0.45 * values, 0.2, 0.8).T.reshape(SIDE, SIDE, 3)


@lru_cache(maxsize=2)
def extract_scene(descriptor, seed):
    """The vectors and places of an image that has not moved."""
    return descriptor.extract(draw_scene(seed))


def vectors_at(descriptor, image, places, side):
    """The vectors of an image, or of the scene of a seed, nearest to places (n, 2), and whether there is one."""
    if isinstance(descriptor, WindowDescriptor):
        side = round(side)
        windows = np.column_stack([np.rint(places - (side - 1) / 2), np.full(len(places), side)]).astype(int)
        image = draw_scene(image) if isinstance(image, int) else image
        return descriptor.extract(image, windows)[0], np.ones(len(places), bool)
    vectors, found = extract_scene(descriptor, image) if isinstance(image, int) else descriptor.extract(image)
    if len(vectors) == 1:
        return np.repeat(vectors, len(places), axis=0), np.ones(len(places), bool)
    distances = np.linalg.norm(places[:, None] - found, axis=2)
    return vectors[distances.argmin(axis=1)], distances.min(axis=1) < 1.5


def relative_change(descriptor, linear, shift, alter):
    """The median change of a vector, in units of its distance from the vector of another image."""
    if isinstance(descriptor, GeometricBlur):
        places = extract_scene(descriptor, 0)[1]
        places = places[np.abs(places - CENTRE).max(axis=1) < 16]
    else:
        places = CENTRE + np.random.default_rng(0).integers(-8, 9, (60, 2)) * 2
    changed = draw_scene(0, linear, shift)
    changed = changed if alter is None else alter(changed)
    zoom = np.sqrt(abs(np.linalg.det(linear)))
    before, is_there = vectors_at(descriptor, 0, places, 25)
    after, is_found = vectors_at(descriptor, changed, (places - CENTRE) @ linear.T + shift + CENTRE, 25 * zoom)
    foreign, _ = vectors_at(descriptor, 1, places, 25)
    both = is_there & is_found
    assert both.mean() > 0.3
    change, scale = (np.median(np.linalg.norm(before - x, axis=1)[both]) for x in (after, foreign))
    return change / scale


every_descriptor = pytest.mark.parametrize("descriptor", DESCRIPTORS, ids=lambda d: " ".join(repr(d).split()))


def test_every_public_descriptor_is_checked():
    named = [getattr(descriptors, name) for name in descriptors.__all__]
    public = {kind for kind in named if inspect.isclass(kind) and hasattr(kind, "extract")}
    bases = {descriptors.Descriptor, descriptors.WindowDescriptor, descriptors.GridDescriptor}
    assert public - bases == {type(descriptor) for descriptor in DESCRIPTORS}


@every_descriptor
def test_a_descriptor_ignores_what_it_declares(descriptor):
    assert set(descriptor.invariances) <= set(CHANGES)
    for kind in descriptor.invariances:
        for change in CHANGES[kind]:
            assert relative_change(descriptor, *change) < 0.3, (kind, change)


@every_descriptor
def test_turns_and_mirror_images_that_are_not_declared_change_the_vectors(descriptor):
    for kind in {Rotations, Reflections} - set(descriptor.invariances):
        for change in CHANGES[kind][-2:]:
            assert relative_change(descriptor, *change) > 0.5, (kind, change)


@every_descriptor
def test_vectors_have_places_inside_the_image(descriptor):
    image = draw_scene(0)[:64, :80]
    vectors, places = descriptor.extract(image)
    assert vectors.dtype == np.float32
    assert places.shape == (len(vectors), 3 if isinstance(descriptor, WindowDescriptor) else 2)
    assert len(vectors) > 0
    assert (places[:, :2] >= 0).all()
    assert (places[:, :2] <= np.array([63, 79])).all()
    if not isinstance(descriptor, WindowDescriptor):
        with pytest.raises(ValueError, match="takes no windows"):
            descriptor.extract(image, np.array([[0, 0, 8]]))


def test_windows_of_a_regular_grid_cover_the_image():
    for shape in ((64, 80), (1, 1), (3, 50), (7, 7, 3)):
        windows = regular_windows(shape)
        is_covered = np.zeros(shape[:2], int)
        for top, left, side in windows:
            assert min(top, left) >= 0
            is_covered[top : top + side, left : left + side] += 1
            assert is_covered[top : top + side, left : left + side].shape == (side, side)
        assert (is_covered > 0).mean() > 0.9


def test_uncovered_parts_are_those_that_are_not_declared():
    phi = Rotations(8) * Brightness() | Shifts(1) * Scales()
    left = uncovered_parts(MaximumResponses("rotation"), phi)
    assert [type(part) for part in left] == [Scales]
    assert uncovered_parts(HaarPatches(), Identity()) == ()
