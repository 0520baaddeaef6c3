"""Patches that see far: the surroundings of a pixel at several scales, one scale a channel."""

import numpy as np
from numpy.typing import ArrayLike
from scipy import ndimage

from invariance._core.checks import check_count, check_odd


def pyramid_patches(image: np.ndarray, rows: ArrayLike, cols: ArrayLike, size: int, n_scales: int = 3) -> np.ndarray:
    """Patches (n, size, size, n_scales c) of an image (h, w) or (h, w, c), centred on n pixels.

    The c channels of scale k take every 2^k-th pixel of the image blurred by a Gaussian of width 2^k / 2, so that they
    cover 2^k (size - 1) + 1 pixels; those of the first scale are the plain patch. Borders are mirrored as in
    `patches_at`. All channels turn about the same pixel, so that a rotation of the patch is one of the image.
    """
    half = check_odd("size", size, "a pixel is in the middle of its patch") // 2
    rows, cols = np.asarray(rows), np.asarray(cols)
    image = np.asarray(image, np.float32)
    if image.ndim not in (2, 3):
        raise ValueError(f"pyramid_patches takes an image (h, w) or (h, w, c); got an array of shape {image.shape}.")
    planes = image.reshape(*image.shape[:2], -1)
    n_channels = planes.shape[2]
    n_scales = check_count("n_scales", n_scales, at_most=8)
    patches = np.empty((len(rows), size, size, n_scales * n_channels), np.float32)
    for scale in range(n_scales):
        step = 2**scale
        blurred = ndimage.gaussian_filter(planes, (step / 2, step / 2, 0), mode="mirror") if scale else planes
        margins = ((half * step, half * step), (half * step, half * step), (0, 0))
        padded = np.pad(blurred, margins, mode="reflect" if min(image.shape[:2]) > 1 else "edge")
        offsets = np.arange(size) * step
        patches[..., scale * n_channels : (scale + 1) * n_channels] = padded[
            (rows[:, None] + offsets)[:, :, None], (cols[:, None] + offsets)[:, None, :]
        ]
    return patches
