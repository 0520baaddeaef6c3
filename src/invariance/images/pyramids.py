"""Patches that see far: the surroundings of a pixel at several scales, one scale a channel."""

import numpy as np
from numpy.typing import ArrayLike
from scipy import ndimage

from invariance._core.checks import check_count, check_odd


def pyramid_patches(image: np.ndarray, rows: ArrayLike, cols: ArrayLike, size: int, n_scales: int = 3) -> np.ndarray:
    """Patches (n, size, size, n_scales) of a grey image (h, w), centred on n pixels.

    Channel k takes every 2^k-th pixel of the image blurred by a Gaussian of width 2^k / 2, so that it covers
    2^k (size - 1) + 1 pixels; the first channel is the plain patch. Borders are mirrored as in `patches_at`. All
    channels turn about the same pixel, so that a rotation of the patch is one of the picture.
    """
    half = check_odd("size", size, "a pixel is in the middle of its patch") // 2
    rows, cols = np.asarray(rows), np.asarray(cols)
    image = np.asarray(image, np.float32)
    if image.ndim != 2:
        raise ValueError(f"pyramid_patches takes a grey image (h, w); got an array of shape {image.shape}.")
    patches = np.empty((len(rows), size, size, check_count("n_scales", n_scales, at_most=8)), np.float32)
    for scale in range(n_scales):
        step = 2**scale
        blurred = ndimage.gaussian_filter(image, step / 2, mode="mirror") if scale else image
        padded = np.pad(blurred, half * step, mode="reflect" if min(image.shape) > 1 else "edge")
        offsets = np.arange(size) * step
        patches[..., scale] = padded[(rows[:, None] + offsets)[:, :, None], (cols[:, None] + offsets)[:, None, :]]
    return patches
