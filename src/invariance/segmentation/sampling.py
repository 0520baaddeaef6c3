"""Drawing the labelled pixels to learn from, and dividing them into folds for cross-validation."""

from typing import NamedTuple

import numpy as np

# Number of folds, and of random divisions that are tried to find folds that each leave all classes to the rest.
N_FOLDS, MAX_TRIES = 2, 50


class Pixels(NamedTuple):
    """Drawn pixels, sorted by image.

    Attributes
    ----------
    image : ndarray of shape (n,)
        The index of the image of every pixel.
    rows, cols : ndarray of shape (n,)
        The position of every pixel.
    codes : ndarray of shape (n,)
        The index of the class of every pixel.
    """

    image: np.ndarray
    rows: np.ndarray
    cols: np.ndarray
    codes: np.ndarray

    def take(self, chosen: np.ndarray) -> "Pixels":
        """Select pixels by index or by a boolean mask."""
        return Pixels(*(column[chosen] for column in self))

    def by_image(self):
        """Yield (index of an image, indices of its pixels) for every image that has any."""
        starts = np.flatnonzero(np.diff(self.image, prepend=-1))
        for start, stop in zip(starts, [*starts[1:], len(self.image)], strict=True):
            yield int(self.image[start]), np.arange(start, stop)


def count_labels(masks: list[np.ndarray], classes: np.ndarray) -> np.ndarray:
    """Count the pixels of every class in every mask: (n_images, K)."""
    return np.array([[np.count_nonzero(mask == label) for label in classes] for mask in masks])


def draw_pixels(masks, classes, counts: np.ndarray, n_pixels: int, sampling: str, rng) -> Pixels:
    """Draw at most `n_pixels` labelled pixels of all images without replacement, "balanced" or "proportional"."""
    totals = counts.sum(axis=0)
    quotas = _balanced(totals, n_pixels) if sampling == "balanced" else _proportional(totals, n_pixels)
    shares = np.stack([rng.multivariate_hypergeometric(counts[:, k], quota) for k, quota in enumerate(quotas)], axis=1)
    parts = []
    for index, (mask, share) in enumerate(zip(masks, shares, strict=True)):
        for code, (label, n_drawn) in enumerate(zip(classes, share, strict=True)):
            places = rng.choice(np.flatnonzero(mask == label), n_drawn, replace=False) if n_drawn else np.empty(0, int)
            rows, cols = np.divmod(np.sort(places), mask.shape[1])
            parts.append(Pixels(np.full(n_drawn, index), rows, cols, np.full(n_drawn, code)))
    return Pixels(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _proportional(totals, n_pixels):
    """Compute the number of pixels per class in proportion to all, but at least one of every class."""
    if totals.sum() <= n_pixels:
        return totals
    exact = n_pixels * (totals / totals.sum())
    quotas = np.maximum(np.floor(exact).astype(np.int64), 1)
    while quotas.sum() < n_pixels:
        quotas[np.argmax(exact - quotas)] += 1
    while quotas.sum() > max(n_pixels, len(totals)):
        quotas[np.argmax(np.where(quotas > 1, quotas - exact, -np.inf))] -= 1
    return quotas


def _balanced(totals, n_pixels):
    """Compute equal numbers of pixels per class; what a rare class lacks is taken from the other classes."""
    quotas, left = np.zeros(len(totals), np.int64), n_pixels
    for place, k in enumerate(np.argsort(totals, kind="stable")):
        quotas[k] = min(totals[k], left // (len(totals) - place))
        left -= quotas[k]
    return np.maximum(quotas, 1)


def make_folds(groups: np.ndarray, codes: np.ndarray, n_classes: int, rng) -> np.ndarray | None:
    """Assign every pixel to a fold (n,) such that the other folds contain all classes; None if no such folds are found.

    Pixels of one group, see `group_pixels`, share their fold.
    """
    n_groups = int(groups.max()) + 1
    for _ in range(MAX_TRIES):
        fold = (rng.permutation(n_groups) % N_FOLDS)[groups]
        if all(len(np.unique(codes[fold != number])) == n_classes for number in range(N_FOLDS)):
            return fold
    return None
