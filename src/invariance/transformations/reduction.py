"""A reduced basis for Φ: the few directions in which the transformed patches of one kind of image vary.

B holds the leading eigenvectors of M = mean over φ and x of φ(x) φ(x)ᵀ (not centred, so that the mean image is kept).
A patch becomes z = Bᵀx, a filter θ = Ba, and the response <φ_t x, θ> becomes zᵀ R_t a with R_t = Bᵀ S_tᵀ B of rank
r << d. M is S_t (Σ x xᵀ) S_tᵀ summed over t, so no image is ever transformed to find it.
"""

from dataclasses import dataclass
from numbers import Real

import numpy as np
from scipy import linalg, ndimage, sparse

from invariance._core import loaded
from invariance._core.checks import check_count, check_number
from invariance.transformations.operators import alter, list_alterations
from invariance.transformations.sets import TransformationSet, split_normalizing

# Up to this many values per image, the exact eigenvectors of M take a few seconds. Beyond, or if the block is at most
# this share of them, M is never formed: randomised subspace iteration multiplies it with a block of columns.
EXACT_LIMIT, ITERATED_SHARE = 2000, 0.05
# The iteration uses at most this many images, several times the largest rank in use, which is a few hundred.
N_APPROXIMATE = 2000
# Columns of the block beyond the rank, and multiplications with M. Usual are 5 to 10 columns and 1 or 2 steps; a little
# more costs little, and the share of energy then agrees with the exact one to 0.1 % (tests/transformations).
OVERSAMPLING = 20
POWER_STEPS = 3
# Members of Φ that differ by less than this, relative to an image, are the same up to rounding in single precision.
SAME_MEMBER = 1e-5
# Images from which the trace of M is estimated, which only serves to state the share of energy that is kept.
N_TRACED = 256
# Images that are projected at once: 2048 images of 64 x 64 pixels in double precision take 64 MB.
N_PROJECTED = 2048
# The largest rank that a share of the energy can choose; larger ranks must be asked for by number.
MAX_CHOSEN_RANK = 512
# Eigenvalues that differ by less than this share belong to one eigenspace of a group. At most this many directions are
# given up in order not to cut through an eigenspace: enough for the groups in use, whose eigenspaces are small.
SAME_EIGENVALUE = 1e-3
MAX_TRIMMED = 8
# Smooth noise that completes the basis of few images: the largest number of noise images, their Gaussian width in
# pixels (the smallest detail of a filter), and their standard deviation as a share of that of the images, small so that
# noise decides only where the images say nothing.
N_NOISE = 512
NOISE_WIDTH = 1.5
NOISE_SHARE = 0.01


@dataclass(frozen=True)
class ReducedOperators:
    """Φ restricted to r directions; holds only what a saved model needs, no operators.

    Attributes
    ----------
    phi : TransformationSet
    image_shape : tuple of int
        Shape (h, w) or (h, w, c) of the images.
    basis : ndarray of shape (d, r), float32
        Orthonormal columns, d values per image.
    matrices : list of P ndarrays of shape (T_p, r, r), float32
        For each alteration the matrices R_t of the members that follow it.
    energy : float
        The share of the trace of M that the basis keeps.
    """

    phi: TransformationSet
    image_shape: tuple[int, ...]
    basis: np.ndarray
    matrices: list[np.ndarray]
    energy: float

    @property
    def rank(self) -> int:
        """The number of directions."""
        return self.basis.shape[1]

    @property
    def linear(self) -> bool:
        """Whether images are neither normalized nor altered by a member, so that z = Bᵀx is all that responses need."""
        return split_normalizing(self.phi)[0] is None and list_alterations(self.phi.members(self.image_shape)) == [()]

    def check_loaded(self) -> None:
        """Raise ValueError if the arrays, read from a file, are not those of this set and these images."""
        loaded.check_values(self, phi=loaded.instance(TransformationSet), image_shape=loaded.image_shape())
        n_values = int(np.prod(self.image_shape))
        # Directions have length 1, and members change it by little.
        loaded.check_values(self, basis=loaded.array((n_values, None), np.float32, -2, 2))
        square = loaded.array((None, self.rank, self.rank), np.float32, -1e6, 1e6)
        members = self.phi.members(self.image_shape)
        loaded.check_values(self, matrices=loaded.list_of(square, len(list_alterations(members))))
        if sum(map(len, self.matrices)) != len(members) or self.rank == 0:
            raise ValueError(f"a set of {len(members)} members must have as many matrices, in at least one direction.")

    def project(self, images: np.ndarray) -> np.ndarray:
        """Normalize images if Φ does, and compute their coordinates after each alteration.

        Parameters
        ----------
        images : ndarray of shape (n, h, w) or (n, h, w, c)

        Returns
        -------
        coordinates : ndarray of shape (P, n, r), float32
        """
        images = np.asarray(images, dtype=np.float32)
        alterations = list_alterations(self.phi.members(self.image_shape))
        projected = np.empty((len(alterations), len(images), self.rank), np.float32)
        # Summed in double precision, so that the last digits of an image do not depend on its position in a block; in
        # blocks, so that neither all altered images nor a copy in double precision are ever held.
        basis = self.basis.astype(np.float64)
        for start in range(0, len(images), N_PROJECTED):
            block = slice(start, start + N_PROJECTED)
            normalized = self.phi.normalize(images[block])
            for coordinates, alteration in zip(projected, alterations, strict=True):
                coordinates[block] = alter(normalized, alteration).reshape(-1, len(basis)) @ basis
        return projected


