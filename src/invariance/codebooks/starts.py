"""Where k-means starts: centres that are spread over the descriptors, by k-means++ in single precision.

scikit-learn's k-means++ computes in double precision, which took four fifths of the time to learn a codebook.
"""

import numpy as np

# Rows per word that a start is found among, at least; a batch if it is larger. On dense SIFT of flowers, three times as
# many gave words no nearer to the descriptors.
ROWS_PER_WORD = 3


def best_start(X: np.ndarray, n_words: int, n_starts: int, batch_size: int, rng: np.random.Generator) -> np.ndarray:
    """Of several spread starts the one that is nearest to the descriptors.

    Parameters
    ----------
    X : ndarray of shape (n, d), float32
    n_words, n_starts, batch_size : int
    rng : Generator

    Returns
    -------
    ndarray of shape (n_words, d), float32
    """
    n_rows = min(len(X), max(batch_size, ROWS_PER_WORD * n_words))
    origin = X.mean(axis=0)  # differences of squares are exact where the squares are small
    compared = _draw(X, n_rows, rng) - origin
    best, least = np.empty((0, X.shape[1]), np.float32), np.inf
    for _ in range(n_starts):
        start = spread_centres(_draw(X, n_rows, rng) - origin, n_words, rng)
        away = _squared_distances(start, compared).min(axis=0).sum(dtype=np.float64)
        if away < least:
            best, least = start, away
    return best + origin


def spread_centres(X: np.ndarray, n_centres: int, rng: np.random.Generator) -> np.ndarray:
    """k-means++: each centre is the best of some rows drawn by their squared distances from the centres before.

    Parameters
    ----------
    X : ndarray of shape (n, d), float32
    n_centres : int
        At most n.
    rng : Generator

    Returns
    -------
    ndarray of shape (n_centres, d), float32
        Rows of X.
    """
    n_trials = 2 + int(np.log(n_centres))  # as in scikit-learn
    squares = np.einsum("nd,nd->n", X, X)
    chosen = [int(rng.integers(len(X)))]
    nearest = _squared_distances(X[chosen], X, squares)[0]
    while len(chosen) < n_centres:
        sums = np.cumsum(nearest, dtype=np.float64)
        drawn = np.searchsorted(sums, rng.random(n_trials) * sums[-1], side="right").clip(max=len(X) - 1)
        distances = np.minimum(_squared_distances(X[drawn], X, squares), nearest)
        best = int(distances.sum(axis=1, dtype=np.float64).argmin())
        chosen.append(int(drawn[best]))
        nearest = distances[best]
    return X[chosen]


def _squared_distances(centres: np.ndarray, X: np.ndarray, squares: np.ndarray | None = None) -> np.ndarray:
    """Squared distances (k, n) of rows (n, d) from centres (k, d), given the squares (n,) of the rows or not."""
    squares = np.einsum("nd,nd->n", X, X) if squares is None else squares
    distances = centres @ X.T
    distances *= -2
    distances += squares
    distances += np.einsum("kd,kd->k", centres, centres)[:, None]
    return np.maximum(distances, 0, out=distances)


def _draw(X: np.ndarray, n_rows: int, rng: np.random.Generator) -> np.ndarray:
    return X[rng.choice(len(X), n_rows, replace=False)]
