"""Operator stacks, built for one image shape, and the invariant feature that is computed with them.

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

# Responses of one block of images to all filters under all members; 64 MB is little for any machine.
BLOCK_BYTES = 64 * 2**20


class LinearStack:
    """T sparse matrices S_t of shape (h w, h w) that act on pixels; channels are carried along.

    Parameters
    ----------
    matrices : sequence of sparse matrices
    image_shape : tuple of two int
    """

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
        """Compute S_t x for every image and member: (n, h, w[, c]) -> (n, T, h, w[, c])."""
        return self._multiply("forward", images)

    def adjoint(self, filters: np.ndarray) -> np.ndarray:
        """Compute S_tᵀ θ for every filter and member: (k, h, w[, c]) -> (k, T, h, w[, c])."""
        return self._multiply("backward", filters)

    def _multiply(self, direction, arrays):
        """Multiply all arrays in one sparse product; the result has the precision of the input."""
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

    Parameters
    ----------
    members : sequence of Member
    image_shape : tuple of int

    Attributes
    ----------
    image_shape : tuple of two int
        Height and width.
    alterations : list of Member
        The P distinct alterations; the empty one first, where there is one.
    stacks : list of LinearStack
        For each alteration the resamplings that follow it.
    members : list of Member
        The T members, in the order of the second axis of `apply`.
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
        """Return the images (n, h, w[, c]) after each of the P alterations, the part of Φ that filters cannot take."""
        return [alter(images, alteration) for alteration in self.alterations]

    def apply(self, images: np.ndarray) -> np.ndarray:
        """Compute φ_t(x) for every image and member.

        Parameters
        ----------
        images : ndarray of shape (n, h, w) or (n, h, w, c)

        Returns
        -------
        transformed : ndarray of shape (n, T, h, w) or (n, T, h, w, c)
        """
        images = as_floats(images, self.image_shape)
        transformed = [stack.apply(part) for stack, part in zip(self.stacks, self.altered(images), strict=True)]
        return transformed[0] if len(transformed) == 1 else np.concatenate(transformed, axis=1)

    def adjoint(self, filters: np.ndarray) -> np.ndarray:
        """Compute φ_tᵀ θ for every filter and member, so that <φ x, θ> = <x, φᵀ θ>.

        Parameters
        ----------
        filters : ndarray of shape (k, h, w) or (k, h, w, c)

        Returns
        -------
        transformed : ndarray of shape (k, T, h, w) or (k, T, h, w, c)
        """
        if not self.linear:
            raise ValueError(
                "this set has members that are not linear, so it has no adjoint. "
                "Use apply(images), or largest_responses, which works with every set."
            )
        return self.stacks[0].adjoint(as_floats(filters, self.image_shape))


def largest_responses(images: np.ndarray, filters: np.ndarray, operators: Operators) -> np.ndarray:
    """Compute the invariant feature max over φ in Φ of <θ, φ(x)>, [Laptev15] eq. (1), for many filters.

    The filters are transformed instead of the images, as far as Φ is linear. Memory is bounded for any n.

    Parameters
    ----------
    images : ndarray of shape (n, h, w) or (n, h, w, c)
    filters : ndarray of shape (k, h, w) or (k, h, w, c)
    operators : Operators

    Returns
    -------
    responses : ndarray of shape (n, k)
    """
    images, filters = as_floats(images, operators.image_shape), as_floats(filters, operators.image_shape)
    n_filters = len(filters)
    # (pixels, k*T) for each alteration: the linear part of Φ, moved over to the filters.
    moved = [np.ascontiguousarray(stack.adjoint(filters).reshape(-1, filters[0].size).T) for stack in operators.stacks]
    width = n_filters * len(operators) + len(operators.stacks) * images[:1].size
    n_rows = max(1, BLOCK_BYTES // (width * images.dtype.itemsize))
    largest = np.empty((len(images), n_filters), np.result_type(images, filters))
    for start in range(0, len(images), n_rows):
        block = images[start : start + n_rows]
        parts = [
            (part.reshape(len(block), -1) @ columns).reshape(len(block), n_filters, -1).max(axis=2)
            for part, columns in zip(operators.altered(block), moved, strict=True)
        ]
        largest[start : start + n_rows] = np.max(parts, axis=0)
    return largest


def _group_by_alteration(members, image_shape):
    """Map each alteration to its (resampling matrix, member), without members that have the same effect."""
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
    """List the distinct alterations that members begin with, in the order of `Operators.alterations`."""
    return list(dict.fromkeys(split_at_last_alteration(member)[0] for member in members))


def alter(images: np.ndarray, alteration: Member) -> np.ndarray:
    """Apply the steps of an alteration to images (n, h, w[, c])."""
    for step in alteration:
        images = step.alter(images) if isinstance(step, Alteration) else _resample(images, step)
    return images


def _resample(images, step: Warp | Displacement):
    return LinearStack([resampling_of((step,), images.shape[1:3])], images.shape[1:3]).apply(images)[:, 0]


def as_floats(arrays: np.ndarray, image_shape: tuple[int, int]) -> np.ndarray:
    """Return arrays (n, h, w[, c]) as floats of their own precision; any other shape is an error."""
    arrays = np.asarray(arrays)
    if arrays.ndim not in (3, 4) or arrays.shape[1:3] != image_shape:
        raise ValueError(
            f"expected arrays of shape (n, {image_shape[0]}, {image_shape[1]}) or with a channel axis after that; "
            f"got {arrays.shape}. A single image needs a leading axis: image[None]."
        )
    return arrays if arrays.dtype in (np.float32, np.float64) else arrays.astype(np.float64)