def reduce_operators(phi: TransformationSet, images: np.ndarray, rank: int | float, seed: int = 0) -> ReducedOperators:
    """Find the reduced basis of images under Φ.

    Parameters
    ----------
    phi : TransformationSet
    images : ndarray of shape (n, h, w) or (n, h, w, c)
        They are normalized first if Φ says so.
    rank : int or float
        The number of directions, or, if below 1, the share of the energy to keep.
    seed : int, default=0
        Seed of the smooth noise and of the approximate eigenvectors.

    Returns
    -------
    reduced : ReducedOperators
    """
    operators = phi.operators(images.shape[1:])
    images = _with_smooth_noise(phi.normalize(images), seed)
    altered = [np.asarray(part, np.float32).reshape(len(images), -1) for part in operators.altered(images)]
    n_values = altered[0].shape[1]
    if isinstance(rank, Real) and 0 < rank < 1:
        share, n_wanted = check_number("rank", rank, 0, 1), min(n_values, MAX_CHOSEN_RANK)
    else:
        share, n_wanted = 1.0, min(check_count("rank", rank), n_values)
    n_found = min(n_wanted + 1, n_values)
    is_iterated = n_values > EXACT_LIMIT or n_found + OVERSAMPLING <= ITERATED_SHARE * n_values
    find = _approximate_eigenvectors if is_iterated else _exact_eigenvectors
    values, vectors, total = find(operators, altered, n_found, seed)
    n_kept = _whole_eigenspaces(values, n_wanted)
    kept = np.cumsum(values) / max(total, np.finfo(float).tiny)
    if share < 1:
        n_kept = _whole_eigenspaces(values, min(int(np.searchsorted(kept, share)) + 1, n_wanted))
    vectors = vectors[:, :n_kept]
    basis = vectors.astype(np.float32)
    matrices = [_restrict(stack, vectors) for stack in operators.stacks]
    energy = float(min(kept[n_kept - 1], 1.0))
    return ReducedOperators(phi, tuple(images.shape[1:]), basis, matrices, energy)


def _whole_eigenspaces(values, n_wanted):
    """Count the leading eigenvectors to keep: a group mixes those of equal eigenvalue, so they are kept together."""
    n_kept = n_wanted
    while n_kept < len(values) and values[n_kept - 1] - values[n_kept] < SAME_EIGENVALUE * values[n_kept - 1]:
        n_kept -= 1
        if n_kept < max(1, n_wanted - MAX_TRIMMED):
            return n_wanted
    return n_kept


def _with_smooth_noise(images, seed):
    """Add smooth noise images, so that the basis of few images continues with smooth directions.

    Without them filters could not be smooth: they would be sums of the few images.
    """
    n_values = images[0].size
    noise = np.random.default_rng(seed).standard_normal((min(n_values, N_NOISE), *images.shape[1:]), dtype=np.float32)
    smooth = ndimage.gaussian_filter(noise, (0, NOISE_WIDTH, NOISE_WIDTH, *(0,) * (images.ndim - 3)))
    strength = NOISE_SHARE * images.std() / max(smooth.std(), 1e-12)
    return np.concatenate([images.astype(np.float32, copy=False), strength * smooth])


def _on_pixels(matrix, columns):
    """Apply S ⊗ I to columns (d c, m): S acts on pixels and carries the channels along."""
    n_pixels = matrix.shape[1]
    return np.asarray(matrix @ columns.reshape(n_pixels, -1)).reshape(columns.shape)


def _restrict(stack, vectors):
    """Compute R_t = Bᵀ S_tᵀ B for every member of a stack: (T, r, r) float32."""
    return np.stack([vectors.T @ _on_pixels(matrix.T, vectors) for matrix in stack.matrices]).astype(np.float32)


def _exact_eigenvectors(operators, altered, rank, seed):
    """Form M and return its leading eigenvalues and eigenvectors, and its trace."""
    moment = np.zeros((altered[0].shape[1],) * 2)
    for stack, part in zip(operators.stacks, altered, strict=True):
        products = (part.T @ part).astype(np.float64)
        for matrix in stack.matrices:
            half = _on_pixels(matrix, products)
            moment += _on_pixels(matrix, np.ascontiguousarray(half.T))
    moment /= len(operators) * len(altered[0])
    values, vectors = linalg.eigh(moment, subset_by_index=(len(moment) - rank, len(moment) - 1))
    return np.maximum(values[::-1], 0), np.ascontiguousarray(vectors[:, ::-1]), np.trace(moment)


