"""What computing with Φ needs: operator stacks built for one image shape.

Every member of Φ is an alteration of the image (often none) followed by a resampling, a sparse matrix S_t.
Since <S_t x, θ> = <x, S_tᵀ θ>, the resampling is paid on the few filters and only the alteration on the many images.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from scipy import sparse

from invariance.transformations.steps import (
    Alteration,
    Displacement,
    Member,
    Warp,
    resampling_of,
    split_at_last_alteration,
)


class LinearStack:
    """T sparse matrices S_t (d, d) over pixels, d = h*w; channels are carried along."""

    def __init__(self, matrices: Sequence[sparse.csr_matrix], image_shape: tuple[int, int]):
        self.matrices = list(matrices)
        self.image_shape = image_shape

    def __len__(self):
        return len(self.matrices)

    @cached_property
    def _forward(self):
        return sparse.vstack(self.matrices, format="csr")

    @cached_property
    def _backward(self):
        return sparse.vstack([matrix.T.tocsr() for matrix in self.matrices], format="csr")

    @cached_property
    def _forward_single(self):
        return self._forward.astype(np.float32)

    @cached_property
    def _backward_single(self):
        return self._backward.astype(np.float32)

    def apply(self, images: np.ndarray) -> np.ndarray:
        """S_t x for every image and member: (n, h, w[, c]) -> (n, T, h, w[, c])."""
        return self._multiply("forward", images)

    def adjoint(self, filters: np.ndarray) -> np.ndarray:
        """S_tᵀ θ for every filter and member: (k, h, w[, c]) -> (k, T, h, w[, c])."""
        return self._multiply("backward", filters)

    def _multiply(self, direction, arrays):
        """One sparse product for all arrays; the result has the precision of what comes in."""
        arrays = np.asarray(arrays)
        n, channels = len(arrays), arrays.shape[3:]
        pixels_first = np.moveaxis(arrays.reshape(n, -1, *channels), 1, 0).reshape(len(self.matrices[0].indptr) - 1, -1)
        if arrays.dtype == np.float32:
            product = getattr(self, f"_{direction}_single") @ pixels_first
        else:
            product = getattr(self, f"_{direction}") @ pixels_first.astype(np.float64, copy=False)
        product = product.reshape(len(self), -1, n, *channels)
        return np.ascontiguousarray(np.moveaxis(product, 2, 0)).reshape(n, len(self), *self.image_shape, *channels)


class Operators:
    """The members of Φ for images of one shape, grouped by the alteration they begin with.

    Attributes
    ----------
    image_shape : (h, w)
    alterations : the P distinct alterations, each a member; the empty one first, where there is one
    stacks : for each of them the `LinearStack` of the resamplings that follow
    members : the T members, in the order of `apply`'s second axis
    """

    def __init__(self, members: Sequence[Member], image_shape: tuple[int, ...]):
        self.image_shape = (int(image_shape[0]), int(image_shape[1]))
        parts = _group_by_alteration(members, self.image_shape)
        self.alterations = list(parts)
        self.members = [member for part in parts.values() for _, member in part]
        self.stacks = [LinearStack([matrix for matrix, _ in part], self.image_shape) for part in parts.values()]

    def __len__(self):
        return len(self.members)

    @property
    def linear(self) -> bool:
        """Whether every member is a linear map, so that `adjoint` exists."""
        return self.alterations == [()]

    def altered(self, images: np.ndarray) -> list[np.ndarray]:
        """The images after each of the P alterations, each (n, h, w[, c]); the part of Φ that images must bear."""
        return [alter(images, alteration) for alteration in self.alterations]

    def apply(self, images: np.ndarray) -> np.ndarray:
        """φ_t(x) for every image and member: (n, h, w[, c]) -> (n, T, h, w[, c])."""
        images = as_floats(images, self.image_shape)
        transformed = [stack.apply(part) for stack, part in zip(self.stacks, self.altered(images), strict=True)]
        return transformed[0] if len(transformed) == 1 else np.concatenate(transformed, axis=1)

    def adjoint(self, filters: np.ndarray) -> np.ndarray:
        """φ_tᵀ θ for every filter and member: (k, h, w[, c]) -> (k, T, h, w[, c]), so that <φx, θ> = <x, φᵀθ>."""
        if not self.linear:
            raise ValueError(
                "this set has members that are not linear, so it has no adjoint. "
                "Use apply(images), or largest_responses, which works with every set."
            )
        return self.stacks[0].adjoint(as_floats(filters, self.image_shape))


def _group_by_alteration(members, image_shape):
    """{alteration: [(resampling matrix, member), ...]} without members that do the same to images of this shape."""
    parts: dict[Member, list] = {}
    seen = set()
    for member in members:
        alteration, resampling = split_at_last_alteration(member)
        matrix = resampling_of(resampling, image_shape)
        effect = (alteration, matrix.indices.tobytes(), matrix.indptr.tobytes(), np.round(matrix.data, 9).tobytes())
        if effect not in seen:
            seen.add(effect)
            parts.setdefault(alteration, []).append((matrix, member))
    return parts


def list_alterations(members: Sequence[Member]) -> list[Member]:
    """The distinct alterations that members begin with, in the order of `Operators.alterations`."""
    return list(dict.fromkeys(split_at_last_alteration(member)[0] for member in members))


def alter(images: np.ndarray, alteration: Member) -> np.ndarray:
    """Images (n, h, w[, c]) after the steps of an alteration."""
    for step in alteration:
        images = step.alter(images) if isinstance(step, Alteration) else _resample(images, step)
    return images


def _resample(images, step: Warp | Displacement):
    return LinearStack([resampling_of((step,), images.shape[1:3])], images.shape[1:3]).apply(images)[:, 0]


def as_floats(arrays: np.ndarray, image_shape: tuple[int, int]) -> np.ndarray:
    """Arrays (n, h, w[, c]) as floats of their own precision; anything else than that shape is an error."""
    arrays = np.asarray(arrays)
    if arrays.ndim not in (3, 4) or arrays.shape[1:3] != image_shape:
        raise ValueError(
            f"expected arrays of shape (n, {image_shape[0]}, {image_shape[1]}) or with a channel axis after that; "
            f"got {arrays.shape}. A single image needs a leading axis: image[None]."
        )
    return arrays if arrays.dtype in (np.float32, np.float64) else arrays.astype(np.float64)
