"""Square patches centred on pixels, at one scale or at several."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike
from scipy import ndimage

from invariance._core.checks import check_count, check_odd

# The coarsest scale takes every 128th pixel: more scales would see nothing of an image.
MAX_SCALES = 8


def patches_at(
    image: np.ndarray, rows: ArrayLike, cols: ArrayLike, size: int, out: np.ndarray | None = None
) -> np.ndarray:
    """Cut square patches centred on pixels.

    Beyond the border the image is mirrored about its outermost pixels (the mode "reflect" of numpy), repeatedly if a
    patch is larger than the image; an axis of one pixel repeats that pixel.

    Parameters
    ----------
    image : ndarray of shape (h, w) or (h, w, c)
    rows, cols : array-like of shape (n,)
        The pixels.
    size : int
        Side of the patches, odd.
    out : ndarray, default=None
        Array to fill, for example a slice of a larger training set.

    Returns
    -------
    patches : ndarray of shape (n, size, size) or (n, size, size, c)
        Of the dtype of the image; `out` if it is given.
    """
    windows = _windows(image, size)
    rows, cols = _check_pixels("rows", rows, windows.shape[0]), _check_pixels("cols", cols, windows.shape[1])
    if len(rows) != len(cols):
        raise ValueError(f"rows and cols must be equally long; got {len(rows)} and {len(cols)}.")
    if out is None:
        return np.ascontiguousarray(windows[rows, cols])
    if out.shape != (len(rows), *windows.shape[2:]):
        raise ValueError(f"out must have the shape {(len(rows), *windows.shape[2:])} of the patches; got {out.shape}.")
    out[...] = windows[rows, cols]
    return out


def pyramid_patches(image: np.ndarray, rows: ArrayLike, cols: ArrayLike, size: int, n_scales: int = 3) -> np.ndarray:
    """Cut patches that see far: the surroundings of pixels at several scales, one scale per channel.

    Scale k takes every 2^k-th pixel of the image blurred by a Gaussian of width 2^k / 2, so that it covers
    2^k (size - 1) + 1 pixels; the first scale is the plain patch. Borders are mirrored as in `patches_at`. All channels
    turn about the same pixel, so that a rotation of the patch is a rotation of the image.

    Parameters
    ----------
    image : ndarray of shape (h, w) or (h, w, c)
    rows, cols : array-like of shape (n,)
        The pixels.
    size : int
        Side of the patches, odd.
    n_scales : int, default=3
        The number of scales, at most 8.

    Returns
    -------
    patches : ndarray of shape (n, size, size, n_scales c), float32
    """
    half = check_odd("size", size, "a pixel is in the middle of its patch") // 2
    rows, cols = np.asarray(rows), np.asarray(cols)
    image = np.asarray(image, np.float32)
    if image.ndim not in (2, 3):
        raise ValueError(f"pyramid_patches takes an image (h, w) or (h, w, c); got an array of shape {image.shape}.")
    planes = image.reshape(*image.shape[:2], -1)
    n_channels = planes.shape[2]
    n_scales = check_count("n_scales", n_scales, at_most=MAX_SCALES)
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


def _windows(image: np.ndarray, size: int) -> np.ndarray:
    """View the mirrored image as the patches (h, w, size, size[, c]) of all pixels, without copying any."""
    image = np.asarray(image)
    half = check_odd("size", size, "a pixel is in the middle of its patch") // 2
    if image.ndim not in (2, 3) or image.size == 0:
        raise ValueError(f"image must be (h, w) or (h, w, c) with at least one pixel; got shape {image.shape}.")
    mirrored = np.pad(image, [(half, half)] * 2 + [(0, 0)] * (image.ndim - 2), mode="reflect")
    windows = sliding_window_view(mirrored, (size, size), axis=(0, 1))
    return windows if image.ndim == 2 else np.moveaxis(windows, 2, -1)


def _check_pixels(name: str, indices: ArrayLike, length: int) -> np.ndarray:
    """Return indices as an array, or raise an error if one lies outside the image."""
    indices = np.asarray(indices)
    if indices.size == 0:
        indices = indices.astype(np.intp)
    if indices.ndim != 1 or indices.dtype.kind not in "iu":
        raise ValueError(f"{name} must be a 1-D array of integers; got {indices.ndim}-D {indices.dtype}.")
    if indices.size and (indices.min() < 0 or indices.max() >= length):
        outside = indices[(indices < 0) | (indices >= length)][0]
        raise ValueError(f"{name} must lie in 0..{length - 1}, inside the image; got {outside}.")
    return indices
