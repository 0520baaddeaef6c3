"""Samples and all their transformations by Φ, in the reduced basis; their responses to filters."""

from typing import NamedTuple

import numpy as np

from invariance.jungles import _jit
from invariance.transformations import ReducedOperators

# Up to this size the transformed samples are kept in memory.
TRANSFORMED_BYTES = 256 * 2**20


class Orbits(NamedTuple):
    """n samples z and T members of Φ, whose responses to a filter a are zᵀ R_t a.

    Attributes
    ----------
    coordinates : tuple of P ndarrays of shape (n, r)
        The samples after each of the P alterations (the non-linear parts of Φ).
    matrices : tuple of P ndarrays of shape (T_p, r, r)
        The matrices R_t of the members that begin with each alteration.
    transformed : ndarray of shape (T, n, r) or None
        zᵀ R_t, kept if there are fewer samples than basis vectors, when it is cheaper than R_t a.
    """

    coordinates: tuple[np.ndarray, ...]
    matrices: tuple[np.ndarray, ...]
    transformed: np.ndarray | None = None

    @classmethod
    def of(cls, reduced: ReducedOperators, images: np.ndarray) -> "Orbits":
        """Compute the orbits of images (n, h, w[, c])."""
        orbits = cls(tuple(reduced.project(images)), tuple(reduced.matrices))
        size = 4 * orbits.n_members * orbits.n_samples * reduced.rank
        if orbits.n_samples >= reduced.rank or size > TRANSFORMED_BYTES:
            return orbits
        parts = zip(orbits.coordinates, orbits.matrices, strict=True)
        return orbits._replace(transformed=np.concatenate([samples @ matrices for samples, matrices in parts]))

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.coordinates[0])

    @property
    def n_members(self) -> int:
        """Number of members of Φ."""
        return sum(map(len, self.matrices))

    def take(self, rows: np.ndarray) -> "Orbits":
        """Select samples by their row numbers."""
        return self._replace(
            coordinates=tuple(part[rows] for part in self.coordinates),
            transformed=None if self.transformed is None else self.transformed[:, rows],
        )

    def restrict(self, members: np.ndarray) -> "Orbits":
        """Select members of Φ by their sorted indices."""
        matrices = restrict_matrices(self.matrices, members)
        if matrices is self.matrices:
            return self
        transformed = None if self.transformed is None else self.transformed[members]
        return self._replace(matrices=matrices, transformed=transformed)

    def responses(self, coordinates: np.ndarray) -> np.ndarray:
        """Compute the responses (T, n) of every sample to one filter (r,), in the samples' precision."""
        coordinates = np.asarray(coordinates, self.coordinates[0].dtype)
        if self.transformed is not None:
            return self.transformed @ coordinates
        parts = [
            (matrices.reshape(-1, len(coordinates)) @ coordinates).reshape(len(matrices), -1) @ samples.T
            for matrices, samples in zip(self.matrices, self.coordinates, strict=True)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def pull_back(self, winners: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Compute Σ_i weights_i R_tᵀ z_i, t the winner of sample i: the gradient of Σ_i weights_i response_i, (r,)."""
        if self.transformed is not None:
            return weights @ self.transformed[winners, np.arange(len(winners))]
        gradient, first_member = np.zeros(self.coordinates[0].shape[1]), 0
        for matrices, samples in zip(self.matrices, self.coordinates, strict=True):
            sums = np.zeros((len(matrices), samples.shape[1]))
            _jit.add_rows_by_winner(samples, winners, first_member, weights, sums)
            # One product with all matrices as stored and in their precision, so that they are not copied.
            gradient += sums.ravel().astype(matrices.dtype) @ matrices.reshape(-1, matrices.shape[2])
            first_member += len(matrices)
        return gradient

    def largest_responses(self, filters: np.ndarray) -> np.ndarray:
        """Compute the largest response over Φ of every sample to every filter: (k, r) -> (n, k) float32."""
        best = np.empty((len(filters), self.n_samples), np.float32)
        winners = np.empty(self.n_samples, np.int64)
        for k, coordinates in enumerate(filters):
            _jit.largest_rows(self.responses(coordinates), best[k], winners)
        return best.T


def restrict_matrices(matrices: tuple[np.ndarray, ...], members: np.ndarray) -> tuple[np.ndarray, ...]:
    """Select the matrices (T_p, r, r) of members of Φ, given by their sorted indices."""
    n_members = sum(map(len, matrices))
    if members[-1] >= n_members:
        raise ValueError(
            f"members of a jungle must be below {n_members}, the number of transformations; got {members[-1]}."
        )
    if len(members) == n_members:
        return matrices
    kept, start = [], 0
    for part in matrices:
        inside = members[(members >= start) & (members < start + len(part))] - start
        kept.append(np.ascontiguousarray(part[inside]))
        start += len(part)
    return tuple(kept)
