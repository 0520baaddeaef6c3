"""Samples under Φ in the reduced basis: what filters are learned from and what routes samples."""

from typing import NamedTuple

import numpy as np

from invariance.jungles import _jit
from invariance.transformations import ReducedOperators


class Orbits(NamedTuple):
    """coordinates: the samples (n, r) after each of the P alterations; matrices: R_t (T_p, r, r) of what follows each."""

    coordinates: tuple[np.ndarray, ...]
    matrices: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, reduced: ReducedOperators, images: np.ndarray) -> "Orbits":
        """The orbits of images (n, h, w[, c])."""
        return cls(tuple(reduced.project(images)), tuple(reduced.matrices))

    @property
    def n_samples(self) -> int:
        """How many samples there are."""
        return len(self.coordinates[0])

    @property
    def n_members(self) -> int:
        """How many members Φ has."""
        return sum(map(len, self.matrices))

    def take(self, rows: np.ndarray) -> "Orbits":
        """Some of the samples."""
        return self._replace(coordinates=tuple(part[rows] for part in self.coordinates))

    def restrict(self, members: np.ndarray) -> "Orbits":
        """Some of the members of Φ, by their sorted indices."""
        if members[-1] >= self.n_members:
            raise ValueError(f"there are {self.n_members} transformations, but a jungle asks for number {members[-1]}.")
        kept, start = [], 0
        for matrices in self.matrices:
            inside = members[(members >= start) & (members < start + len(matrices))] - start
            kept.append(np.ascontiguousarray(matrices[inside]))
            start += len(matrices)
        return self._replace(matrices=tuple(kept))

    def largest_responses(self, filters: np.ndarray) -> np.ndarray:
        """Largest response over Φ of every sample to every filter: (k, r) -> (n, k) float32."""
        best = np.empty((len(filters), self.n_samples), np.float32)
        winners = np.empty(self.n_samples, np.int64)
        for k, coordinates in enumerate(filters):
            _jit.largest_rows(self.responses(coordinates), best[k], winners)
        return best.T

    def extreme_responses(self, filters: np.ndarray) -> np.ndarray:
        """Largest, then smallest responses over Φ of every sample to every filter: (k, r) -> (n, 2k) float32."""
        # In double precision: otherwise the last digits of a response would depend on the sample's place in its block.
        orbits = Orbits(*(tuple(part.astype(np.float64) for part in parts) for parts in self))
        extremes = np.empty((2, len(filters), self.n_samples), np.float32)
        for k, coordinates in enumerate(filters):
            responses = orbits.responses(coordinates)
            extremes[0, k], extremes[1, k] = responses.max(axis=0), responses.min(axis=0)
        return extremes.reshape(-1, self.n_samples).T

    def transformed(self) -> np.ndarray:
        """z_iᵀ R_t for every member and sample: (T, n, r), so that their product with a filter is the response."""
        parts = [samples @ matrices for matrices, samples in zip(self.matrices, self.coordinates, strict=True)]
        return np.concatenate(parts)

    def responses(self, coordinates: np.ndarray) -> np.ndarray:
        """Response of every sample to one filter (r,) under every member: (T, n), in the samples' precision."""
        coordinates = np.asarray(coordinates, self.coordinates[0].dtype)
        parts = [
            (matrices @ coordinates) @ samples.T
            for matrices, samples in zip(self.matrices, self.coordinates, strict=True)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)
