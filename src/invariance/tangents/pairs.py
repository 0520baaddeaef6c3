"""All pairs of two sets of images, in blocks of bounded memory, on several threads."""

from collections.abc import Callable
from functools import partial

import numpy as np

from invariance._core.parallel import iterate_jobs
from invariance.tangents.frames import Points

BLOCK_BYTES = 32 * 2**20


def for_all_pairs(
    compute: Callable[[Points, Points], np.ndarray],
    X: Points,
    Y: Points,
    bytes_a_pair: int,
    n_jobs: int | None = None,
    label: str | None = None,
) -> np.ndarray:
    """What `compute` gives for all parts of X and Y: (n, m) float64. `BLOCK_BYTES` say how many pairs a part holds."""
    side = max(1, int(np.sqrt(BLOCK_BYTES / max(bytes_a_pair, 1))))
    out = np.empty((len(X), len(Y)))
    corners = [(i, j) for i in range(0, len(X), side) for j in range(0, len(Y), side)]
    for (i, j), block in zip(
        corners, iterate_jobs(partial(_compute_block, compute, X, Y, side), corners, n_jobs, label), strict=True
    ):
        out[i : i + side, j : j + side] = block
    return out


def _compute_block(compute, X: Points, Y: Points, side: int, corner: tuple[int, int]) -> np.ndarray:
    i, j = corner
    return compute(X.part(i, i + side), Y.part(j, j + side))


def squared_distances(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Squared Euclidean distances (n, m) of rows, never negative."""
    squares = np.einsum("id,id->i", X, X)[:, None] + np.einsum("jd,jd->j", Y, Y)
    return np.maximum(squares - 2 * X @ Y.T, 0)


def coordinates_of_differences(X: np.ndarray, Y: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """<x_i - y_j, v_jk> for rows X (n, d), Y (m, d) and the vectors (m, J, d) at Y: (n, m, J)."""
    m, J, d = vectors.shape
    along = (X @ vectors.reshape(m * J, d).T).reshape(len(X), m, J)
    along -= np.einsum("jd,jkd->jk", Y, vectors)
    return along
