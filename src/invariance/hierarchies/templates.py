"""Templates: patches drawn from the training images, uniformly or by given measures, [Wibisono10] sec. 2.1."""

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
    """Draw patches (n_templates, height, width, c) of images (n, h, w, c) with replacement.

    `image_shares` (n,) are the probabilities of the images. The probability of a position is proportional to the
    `attention` (h, w) or (n, h, w) summed over the pixels of its patch. Without them all are equally likely.
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


def draw_images(
    images: np.ndarray, at_most: int, rng: np.random.Generator, image_shares: np.ndarray | None = None
) -> np.ndarray:
    """Draw whole images, none twice, with the probabilities (n,) by which templates are drawn."""
    n_possible = len(images) if image_shares is None else np.count_nonzero(image_shares)
    return images[rng.choice(len(images), min(at_most, n_possible), replace=False, p=image_shares)]


def check_shares(name: str, weights: Any, n: int) -> np.ndarray | None:
    """Return weights (n,) divided by their sum."""
    if weights is None:
        return None
    weights = np.asarray(weights, np.float64)
    if weights.shape != (n,) or not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() == 0:
        raise ValueError(f"{name} must be ({n},) numbers that are not negative, nor all zero; got {weights.shape}.")
    return weights / weights.sum()


def check_attention(attention: Any, images_shape: tuple[int, ...]) -> np.ndarray | None:
    """Return attention (h, w) or (n, h, w) if it is nowhere negative and somewhere positive in every image."""
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
    """Draw a position for every chosen image by the attention over its patch: flat indices."""
    if attention.ndim == 2:
        shares = _patch_shares(attention, size)
        return rng.choice(len(shares), len(chosen), p=shares)
    places = np.empty(len(chosen), np.int64)
    for image in np.unique(chosen):
        shares = _patch_shares(attention[image], size)
        places[chosen == image] = rng.choice(len(shares), np.count_nonzero(chosen == image), p=shares)
    return places


def _patch_shares(attention: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Probability of each position (flat): the attention summed over its patch."""
    height, width = size
    sums = np.pad(attention, ((1, 0), (1, 0))).cumsum(axis=0).cumsum(axis=1)
    over = sums[height:, width:] - sums[:-height, width:] - sums[height:, :-width] + sums[:-height, :-width]
    over = np.maximum(over, 0).ravel()
    return over / over.sum()
