"""Filters under all members of Φ, computed once: what a single image is compared with, again and again."""

from collections.abc import Sequence

import numpy as np

# Up to this size the filters under all members are kept for further predictions.
MAX_KEPT_BYTES = 256 * 2**20


def move_filters(matrices: Sequence[np.ndarray], filters: np.ndarray) -> tuple[np.ndarray, ...]:
    """Compute R_t a for all matrices (T_p, r, r) and filters a (k, r): P arrays (k, T_p, r) float64.

    They do not depend on samples, whose responses are then zᵀ (R_t a).
    """
    n_filters, rank = filters.shape
    moved = []
    for part in matrices:
        # In double precision, so that the last digits do not depend on the position of a sample in its block.
        stacked = part.astype(np.float64).reshape(-1, rank)
        products = [stacked @ coordinates for coordinates in filters.astype(np.float64)]
        moved.append(np.reshape(products, (n_filters, len(part), rank)))
    return tuple(moved)


def extremes_over_members(coordinates: Sequence[np.ndarray], moved: Sequence[np.ndarray]) -> np.ndarray:
    """Compute the largest and the smallest responses over Φ of every sample to every filter.

    Parameters
    ----------
    coordinates : sequence of P ndarrays of shape (n, r)
        The samples after each alteration.
    moved : sequence of P ndarrays of shape (k, T_p, r), float64
        The filters, see `move_filters`.

    Returns
    -------
    extremes : ndarray of shape (2, k, n), float32
    """
    columns = [samples.astype(np.float64).T for samples in coordinates]
    n_filters, n_samples = len(moved[0]), columns[0].shape[1]
    extremes = np.empty((2, n_filters, n_samples), np.float32)
    for k in range(n_filters):
        responses = np.concatenate([part[k] @ samples for part, samples in zip(moved, columns, strict=True)])
        extremes[0, k], extremes[1, k] = responses.max(axis=0), responses.min(axis=0)
    return extremes
