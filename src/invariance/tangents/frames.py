"""Images as points with tangents: the directions in which they move when something irrelevant happens to them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter

from invariance._core.checks import check_number
from invariance.images import as_float32
from invariance.transformations import Affine, TransformationSet, tangent_vectors

# A direction whose share of the tangents' squared lengths is less is noise: a blank image has none, a ring no rotation.
SHORTEST = 1e-6


@dataclass(frozen=True)
class Points:
    """Images as rows (n, d) float64, J vectors at each of them (n, J, d), and the lengths (n, J) the tangents had."""

    rows: np.ndarray
    vectors: np.ndarray
    lengths: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    def part(self, start: int, stop: int) -> "Points":
        """Some of the points, in order."""
        return Points(self.rows[start:stop], self.vectors[start:stop], self.lengths[start:stop])


def points_with_tangents(
    X: Any,
    transformations: TransformationSet | None,
    image_shape: Sequence[int] | None,
    blur: float,
    method: str,
    with_tangents: bool = True,
) -> Points:
    """Images (n, h, w[, c]), or flat rows (n, d) of `image_shape`, blurred, and their tangents at length 1.

    A derivative needs a smooth image: the images are blurred once, by `blur` pixels, and points and tangents are those
    of the blurred images. `transformations` None means all affine ones. Where only the points are needed, J is 0.
    """
    images = as_images(X, image_shape)
    if check_number("blur", blur, 0, 1000) > 0:
        images = gaussian_filter(images, (0, blur, blur) + (0,) * (images.ndim - 3), mode="nearest")
    rows = images.reshape(len(images), -1)
    if not with_tangents:
        return Points(rows, np.empty((len(rows), 0, rows.shape[1])), np.empty((len(rows), 0)))
    phi = Affine() if transformations is None else transformations
    vectors = tangent_vectors(images, phi, method, smoothing=0.1)
    vectors = vectors.reshape(len(images), vectors.shape[1], rows.shape[1])
    lengths = np.sqrt(np.einsum("njd,njd->nj", vectors, vectors))
    return Points(rows, vectors / np.where(lengths > 0, lengths, 1)[..., None], lengths)


def as_images(X: Any, image_shape: Sequence[int] | None) -> np.ndarray:
    """X as float64 images (n, h, w[, c]); a flat row without `image_shape` is a 1 x d image."""
    X = np.asarray(X)
    X = X.astype(np.float64) if X.dtype.kind == "f" else as_float32(X).astype(np.float64)
    if X.ndim == 2:
        shape = (1, X.shape[1]) if image_shape is None else tuple(image_shape)
        if int(np.prod(shape)) != X.shape[1]:
            raise ValueError(f"image_shape {shape} means {int(np.prod(shape))} values a row, but X has {X.shape[1]}.")
        X = X.reshape(len(X), *shape)
    if X.ndim not in (3, 4):
        raise ValueError(f"X must be (n, h, w), (n, h, w, c) or flat (n, d); got shape {X.shape}.")
    return X


def orthonormal(units: np.ndarray) -> np.ndarray:
    """An orthonormal frame (n, J, d) of the span of each image's unit vectors; rows beyond its dimension are zero.

    By the eigenvectors of the J x J products of the vectors.
    """
    if units.shape[1] == 0:
        return units
    values, turns = np.linalg.eigh(units @ units.transpose(0, 2, 1))
    lasting = values > SHORTEST * np.maximum(values[:, -1:], np.finfo(float).tiny)
    scales = np.where(lasting, 1 / np.sqrt(np.where(lasting, values, 1)), 0)
    return (scales[:, :, None] * turns.transpose(0, 2, 1)) @ units
