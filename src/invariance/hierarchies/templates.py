"""Templates: patches drawn from the training images, by chance or by where attention lies, [Wibisono10] sec. 2.1."""

from typing import Any

import numpy as np


def draw_templates(
    images: np.ndarray,
    size: tuple[int, int],
    n_templates: int,
    rng: np.random.Generator,
    image_shares: np.ndarray | None = None,
    attention: np.ndarray | None = None,
) -> np.ndarray:
    """Patches (n_templates, *size, c) of images (n, h, w, c), drawn with replacement.

    `image_shares` (n,) says how likely each image is, `attention` (h, w) or (n, h, w) how likely a position within one:
    that of a patch is the attention summed over its pixels. Without them all are equally likely.
    """
    height, width = size
    rows, cols = images.shape[1] - height + 1, images.shape[2] - width + 1
    chosen = rng.choice(len(images), n_templates, p=image_shares)
    if attention is None:
        places = rng.integers(rows * cols, size=n_templates)
    else:
        places = _attended_places(attention, chosen, (height, width), rng)
    tops, lefts = np.divmod(places, cols)
    i = tops[:, None, None] + np.arange(height)[:, None]
    j = lefts[:, None, None] + np.arange(width)
    return images[chosen[:, None, None], i, j]


def check_shares(name: str, weights: Any, n: int) -> np.ndarray | None:
    """Weights (n,) as shares that sum to 1."""
    if weights is None:
        return None
    weights = np.asarray(weights, np.float64)
    if weights.shape != (n,) or not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() == 0:
        raise ValueError(f"{name} must be ({n},) numbers that are not negative, nor all zero; got {weights.shape}.")
    return weights / weights.sum()


def check_attention(attention: Any, images_shape: tuple[int, ...]) -> np.ndarray | None:
    """Attention (h, w) or (n, h, w) that is nowhere negative and, in every image, somewhere positive."""
    if attention is None:
        return None
    attention = np.asarray(attention, np.float64)
    if attention.shape not in (images_shape[1:3], images_shape[:3]):
        raise ValueError(
            f"attention must be {images_shape[1:3]}, one for all images, or {images_shape[:3]}; got {attention.shape}."
        )
    if not np.isfinite(attention).all() or (attention < 0).any() or not attention.any(axis=(-2, -1)).all():
        raise ValueError("attention must be finite, nowhere negative, and positive somewhere in every image.")
    return attention


def _attended_places(attention, chosen, size, rng) -> np.ndarray:
    """For every chosen image the number of a position, drawn by the attention over its patch."""
    if attention.ndim == 2:
        shares = _patch_shares(attention, size)
        return rng.choice(len(shares), len(chosen), p=shares)
    places = np.empty(len(chosen), np.int64)
    for image in np.unique(chosen):
        shares = _patch_shares(attention[image], size)
        places[chosen == image] = rng.choice(len(shares), np.count_nonzero(chosen == image), p=shares)
    return places


def _patch_shares(attention: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """The share of each position (flat) in the attention summed over its patch."""
    height, width = size
    sums = np.pad(attention, ((1, 0), (1, 0))).cumsum(axis=0).cumsum(axis=1)
    over = sums[height:, width:] - sums[:-height, width:] - sums[height:, :-width] + sums[:-height, :-width]
    over = np.maximum(over, 0).ravel()
    return over / over.sum()
