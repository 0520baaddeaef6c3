"""Images as points with tangents, the directions in which they move under small transformations, and pairs of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from operator import or_
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter
from sklearn.utils import assert_all_finite

from invariance._core.checks import check_number
from invariance._core.parallel import iterate_jobs, one_blas_thread
from invariance.images import as_float32
from invariance.transformations import Affine, Identity, TransformationSet, tangent_vectors
from invariance.transformations.sets import check_set, parts_of

# Standard deviation in pixels of the blur of images with tangents; found by cross-validation on faces, see
# experiments/tangent_faces.py, and good for digits.
TANGENT_BLUR = 0.8
# Of the generators' Gaussian derivatives, in pixels: as little as possible, since the images are blurred already.
DERIVATIVE_WIDTH = 0.1
# A direction with a smaller share of the largest squared length is noise: a ring, for example, has no rotation.
MIN_SHARE = 1e-6
# Memory of one block of pairs: a fraction of any machine's memory, and some hundred images a side.
BLOCK_BYTES = 32 * 2**20


@dataclass(frozen=True)
class Points:
    """Images as rows (n, d) float64, J vectors at each of them (n, J, d), and the lengths (n, J) of the tangents."""

    rows: np.ndarray
    vectors: np.ndarray
    lengths: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def squares(self) -> np.ndarray:
        """Squared lengths (n,) of the rows."""
        return np.einsum("id,id->i", self.rows, self.rows)

    @cached_property
    def products(self) -> np.ndarray:
        """Products (n, J) of the rows with the vectors at them."""
        return np.einsum("jd,jkd->jk", self.rows, self.vectors)

    @cached_property
    def single_vectors(self) -> np.ndarray:
        """All vectors (n J, d) float32."""
        return self.vectors.reshape(-1, self.rows.shape[1]).astype(np.float32)

    def take(self, chosen: slice | np.ndarray) -> "Points":
        """Return some of the points; those themselves, with all that is known of them, if these are all."""
        if isinstance(chosen, slice) and chosen.indices(len(self)) == (0, len(self), 1):
            return self
        return Points(self.rows[chosen], self.vectors[chosen], self.lengths[chosen])


def tangent_parts(phi: TransformationSet) -> TransformationSet:
    """Return the parts of Φ that have Lie generators, and so tangents: shifts, rotations, scales, shears, affine maps.

    Parameters
    ----------
    phi : TransformationSet
        Any set: a product, union, closure or sample of sets is taken apart.

    Returns
    -------
    tangible : TransformationSet
        Union of these parts, for `TangentDistance`; ``Identity()`` if there is none. Only its tangents are of use: its
        members are fewer than those of a product.
    """
    parts = [part for part in parts_of(phi) if part._generators()]
    return reduce(or_, parts) if parts else Identity()


def points_with_tangents(
    X: Any,
    transformations: TransformationSet | None,
    image_shape: Sequence[int] | None,
    blur: float | str,
    method: str,
    with_tangents: bool = True,
) -> Points:
    """Blur images (n, h, w[, c]), or flat rows (n, d) of `image_shape`, and find their tangents of length 1.

    A derivative needs a smooth image: the images are blurred once, after they are normalized if Φ says so, and points
    and tangents are those of the blurred images. `transformations` None means all affine ones. Where only the points
    are needed, J is 0.
    """
    check_set("transformations", transformations)
    phi = Affine() if transformations is None else transformations
    images = as_images(X, image_shape, phi)
    width = _check_blur(blur, phi, images.shape[1:])
    if width > 0:
        images = gaussian_filter(images, (0, width, width) + (0,) * (images.ndim - 3), mode="nearest")
    rows = images.reshape(len(images), -1)
    if not with_tangents:
        return Points(rows, np.empty((len(rows), 0, rows.shape[1])), np.empty((len(rows), 0)))
    vectors = tangent_vectors(images, phi, method, smoothing=DERIVATIVE_WIDTH)
    vectors = vectors.reshape(len(images), vectors.shape[1], rows.shape[1])
    lengths = np.sqrt(np.einsum("njd,njd->nj", vectors, vectors))
    return Points(rows, vectors / np.where(lengths > 0, lengths, 1)[..., None], lengths)


def _check_blur(blur: float | str, phi: TransformationSet, image_shape: tuple[int, ...]) -> float:
    """Return the width of the blur in pixels; "auto" blurs only if the set has tangents."""
    if not isinstance(blur, str):
        return check_number("blur", blur, 0, 1000)
    if blur != "auto":
        raise ValueError(f"blur must be a number of pixels or 'auto'; got {blur!r}.")
    has_tangents = bool(phi._generators()) or len(phi.members(image_shape)) > 1
    return TANGENT_BLUR if has_tangents else 0.0


def as_images(X: Any, image_shape: Sequence[int] | None, phi: TransformationSet) -> np.ndarray:
    """Return X as float64 images (n, h, w[, c]), normalized if Φ says so; without `image_shape` a row is 1 x d."""
    X = np.asarray(X)
    X = X.astype(np.float64) if X.dtype.kind == "f" else as_float32(X).astype(np.float64)
    assert_all_finite(X, input_name="X")
    if X.ndim == 2:
        shape = (1, X.shape[1]) if image_shape is None else tuple(image_shape)
        if int(np.prod(shape)) != X.shape[1]:
            raise ValueError(f"image_shape {shape} means {int(np.prod(shape))} values per row, but X has {X.shape[1]}.")
        X = X.reshape(len(X), *shape)
    if X.ndim not in (3, 4):
        raise ValueError(f"X must be (n, h, w), (n, h, w, c) or flat (n, d); got shape {X.shape}.")
    return phi.normalize(X).astype(np.float64, copy=False)


def orthonormal(units: np.ndarray) -> np.ndarray:
    """Orthonormal frame (n, J, d) of the span of each image's unit vectors; rows beyond its dimension are zero.

    It comes from the eigenvectors of the J x J products of the vectors.
    """
    if units.shape[1] == 0:
        return units
    values, turns = np.linalg.eigh(units @ units.transpose(0, 2, 1))
    is_direction = values > MIN_SHARE * np.maximum(values[:, -1:], np.finfo(float).tiny)
    scales = np.where(is_direction, 1 / np.sqrt(np.where(is_direction, values, 1)), 0)
    return (scales[:, :, None] * turns.transpose(0, 2, 1)) @ units


def for_all_pairs(
    compute: Callable[[Points, Points], np.ndarray],
    X: Points,
    Y: Points,
    bytes_per_pair: int,
    n_jobs: int | None = None,
    label: str | None = None,
) -> np.ndarray:
    """Compute a matrix (n, m) float64 of all pairs in blocks of at most `BLOCK_BYTES`, on several threads."""
    side = max(1, int(np.sqrt(BLOCK_BYTES / max(bytes_per_pair, 1))))
    if len(X) <= side and len(Y) <= side:
        with one_blas_thread():
            return compute(X, Y)
    corners = [(i, j) for i in range(0, len(X), side) for j in range(0, len(Y), side)]
    out = np.empty((len(X), len(Y)))
    for (i, j), block in zip(
        corners, iterate_jobs(partial(_compute_block, compute, X, Y, side), corners, n_jobs, label), strict=True
    ):
        out[i : i + side, j : j + side] = block
    return out


def _compute_block(compute, X: Points, Y: Points, side: int, corner: tuple[int, int]) -> np.ndarray:
    i, j = corner
    return compute(X.take(slice(i, i + side)), Y.take(slice(j, j + side)))


def squared_distances(X: Points, Y: Points) -> np.ndarray:
    """Squared Euclidean distances (n, m) of points, never negative."""
    squares = X.squares[:, None] + Y.squares
    return np.maximum(squares - 2 * X.rows @ Y.rows.T, 0)


def coordinates_of_differences(X: Points, Y: Points) -> np.ndarray:
    """Products of x_i - y_j with v_jk for n points X and m points Y with vectors (m, J, d): (n, m, J)."""
    m, J, d = Y.vectors.shape
    along = (X.rows @ Y.vectors.reshape(m * J, d).T).reshape(len(X), m, J)
    along -= Y.products
    return along