def _approximate_eigenvectors(operators, altered, rank, seed):
    """The same by randomised subspace iteration: M is only ever multiplied with a block of columns, never formed."""
    altered = [part[:: -(-len(part) // N_APPROXIMATE)] for part in altered]
    group = _pixel_group(operators.stacks[0])
    # The mean over that group that follows makes one member of every orbit do for all.
    chosen = [_represent_orbits(stack, group) for stack in operators.stacks]

    def multiply(columns):
        product = np.zeros_like(columns)
        for stack, matrices, part in zip(operators.stacks, chosen, altered, strict=True):
            for matrix in matrices:
                responses = part @ _on_pixels(matrix.T, columns).astype(np.float32)
                weight = len(stack) // len(matrices)
                product += weight * _on_pixels(matrix, (part.T @ responses).astype(np.float64))
        return _equivariant(group, columns, product / (len(operators) * len(altered[0])))

    n_values = altered[0].shape[1]
    width = min(rank + OVERSAMPLING, n_values)
    start = np.random.default_rng(seed).standard_normal((n_values, -(-width // len(group))))
    columns = linalg.qr(np.concatenate([_on_pixels(matrix, start) for matrix in group], axis=1), mode="economic")[0]
    for _ in range(POWER_STEPS):
        columns = linalg.qr(multiply(columns), mode="economic")[0]
    projected = columns.T @ multiply(columns)
    if len(group) > 1:
        projected = 0.5 * (projected + projected.T)  # eigh reads one half, which alone does not commute with the group
    values, rotation = linalg.eigh(projected)
    return np.maximum(values[::-1][:rank], 0), (columns @ rotation[:, ::-1])[:, :rank], _trace(operators, altered)


def _trace(operators, altered):
    """Estimate the trace of M, the mean energy of a transformed image, from at most `N_TRACED` images."""
    energy = 0.0
    for stack, part in zip(operators.stacks, altered, strict=True):
        columns = part[:: -(-len(part) // N_TRACED)].T.astype(np.float64)
        energy += sum(np.sum(_on_pixels(matrix, columns) ** 2) for matrix in stack.matrices) / columns.shape[1]
    return energy / len(operators)


def _pixel_group(stack):
    """List the members that only permute pixels, if these form a group; otherwise the identity alone."""
    found = {order: matrix for matrix in stack.matrices if (order := _permutation(matrix)) is not None}
    orders = [np.frombuffer(order, np.int64) for order in found]
    if found and all(first[second].tobytes() in found for first in orders for second in orders):
        return list(found.values())
    return [sparse.identity(stack.matrices[0].shape[0], format="csr")]


def _represent_orbits(stack, group):
    """Select one member S of every orbit {P S}, P of a group that permutes pixels; all members if these are not orbits.

    They are compared by what they make of one random image.
    """
    matrices = stack.matrices
    image = np.random.default_rng(0).standard_normal(matrices[0].shape[1])
    made = np.stack([matrix @ image for matrix in matrices])
    left, chosen = np.arange(len(matrices)), []
    while len(left):
        orbit = np.stack([permutation @ made[left[0]] for permutation in group])
        is_inside = np.array([np.abs(orbit - made[place]).max(axis=1).min() < SAME_MEMBER for place in left])
        if np.count_nonzero(is_inside) != len(group):
            return matrices
        chosen.append(matrices[left[0]])
        left = left[~is_inside]
    return chosen


def _permutation(matrix):
    """Return the order of pixels that a matrix makes, as bytes; None if it does more than permute pixels."""
    pixels = np.arange(matrix.shape[0])
    is_permutation = np.array_equal(matrix.indptr, np.append(pixels, len(pixels))) and np.allclose(matrix.data, 1)
    if not is_permutation or not np.array_equal(np.sort(matrix.indices), pixels):
        return None
    return matrix.indices.astype(np.int64).tobytes()


def _equivariant(group, columns, product):
    """Average a product M C over a group that permutes pixels, so that it commutes with the group.

    If the group maps the span of the orthonormal columns C to itself, S_t C = C G_t with G_t = Cᵀ S_t C, and the mean
    of S_tᵀ M S_t C over the group is that of S_tᵀ (M C) G_t. It commutes in double precision also where M C was
    computed in single precision. The span is then mapped to itself after every step, without which the largest response
    over a group would be invariant only approximately.
    """
    if len(group) == 1:
        return product
    mean = np.zeros_like(product)
    for matrix in group:
        mean += _on_pixels(matrix.T, product @ (columns.T @ _on_pixels(matrix, columns)))
    return mean / len(group)
