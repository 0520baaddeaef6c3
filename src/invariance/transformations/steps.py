"""The elementary steps that members of Φ are made of.

A member φ is a tuple of steps in the order in which they are applied; the empty tuple is the identity. Steps are
hashable values, so that sets of members can be united and multiplied without computing a single pixel.
A step either resamples (it has `matrix(image_shape)`, a linear map) or alters (it has `alter(images)`, any map).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import ndimage, sparse

from invariance.transformations.resampling import pixel_grid, resampling_matrix

# Two warps whose matrices agree to this many decimals are the same warp.
DECIMALS = 7


@dataclass(frozen=True, eq=False)
class Warp:
    """A homography that reads each pixel p of the result at `homography @ p` of the source.

    Attributes
    ----------
    coefficients : tuple of 9 floats
        The homography, row by row; it acts on p = (x, y, 1) in pixels from the centre.
    border : {"zero", "edge", "reflect", "wrap"}
    interpolation : {"linear", "nearest"}
    """

    coefficients: tuple[float, ...]
    border: str
    interpolation: str

    @classmethod
    def from_matrix(cls, matrix: np.ndarray, border: str = "zero", interpolation: str = "linear") -> "Warp":
        """Build the warp of a 3 x 3 homography, whatever its scale."""
        matrix = np.asarray(matrix, dtype=np.float64)
        return cls(tuple((matrix / matrix[2, 2]).ravel().tolist()), border, interpolation)

    @cached_property
    def _key(self):
        # Adding 0.0 turns -0.0 into 0.0.
        return ((np.round(self.coefficients, DECIMALS) + 0.0).tobytes(), self.border, self.interpolation)

    def __eq__(self, other):
        return isinstance(other, Warp) and self._key == other._key

    def __hash__(self):
        return hash(self._key)

    @property
    def homography(self) -> np.ndarray:
        """The 3 x 3 matrix."""
        return np.array(self.coefficients).reshape(3, 3)

    def is_identity(self) -> bool:
        """Whether every pixel stays in place."""
        return np.allclose(self.homography, np.eye(3), rtol=0, atol=10.0**-DECIMALS)

    def then(self, later: "Warp") -> "Warp":
        """Compose two warps, `later` after this one, into one that interpolates once."""
        return Warp.from_matrix(self.homography @ later.homography, self.border, self.interpolation)

    def matrix(self, image_shape: tuple[int, ...]) -> sparse.csr_matrix:
        """Return the warp as a sparse matrix of shape (h w, h w)."""
        y, x = pixel_grid(image_shape)
        source_x, source_y, depth = self.homography @ np.stack([x, y, np.ones_like(x)])
        # Points at or behind the horizon of a strong perspective have no source: they are read far outside.
        depth = np.where(depth > 1e-6, depth, 1e-6)
        return resampling_matrix(source_y / depth, source_x / depth, image_shape, self.border, self.interpolation)


@dataclass(frozen=True)
class Displacement:
    """A smooth random field that moves every pixel.

    Attributes
    ----------
    seed : tuple of int
    strength : float
        Root mean square displacement in pixels.
    smoothness : float
        Standard deviation in pixels of the Gaussian that smooths the field.
    border : {"zero", "edge", "reflect", "wrap"}
    interpolation : {"linear", "nearest"}
    """

    seed: tuple[int, ...]
    strength: float
    smoothness: float
    border: str
    interpolation: str

    def matrix(self, image_shape: tuple[int, ...]) -> sparse.csr_matrix:
        """Return the displacement as a sparse matrix of shape (h w, h w)."""
        height, width = image_shape[:2]
        noise = np.random.default_rng(self.seed).standard_normal((2, height, width))
        field = ndimage.gaussian_filter(noise, (0, self.smoothness, self.smoothness), mode="reflect")
        field *= self.strength / max(np.sqrt(np.mean(field**2)), 1e-12)
        y, x = pixel_grid(image_shape)
        dy, dx = field.reshape(2, -1)
        return resampling_matrix(y + dy, x + dx, image_shape, self.border, self.interpolation)


@dataclass(frozen=True)
class Alteration:
    """A map of images that is not a resampling.

    Attributes
    ----------
    function : callable
        Called with images (n, h, w) or (n, h, w, c) and the parameters; returns an array of the same shape.
    parameters : tuple
    """

    function: Callable[..., np.ndarray]
    parameters: tuple = ()

    def alter(self, images: np.ndarray) -> np.ndarray:
        """Return the altered images, of the same shape and dtype."""
        altered = np.asarray(self.function(images, *self.parameters))
        if altered.shape != images.shape:
            raise ValueError(
                f"a transformation must keep the shape of an image; {self.parameters or self.function!r} turned "
                f"{images.shape[1:]} into {altered.shape[1:]}."
            )
        return altered.astype(images.dtype, copy=False)


Step = Warp | Displacement | Alteration
Member = tuple[Step, ...]
IDENTITY: Member = ()


def compose(first: Member, later: Member) -> Member:
    """Build the member that applies `first`, then `later`; neighbouring warps of one kind become one warp."""
    steps = list(first)
    for step in later:
        last = steps[-1] if steps else None
        if (
            isinstance(step, Warp)
            and isinstance(last, Warp)
            and (step.border, step.interpolation) == (last.border, last.interpolation)
        ):
            steps[-1] = last.then(step)
        else:
            steps.append(step)
        if isinstance(steps[-1], Warp) and steps[-1].is_identity():
            steps.pop()
    return tuple(steps)


def split_at_last_alteration(member: Member) -> tuple[Member, Member]:
    """Split a member into the steps that images must take and the linear rest that filters can take instead."""
    last = max((i for i, step in enumerate(member) if isinstance(step, Alteration)), default=-1)
    return member[: last + 1], member[last + 1 :]


def resampling_of(steps: Member, image_shape: tuple[int, int]) -> sparse.csr_matrix:
    """Return the sparse matrix of shape (h w, h w) of linear steps."""
    matrix = sparse.identity(image_shape[0] * image_shape[1], format="csr")
    for step in steps:
        assert not isinstance(step, Alteration), "an alteration is not a resampling"
        matrix = step.matrix(image_shape) @ matrix
    matrix.sort_indices()
    return matrix
