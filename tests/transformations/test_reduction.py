import numpy as np
import pytest

from invariance.transformations import (
    IlluminationCorrections,
    Reflections,
    Rotations,
    Shifts,
    reduce_operators,
    reduction,
)


def smooth_patches(n, shape, seed=0):
    from scipy import ndimage

    noise = np.random.default_rng(seed).standard_normal((n, *shape))
    return (0.5 + ndimage.gaussian_filter(noise, (0, 2, 2, *(0,) * (len(shape) - 2)))).astype(np.float32)


@pytest.mark.parametrize("shape", [(11, 11), (9, 8, 3)])
@pytest.mark.parametrize("phi", [Rotations(8), Shifts(1) * IlluminationCorrections()], ids=repr)
def test_full_rank_loses_nothing(phi, shape):
    images = smooth_patches(30, shape)
    operators = phi.operators(shape)
    reduced = reduce_operators(phi, images, rank=int(np.prod(shape)))
    theta = np.random.default_rng(1).standard_normal(shape)
    exact = np.tensordot(operators.apply(images), theta, axes=theta.ndim)
    filters = [matrices @ (reduced.basis.T @ theta.ravel()) for matrices in reduced.matrices]
    short = np.concatenate(
        [part @ columns.T for part, columns in zip(reduced.project(images), filters, strict=True)], axis=1
    )
    np.testing.assert_allclose(short, exact, atol=2e-3)
    assert reduced.energy == pytest.approx(1.0, abs=0.05)


def test_the_basis_is_that_of_the_transformed_images():
    """The leading eigenvectors of the plain second moment of the whole orbit."""
    images = smooth_patches(40, (9, 9))
    phi = Rotations(6)
    operators = phi.operators((9, 9))
    reduced = reduce_operators(phi, images, rank=5)
    orbit = operators.apply(images.astype(np.float64)).reshape(-1, 81)
    _, vectors = np.linalg.eigh(orbit.T @ orbit)
    overlap = np.linalg.svd(vectors[:, -5:].T @ reduced.basis, compute_uv=False)
    assert overlap.min() > 1 - 1e-4


def test_approximate_eigenvectors_agree_with_exact_ones(monkeypatch):
    images = smooth_patches(60, (12, 12))
    phi = Rotations(6)
    exact = reduce_operators(phi, images, rank=12)
    monkeypatch.setattr(reduction, "EXACT_LIMIT", 10)
    approximate = reduce_operators(phi, images, rank=12)
    assert approximate.energy == pytest.approx(exact.energy, rel=1e-3)


@pytest.mark.parametrize(
    ("phi", "n_chosen"),
    [(Rotations(4), 1), (Rotations(16), 4), (Rotations(4) * Reflections(), 1), (Rotations(6), 3), (Shifts(1), 9)],
    ids=repr,
)
def test_one_member_of_every_orbit_under_the_turns_that_permute_pixels_does_for_all(phi, n_chosen):
    stack = phi.operators((11, 11)).stacks[0]
    group = reduction._pixel_group(stack)
    chosen = reduction._represent_orbits(stack, group)
    assert len(chosen) == n_chosen
    expected = sum(matrix @ matrix.T for matrix in stack.matrices).toarray()
    found = sum(turn @ matrix @ matrix.T @ turn.T for turn in group for matrix in chosen).toarray()
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_a_small_rank_of_large_images_is_found_by_iteration(monkeypatch):
    images = smooth_patches(150, (26, 26))
    monkeypatch.setattr(reduction, "ITERATED_SHARE", 0.0)
    exact = reduce_operators(Rotations(8), images, rank=10)
    monkeypatch.undo()
    found = reduce_operators(Rotations(8), images, rank=10)
    # Measured on the images themselves: the stated energy of an iteration rests on an estimate of the trace.
    orbit = Rotations(8).operators((26, 26)).apply(images.astype(np.float64)).reshape(-1, 26 * 26)
    kept = [np.sum((orbit @ reduced.basis) ** 2) / np.sum(orbit**2) for reduced in (found, exact)]
    assert found.rank == exact.rank
    assert kept[0] == pytest.approx(kept[1], rel=1e-3)
    assert not np.array_equal(found.basis, exact.basis)


def test_a_share_of_the_energy_picks_the_rank():
    images = smooth_patches(100, (15, 15))
    phi = Rotations(4)
    ranks = [reduce_operators(phi, images, rank=share).rank for share in (0.9, 0.99, 0.9999)]
    assert ranks[0] < ranks[1] < ranks[2] < 225
