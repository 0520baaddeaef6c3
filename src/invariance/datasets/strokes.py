"""Strokes of a brush on an image whose true mask is known, as a person would draw them."""

from collections.abc import Iterator

import numpy as np
from scipy.ndimage import distance_transform_edt

CLEARING = 40  # pixels around a stroke in which no other begins
N_STEPS = 30  # pixels that a stroke follows a line
N_WALKS = 20  # of which the longest is taken


def draw_strokes(
    mask: np.ndarray, n_pairs: int, brush_radius: float, rng: np.random.Generator
) -> Iterator[tuple[bool, np.ndarray]]:
    """Draw lines across the background, and along the middle of the foreground, in turn.

    Parameters
    ----------
    mask : ndarray of shape (h, w), bool
        True on the foreground, such as membranes.
    n_pairs : int
        Number of strokes of each class.
    brush_radius : float
        Pixels; strokes across the background end before the brush reaches the foreground.
    rng : Generator

    Yields
    ------
    is_foreground : bool
    points : ndarray of shape (n, 2)
        Rows and columns that the brush passes.
    """
    from skimage.morphology import skeletonize

    depth, middle = distance_transform_edt(~mask), skeletonize(mask)
    depth[[0, -1]] = depth[:, [0, -1]] = 0
    taken = np.zeros(mask.shape, bool)
    for _ in range(n_pairs):
        place = np.argmax(np.where(taken, 0, depth * rng.uniform(0.5, 1, mask.shape)))
        row, col = map(int, np.unravel_index(place, mask.shape))
        angle, reach = rng.uniform(0, np.pi), max(1.0, depth[row, col] - 2 * brush_radius)
        end = reach * np.array([np.sin(angle), np.cos(angle)])
        yield False, np.array([row, col]) + np.outer((-1, 0, 1), end)
        _take(taken, row, col)
        path = _walk_along(middle & ~taken, rng)
        yield True, path
        _take(taken, *path[len(path) // 2].astype(int))


def _walk_along(line: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Walk along a line of pixels from a random one of them; the longest of some walks."""
    rows, cols = np.nonzero(line)
    walks = []
    for start in rng.choice(len(rows), N_WALKS, replace=False):
        left = line.copy()
        walk = [(int(rows[start]), int(cols[start]))]
        while len(walk) < N_STEPS:
            row, col = walk[-1]
            left[row, col] = False
            around = [
                (r, c)
                for r in range(max(0, row - 1), min(len(left), row + 2))
                for c in range(max(0, col - 1), min(left.shape[1], col + 2))
                if left[r, c]
            ]
            if not around:
                break
            walk.append(around[0])
        walks.append(walk)
    return np.array(max(walks, key=len), float)


def _take(taken: np.ndarray, row: int, col: int) -> None:
    taken[max(0, row - CLEARING) : row + CLEARING, max(0, col - CLEARING) : col + CLEARING] = True
