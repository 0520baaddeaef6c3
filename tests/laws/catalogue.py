"""Everything the laws are run over. A new room adds its names here, and every law holds for them."""

import re

import numpy as np

from invariance.transformations import (
    Affine,
    Brightness,
    Contrast,
    Custom,
    Elastic,
    Gamma,
    Identity,
    Illumination,
    Morphology,
    Perspective,
    Reflections,
    Rotations,
    Scales,
    Shears,
    Shifts,
)

LINEAR_SETS = [
    Identity(),
    Rotations(24),
    Rotations(5, limit=15, border="edge"),
    Rotations(6, interpolation="nearest"),
    Shifts(2),
    Shifts(3, step=2, border="edge"),
    Shifts(2, border="reflect"),
    Shifts(2, border="wrap"),
    Reflections(),
    Reflections("both"),
    Scales(3, limit=1.4, border="reflect"),
    Shears(3, limit=20),
    Affine([[[1.1, 0.2], [-0.1, 0.9]], [[1, 0, 0.5], [0, 1, -1.5]]]),
    Perspective(4, tilt=0.3),
    Elastic(3, strength=1.5, smoothness=2),
    Rotations(8) * Reflections(),
    Shifts(1) * Rotations(3, border="edge"),
    Rotations(4) | Scales(3),
    Shifts(1).closure(),
    Rotations(24).subsample(7),
    Elastic(2) * Shifts(1),
]

NONLINEAR_SETS = [
    Morphology(),
    Morphology(("open",), radius=2),
    Brightness(3, limit=0.3),
    Contrast(),
    Gamma(4),
    Illumination(),
    Custom([np.flipud]),
    Shifts(1) * Illumination(),
    Illumination() * Shifts(1, border="edge"),
    Rotations(4) | Gamma(),
]

ALL_SETS = LINEAR_SETS + NONLINEAR_SETS

# (set, image shape) that are groups exactly: their members only move pixels around.
GROUPS = [
    (Identity(), (6, 7)),
    (Rotations(4), (7, 7)),
    (Rotations(2), (5, 8)),
    (Reflections("both"), (5, 8)),
    (Rotations(4) * Reflections(), (8, 8)),
    (Shifts(2, border="wrap"), (5, 5)),
    (Shifts(4, border="wrap") * Reflections(), (6, 9)),
    (Rotations(4) * Shifts(2, border="wrap"), (5, 5)),
]


def name_of(phi):
    """The test id of a set: its repr without memory addresses, which differ between test workers."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(phi))
