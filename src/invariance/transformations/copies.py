"""The transformed copies of one image, made one at a time: what bags of features and encoders describe.

Photographs have many sizes, and an operator stack per size would cost more than describing the images. For an image of
320 x 240 pixels in colour and eight rotations, building the stack takes 150 ms and its first use 45 ms; reading the
eight images directly takes 9 ms, for any size.
"""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from invariance.images import as_float32
from invariance.transformations import _jit
from invariance.transformations.operators import alter
from invariance.transformations.resampling import BORDERS, SNAP
from invariance.transformations.sets import TransformationSet
from invariance.transformations.steps import Member, Step, Warp

# Shapes of images whose members are kept: photographs mostly have one of a few shapes.
N_SHAPES = 32


class Orbits:
    """Makes the orbits of images under Φ; members are listed once per image shape.

    Parameters
    ----------
    phi : TransformationSet or None
        None and the identity alone leave images untouched.
    """

    def __init__(self, phi: TransformationSet | None):
        self._members = lru_cache(maxsize=N_SHAPES)((lambda shape: ((),)) if phi is None else phi.members)

    def of(self, image: np.ndarray) -> "Orbit":
        """The orbit of an image (h, w) or (h, w, c) of any dtype."""
        return Orbit(image, self._members(image.shape[:2]))

    def of_mask(self, mask: np.ndarray) -> "Orbit":
        """The orbit of a float32 mask (h, w), which moves with its image and is not altered otherwise."""
        members = self._members(mask.shape)
        return Orbit(mask, tuple(tuple(step for step in member if hasattr(step, "matrix")) for member in members))


class Orbit:
    """A sequence of the transformed copies of one image, the image itself first; copies are made when asked for."""

    def __init__(self, image: np.ndarray, members: tuple[Member, ...]):
        self.image = image
        self.members = members

    def __len__(self) -> int:
        return len(self.members)

    def __getitem__(self, index: int) -> np.ndarray:
        return transform_image(self.image, self.members[index])

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[index] for index in range(len(self)))


def transform_image(image: np.ndarray, member: Member) -> np.ndarray:
    """An image (h, w) or (h, w, c) after one member of Φ, as float32; the identity returns it as it is.

    An image in [0, 1] stays in [0, 1]: what brightness or contrast put beyond is clipped, as in a photograph.
    """
    if not member:
        return image
    source = as_float32(image)
    transformed = source
    for step in member:
        transformed = _apply_step(transformed, step)
    if source.min() >= 0 and source.max() <= 1:
        transformed = transformed.clip(0, 1)
    return transformed


def _apply_step(image: np.ndarray, step: Step) -> np.ndarray:
    """One step of a member; what is not a warp goes the way of the operators."""
    return warp_image(image, step) if isinstance(step, Warp) else alter(image[None], (step,))[0]


def warp_image(image: np.ndarray, warp: Warp) -> np.ndarray:
    """A float32 image (h, w) or (h, w, c) resampled by a warp, as its sparse matrix would."""
    planes = np.ascontiguousarray(image.reshape(*image.shape[:2], -1))
    out = np.empty_like(planes)
    is_nearest = warp.interpolation == "nearest"
    _jit.warp_pixels(planes, warp.homography, BORDERS.index(warp.border), is_nearest, SNAP, out)
    return out.reshape(image.shape)
