"""Tangent vectors: how an image begins to change under Φ, [Pozdnoukhov04] eq. (3)-(6) and sec. 3.1.

Analytic: the Lie generators of shift, rotation, scale and shear are first-order differential operators with the
Gaussian-smoothed derivative in place of ∂; each is the derivative of φ at the identity with respect to pixels, radians,
log-scale or slope. They are linear maps, hence an operator stack like any other.
Finite differences: φ(x) - x for every member of any Φ.
"""

from functools import lru_cache

import numpy as np
from scipy import ndimage, sparse

from invariance._core.checks import check_choice, check_number
from invariance.transformations.operators import LinearStack
from invariance.transformations.resampling import pixel_grid
from invariance.transformations.sets import Product, TransformationSet, Union


def tangent_vectors(
    images: np.ndarray, phi: TransformationSet, method: str = "auto", smoothing: float = 1.0
) -> np.ndarray:
    """Compute the tangent vectors of images under Φ.

    Parameters
    ----------
    images : ndarray of shape (n, h, w) or (n, h, w, c)
    phi : TransformationSet
    method : {"auto", "analytic", "difference"}, default="auto"
        "analytic" gives one vector per Lie generator of the set, "difference" one per member except the identity.
        "auto" is "analytic" where generators exist, decided for each part of a product or union by itself.
    smoothing : float, default=1.0
        Standard deviation of the Gaussian derivative in pixels.

    Returns
    -------
    tangents : ndarray of shape (n, J, h, w) or (n, J, h, w, c)
    """
    check_choice("method", method, ("auto", "analytic", "difference"))
    images = np.asarray(images)
    if images.ndim not in (3, 4):
        raise ValueError(f"images must be (n, h, w) or (n, h, w, c); got {images.shape}. One image is image[None].")
    phi.members(images.shape[1:3])  # raises an error that names a wrong parameter of the set
    names = phi._generators()
    if method == "auto" and names is None and isinstance(phi, Product | Union):
        parts = [tangent_vectors(images, part, method, smoothing) for part in (phi.left, phi.right)]
        return np.concatenate(parts, axis=1)
    if method == "difference" or (method == "auto" and not names):
        return phi.operators(images.shape[1:3]).apply(images)[:, 1:] - images[:, None]
    return tangent_operators(phi, images.shape[1:3], smoothing).apply(images)


def tangent_operators(phi: TransformationSet, image_shape: tuple[int, ...], smoothing: float = 1.0) -> LinearStack:
    """Build the Lie generators of Φ as an operator stack.

    Parameters
    ----------
    phi : TransformationSet
    image_shape : tuple of int
    smoothing : float, default=1.0
        Standard deviation of the Gaussian derivative in pixels.

    Returns
    -------
    stack : LinearStack
        With J members, one per generator.
    """
    names = phi._generators()
    if not names:
        raise ValueError(
            f"{phi!r} has no Lie generator: only shifts, rotations, scales and shears have one. "
            "Use method='difference', which takes finite steps of any set."
        )
    shape = int(image_shape[0]), int(image_shape[1])
    return _generator_stack(names, shape, check_number("smoothing", smoothing, 0.1, 1000))


@lru_cache(maxsize=4)  # building them takes as long as applying them to many images
def _generator_stack(names: tuple[str, ...], image_shape: tuple[int, int], smoothing: float) -> LinearStack:
    along_x, along_y = _derivatives(image_shape, smoothing)
    y, x = (sparse.diags_array(coordinate) for coordinate in pixel_grid(image_shape))
    formulas = {
        "shift_x": -along_x,
        "shift_y": -along_y,
        "rotation": x @ along_y - y @ along_x,
        "scale": -(x @ along_x + y @ along_y),
        "stretch": x @ along_x - y @ along_y,
        "shear_x": y @ along_x,
        "shear_y": x @ along_y,
    }
    return LinearStack([formulas[name].tocsr() for name in names], image_shape)


def _derivatives(image_shape, smoothing):
    """Build the Gaussian-smoothed ∂/∂x and ∂/∂y as sparse matrices of shape (h w, h w)."""

    def smoothing_of(size):
        return ndimage.gaussian_filter1d(np.eye(size), smoothing, axis=0, mode="nearest")

    def derivative_of(size):
        # The central difference of the smoothed image: unlike a sampled Gaussian derivative, exact on a ramp.
        return np.gradient(smoothing_of(size), axis=0) if size > 1 else np.zeros((1, 1))

    height, width = image_shape[:2]
    return (
        sparse.csr_array(sparse.kron(smoothing_of(height), derivative_of(width))),
        sparse.csr_array(sparse.kron(derivative_of(height), smoothing_of(width))),
    )
