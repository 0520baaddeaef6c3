"""The responses under a set closed under quarter turns, from a quarter of the products.

Rotations by 0, 90, 180 and 270 degrees only permute the pixels of a patch. The matrix Q of a quarter turn is then
orthogonal with Q⁴ = I, and the members R of the set come in orbits {R, QR, Q²R, Q³R}. Q divides the coordinates z into
those that it fixes, those that it negates, and those that it turns. For a direction d = R a, with the products A, B and
C of these parts of z and d, and D of the turned parts of z and Qd, the responses of the orbit are

    zᵀd = A + B + C,   zᵀQd = A - B + D,   zᵀQ²d = A + B - C,   zᵀQ³d = A - B - D.
"""

from typing import NamedTuple

import numpy as np

# Matrices that agree to this much are the same: they are stored in single precision, and their values are at most 1.
TOLERANCE = 1e-5


class QuarterTurn(NamedTuple):
    """A quarter turn in the coordinates of patches.

    Attributes
    ----------
    matrix : ndarray of shape (r, r)
        The matrix Q.
    basis : ndarray of shape (r, r)
        Orthonormal columns, first those that Q fixes, then those that it negates, then those that it turns.
    n_fixed, n_negated : int
        Numbers of these columns.
    """

    matrix: np.ndarray
    basis: np.ndarray
    n_fixed: int
    n_negated: int

    def parts(self) -> tuple[slice, slice, slice]:
        """Return the places of the fixed, negated and turned coordinates."""
        end = self.n_fixed + self.n_negated
        return slice(self.n_fixed), slice(self.n_fixed, end), slice(end, None)


class OrbitDirections(NamedTuple):
    """The directions d of k filters under the first members of q orbits, in the basis of a quarter turn, float32.

    Attributes
    ----------
    fixed : ndarray of shape (k, q, n_fixed)
    negated : ndarray of shape (k, q, n_negated)
    turned : ndarray of shape (2, k, q, n_turned)
        Of d and of Qd.
    """

    fixed: np.ndarray
    negated: np.ndarray
    turned: np.ndarray

    def multiply(self, coordinates: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Compute the products A and B (k, q, n) and C and D (2, k, q, n) with the coordinates (r, n) of pixels."""
        n_fixed = self.fixed.shape[-1]
        n_even = n_fixed + self.negated.shape[-1]
        return (
            multiply(self.fixed, coordinates[:n_fixed]),
            multiply(self.negated, coordinates[n_fixed:n_even]),
            multiply(self.turned, coordinates[n_even:]),
        )


def multiply(directions: np.ndarray, coordinates: np.ndarray) -> np.ndarray:
    """Multiply directions (..., r) with the coordinates (r, n) of pixels."""
    shape = (*directions.shape[:-1], coordinates.shape[1])
    return (directions.reshape(-1, directions.shape[-1]) @ coordinates).reshape(shape)


def find_quarter_turn(matrices: np.ndarray) -> QuarterTurn | None:
    """Find a quarter turn among matrices (T, r, r) that are closed under it; None if there is none."""
    identity = np.eye(matrices.shape[1])
    for matrix in matrices:
        half = matrix @ matrix
        is_turn = _same(matrix @ matrix.T, identity) and _same(half @ half, identity) and not _same(half, identity)
        if is_turn and _find_orbits(matrix, matrices) is not None:
            fixed = (identity + matrix) @ (identity + half) / 4
            negated = (identity - matrix) @ (identity + half) / 4
            values, vectors = np.linalg.eigh(2 * fixed + negated)
            n_fixed, n_negated = int(np.sum(values > 1.5)), int(np.sum(np.abs(values - 1) < 0.5))
            return QuarterTurn(matrix, vectors[:, ::-1], n_fixed, n_negated)
    return None


def split_directions(turn: QuarterTurn, matrices: np.ndarray, filters: np.ndarray) -> OrbitDirections | None:
    """Compute the directions of filters (k, r) under matrices (T, r, r); None if these are not orbits of the turn."""
    orbits = _find_orbits(turn.matrix, matrices)
    if orbits is None:
        return None
    directions = np.einsum("qrs,ks->kqr", matrices[orbits], filters, optimize=True)
    fixed, negated, turned = turn.parts()
    here = (directions @ turn.basis).astype(np.float32)
    after = (directions @ turn.matrix.T @ turn.basis).astype(np.float32)
    return OrbitDirections(
        np.ascontiguousarray(here[..., fixed]),
        np.ascontiguousarray(here[..., negated]),
        np.stack([here[..., turned], after[..., turned]]),
    )


def _find_orbits(turn: np.ndarray, matrices: np.ndarray) -> np.ndarray | None:
    """Find one member of every orbit (T / 4,); None unless the matrices are orbits of four."""
    flat = matrices.reshape(len(matrices), -1)
    turned = (turn @ matrices).reshape(len(matrices), -1)
    distances = np.square(turned).sum(1)[:, None] + np.square(flat).sum(1) - 2 * turned @ flat.T
    following = distances.argmin(axis=1)
    if not _same(flat[following], turned) or len(np.unique(following)) < len(following):
        return None
    members, orbits = np.arange(len(matrices)), [np.arange(len(matrices))]
    for _ in range(3):
        orbits.append(following[orbits[-1]])
    if not np.array_equal(following[orbits[-1]], members) or np.any(orbits[2] == members):
        return None
    return np.unique(np.min(orbits, axis=0))


def _same(first: np.ndarray, second: np.ndarray) -> bool:
    return bool(np.abs(first - second).max() < TOLERANCE)
