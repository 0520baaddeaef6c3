"""Square patches centred on pixels: some of them, or all of them in blocks of bounded memory."""

from collections.abc import Iterator

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike

from invariance._core.checks import check_count, check_odd

MEGABYTE = 2**20


def patches_at(
    image: np.ndarray, rows: ArrayLike, cols: ArrayLike, size: int, out: np.ndarray | None = None
) -> np.ndarray:
    """Patches (n, size, size) or (n, size, size, c) of an image (h, w) or (h, w, c), centred on n pixels.

    Beyond the border the image is mirrored about its outermost pixels (numpy's "reflect"); where a patch is larger than
    the image it is mirrored again and again, and an axis of one pixel repeats that pixel. The dtype is the image's.
    `out`, for example a slice of a larger training set, is filled and returned.
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


def window_blocks(
    image: np.ndarray, size: int, max_bytes: int = 64 * MEGABYTE
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """The patches of every pixel, each once, in row-major order, as blocks (rows, cols, patches).

    Patches are those of `patches_at`. A block holds as many as fit in `max_bytes`, and at least one; the only other
    memory is one copy of the image with its mirrored border.
    """
    windows = _windows(image, size)
    height, width = windows.shape[:2]
    patch_bytes = windows.itemsize * int(np.prod(windows.shape[2:]))
    n_block = max(1, check_count("max_bytes", max_bytes) // patch_bytes)

    def blocks():
        for start in range(0, height * width, n_block):
            rows, cols = np.divmod(np.arange(start, min(start + n_block, height * width)), width)
            yield rows, cols, np.ascontiguousarray(windows[rows, cols])

    return blocks()  # a nested generator, so that bad parameters raise at the call and not at the first block


def _windows(image: np.ndarray, size: int) -> np.ndarray:
    """A view (h, w, size, size[, c]) of the mirrored image: the patch of every pixel, none of them copied."""
    image = np.asarray(image)
    half = check_odd("size", size, "a pixel is in the middle of its patch") // 2
    if image.ndim not in (2, 3) or image.size == 0:
        raise ValueError(f"image must be (h, w) or (h, w, c) with at least one pixel; got shape {image.shape}.")
    mirrored = np.pad(image, [(half, half)] * 2 + [(0, 0)] * (image.ndim - 2), mode="reflect")
    windows = sliding_window_view(mirrored, (size, size), axis=(0, 1))
    return windows if image.ndim == 2 else np.moveaxis(windows, 2, -1)


def _check_pixels(name: str, indices: ArrayLike, length: int) -> np.ndarray:
    indices = np.asarray(indices)
    if indices.size == 0:
        indices = indices.astype(np.intp)
    if indices.ndim != 1 or indices.dtype.kind not in "iu":
        raise ValueError(f"{name} must be a 1-D array of integers; got {indices.ndim}-D {indices.dtype}.")
    if indices.size and (indices.min() < 0 or indices.max() >= length):
        outside = indices[(indices < 0) | (indices >= length)][0]
        raise ValueError(f"{name} must lie in 0..{length - 1}, inside the image; got {outside}.")
    return indices
