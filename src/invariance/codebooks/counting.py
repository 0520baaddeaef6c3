"""Words counted in the whole image and in the cells of a spatial pyramid, and how the counts are normalised."""

import numpy as np

from invariance.descriptors.protocol import window_centres


def count_columns(n_words: int, levels: int) -> int:
    """Number of columns of a bag: one per word and cell of every level."""
    return n_words * sum(4**level for level in range(levels))


def count_words(
    words: np.ndarray, places: np.ndarray, shape: tuple[int, ...], n_words: int, levels: int = 1
) -> np.ndarray:
    """Count words in the cells of every level of a spatial pyramid.

    Parameters
    ----------
    words : ndarray of shape (n, t), int
        The words of every vector, one per tree of a forest.
    places : ndarray of shape (n, 3) or (n, 2)
        Windows, or rows and columns; only read for more than one level.
    shape : tuple of int
        The shape (h, w, ...) of the image.
    n_words : int
        Number of words of the codebook.
    levels : int, default=1
        Level l divides the image into 2^l x 2^l cells.

    Returns
    -------
    ndarray of shape (n_words * (1 + 4 + 16 + ...),), int
        Level by level, cell by cell.
    """
    counts = [np.bincount(words.ravel(), minlength=n_words)]
    if levels > 1:
        relative = (window_centres(places) if places.shape[1] == 3 else np.asarray(places)) / shape[:2]
    for level in range(1, levels):
        n_sides = 2**level
        rows, columns = np.clip((relative * n_sides).astype(int), 0, n_sides - 1).T
        cells = rows * n_sides + columns
        counts.append(np.bincount((cells[:, None] * n_words + words).ravel(), minlength=n_sides**2 * n_words))
    return np.concatenate(counts)


def level_shares(counts: np.ndarray, n_words: int, levels: int = 1) -> np.ndarray:
    """The share of every word and cell, float32 of the shape of the counts; rows sum to 1.

    The share of level l in the sum is 2^(l - levels), that of level 0 is 2^(1 - levels), so that the intersection of
    two pyramids counts each match once, at the finest level that it is found at. Where there is nothing to count all
    shares of a level are equal.
    """
    shares = np.empty(counts.shape, np.float32)
    start = 0
    for level in range(levels):
        columns = slice(start, start + 4**level * n_words)
        totals = counts[:, columns].sum(axis=1, keepdims=True)
        of_level = counts[:, columns] / np.maximum(totals, 1)
        of_level[totals[:, 0] == 0] = 1 / (4**level * n_words)
        shares[:, columns] = 2.0 ** (max(level, 1) - levels) * of_level
        start = columns.stop
    return shares


def informative_thresholds(counts: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """For every column of counts (n, d) the count above which it tells most about the class codes (n,): (d,)."""
    return np.array([_informative_threshold(column, codes) for column in counts.T], np.float32)


def _informative_threshold(column: np.ndarray, codes: np.ndarray) -> float:
    """The threshold of one column that leaves the least entropy of the classes."""
    order = np.argsort(column, kind="stable")
    ordered = column[order]
    one_hot = np.eye(codes.max() + 1)[codes[order]]
    below = np.cumsum(one_hot, axis=0)[:-1]
    above = one_hot.sum(axis=0) - below
    possible = ordered[1:] > ordered[:-1]
    if not possible.any():
        return float(ordered[-1])
    rest = np.where(possible, _weighted_entropy(below) + _weighted_entropy(above), np.inf)
    best = int(np.argmin(rest))
    return float(0.5 * (ordered[best] + ordered[best + 1]))


def _weighted_entropy(counts: np.ndarray) -> np.ndarray:
    """Weight times entropy of each row of class counts."""
    totals = counts.sum(axis=1, keepdims=True)
    return -np.sum(counts * np.log(np.maximum(counts, 1) / np.maximum(totals, 1)), axis=1)
