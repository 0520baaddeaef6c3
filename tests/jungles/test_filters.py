"""Filter learning at full rank is eq. (5) and (6) of [Laptev15] on the pixels."""

import numpy as np
import pytest
from scipy import ndimage

from invariance.jungles.filters import Objective, learn_filter, measure_geometry, minimise_objective
from invariance.jungles.orbits import Orbits
from invariance.transformations import Identity, IlluminationCorrections, Rotations, Shifts, reduce_operators
from tests import reference
from tests.jungles.toys import textured_patches

SETS = [Identity(), Rotations(5, border="edge"), Shifts(1) * IlluminationCorrections()]
SHAPES = [(9, 8), (6, 5, 3)]
RIDGE = 1e-3


class Twins:
    """The library's objective in the full basis, and the literal one on the same patches."""

    def __init__(self, phi, shape, smoothness=0.1, n=40):
        self.images, self.targets = textured_patches(n, shape)
        self.phi, self.shape, self.smoothness = phi, shape, smoothness
        rng = np.random.default_rng(1)
        self.weights = rng.uniform(0.2, 1, n)
        self.weights /= self.weights.sum()
        self.reduced = reduce_operators(phi, self.images, rank=int(np.prod(shape)))
        self.orbits = Orbits.of(self.reduced, self.images)
        self.geometry = measure_geometry(self.orbits, self.reduced.basis, shape)
        self.objective = Objective(self.orbits, self.targets, self.weights, self.geometry, smoothness)
        self.transformed = reference.transform_patches(self.images.astype(np.float64), phi)
        self.gamma = reference.differences_matrix(shape)
        self.penalty_weight, self.ridge = literal_penalty(self.images, phi, smoothness, self.gamma)
        # Somewhere in the middle of learning: a start that fits, and some noise on it.
        start = self.objective.fit_scale(self.orbits.coordinates[0][self.targets > 0].mean(axis=0))
        self.parameters = start * (1 + 0.3 * rng.standard_normal(len(start)))

    def literal(self, theta, bias, weights=None):
        return reference.literal_objective(
            theta,
            bias,
            self.transformed,
            self.targets,
            self.weights if weights is None else weights,
            self.penalty_weight,
            self.gamma,
            self.ridge,
        )

    def pixels(self, parameters):
        coordinates, bias = self.objective.unpack(parameters)
        return self.reduced.basis.astype(np.float64) @ coordinates, bias


def literal_penalty(images, phi, smoothness, gamma):
    """(λ, ridge) on pixels: λ is smoothness times the variance of the patches, all told, over the trace of ΓᵀΓ.

    The ridge is a thousandth of the mean curvature of the penalty, and counts as part of it.
    """
    altered = phi.operators(images.shape[1:]).altered(images.astype(np.float64))
    variance = np.mean([part.reshape(len(images), -1).var(axis=0).sum() for part in altered])
    trace = gamma.power(2).sum()
    return smoothness * variance / (trace * (1 + RIDGE)), RIDGE * trace / gamma.shape[1]


@pytest.fixture(params=[(phi, shape) for phi in SETS for shape in SHAPES], ids=str, scope="module")
def twins(request):
    return Twins(*request.param)


def test_the_objective_is_the_literal_one(twins):
    value, _ = twins.objective.value_and_gradient(twins.parameters)
    assert value == pytest.approx(twins.literal(*twins.pixels(twins.parameters))[0], rel=1e-4)


def test_the_gradient_is_the_literal_one(twins):
    _, gradient = twins.objective.value_and_gradient(twins.parameters)
    _, by_theta, by_bias = twins.literal(*twins.pixels(twins.parameters))
    # θ = Ba, a = p / scale, and the bias of the literal problem is p_bias - centre a.
    geometry = twins.objective.geometry
    by_coordinates = twins.reduced.basis.T @ by_theta - by_bias * geometry.centre
    expected = np.append(by_coordinates / twins.objective._scale, by_bias)
    np.testing.assert_allclose(gradient, expected, atol=2e-3 * np.abs(expected).max())


def test_the_literal_gradient_is_the_slope(twins):
    """Finite differences, on the patches that are not about to be won by another member."""
    theta, bias = twins.pixels(twins.parameters)
    two_best = np.sort(twins.transformed @ theta, axis=1)[:, -2:]
    clear = (two_best.max(axis=1) - two_best.min(axis=1) > 1e-4) | (two_best.shape[1] == 1)
    assert clear.mean() > 0.5
    weights = twins.weights * clear
    _, by_theta, by_bias = twins.literal(theta, bias, weights)
    step = 1e-6
    for seed in range(3):
        direction = np.random.default_rng(seed).standard_normal(len(theta) + 1)
        direction /= np.linalg.norm(direction)
        above, below = (
            twins.literal(theta + sign * direction[:-1], bias + sign * direction[-1], weights)[0]
            for sign in (step, -step)
        )
        slope = (above - below) / (2 * step)
        assert slope == pytest.approx(np.append(by_theta, by_bias) @ direction, rel=1e-4, abs=1e-6)


def test_the_smoothness_is_measured_against_the_patches():
    """Twice as bright, or twice as many: one value of smoothness weighs the same."""
    images, _ = textured_patches(40, (9, 8))
    penalties = []
    for factor, repeats in ((1, 1), (2, 1), (1, 2)):
        patches = np.tile(factor * images, (repeats, 1, 1))
        reduced = reduce_operators(Identity(), patches, rank=72)
        orbits = Orbits.of(reduced, patches)
        penalty = measure_geometry(orbits, reduced.basis, (9, 8)).penalty
        total = sum(part.var(axis=0).sum() for part in orbits.coordinates)
        assert np.trace(penalty) == pytest.approx(total, rel=1e-4)
        penalties.append(np.trace(penalty))
    assert penalties[1] == pytest.approx(4 * penalties[0], rel=1e-4)
    assert penalties[2] == pytest.approx(penalties[0], rel=1e-4)


def test_an_image_of_one_pixel_has_a_penalty():
    images = np.linspace(0, 1, 10, dtype=np.float32).reshape(10, 1, 1)
    reduced = reduce_operators(Identity(), images, rank=1)
    geometry = measure_geometry(Orbits.of(reduced, images), reduced.basis, (1, 1))
    assert np.all(np.isfinite(geometry.penalty))
    assert geometry.penalty[0, 0] > 0


def test_learning_improves_on_the_start(twins):
    start = twins.orbits.coordinates[0][0].astype(np.float64)
    at_start = twins.objective.value_and_gradient(twins.objective.fit_scale(start))[0]
    learned = minimise_objective(twins.objective, start, max_steps=30)
    assert learned.objective < 0.9 * at_start


def test_what_is_learned_is_what_is_said(twins):
    """The objective and the responses of a learned filter are those of its coordinates, looked at as an image."""
    learned = minimise_objective(twins.objective, twins.orbits.coordinates[0][0].astype(np.float64), max_steps=10)
    theta = twins.reduced.basis.astype(np.float64) @ learned.coordinates
    assert learned.objective == pytest.approx(twins.literal(theta, learned.bias)[0], rel=1e-3)
    np.testing.assert_allclose(learned.responses, (twins.transformed @ theta).max(axis=1), atol=1e-3)


def test_the_start_is_scaled_as_well_as_it_can_be(twins):
    start = twins.orbits.coordinates[0][twins.targets > 0].mean(axis=0, dtype=np.float64)
    start -= twins.orbits.coordinates[0][twins.targets < 0].mean(axis=0, dtype=np.float64)
    objective = Objective(twins.orbits, twins.targets, twins.weights, twins.geometry, smoothness=0.0)
    fitted = objective.fit_scale(start)
    best = objective.value_and_gradient(fitted)[0]
    for factor, shift in ((1.1, 0), (0.9, 0), (1, 0.1), (1, -0.1)):
        coordinates, bias = objective.unpack(fitted)
        residuals = factor * objective.largest(coordinates) + bias + shift - twins.targets
        # Shifted and scaled about the mean response, so that each change is one away from the optimum.
        residuals -= (factor - 1) * (twins.weights @ objective.largest(coordinates))
        assert twins.weights @ residuals**2 > best


@pytest.mark.parametrize(("phi", "smoothness"), [(Rotations(4), 0.3), (Rotations(6), 0.1), (Shifts(1), 1.0)], ids=str)
def test_as_good_as_the_literal_algorithm(phi, smoothness):
    """The same objective within 1 %, or a better one, in as few iterations as the estimators allow by default."""
    twins = Twins(phi, (9, 9), smoothness, n=300)
    learned = learn_filter(
        twins.orbits, twins.targets, twins.weights, twins.geometry, smoothness, 50, 1, np.random.default_rng(0)
    )
    literal = min(
        reference.learn_filter_literally(
            twins.images,
            order * twins.targets,
            phi,
            twins.penalty_weight,
            ridge=twins.ridge,
            weights=twins.weights,
            max_iter=500,
        ).objective
        for order in (1, -1)
    )
    assert learned.objective < 1.01 * literal


def test_both_signs_of_the_targets_are_tried():
    """Bars at any angle against none: only a filter that answers the bars can tell, whichever class is called +1."""
    rng = np.random.default_rng(0)
    bars = np.zeros((60, 13, 13))
    bars[:30, 6, 2:11] = 1
    images = np.stack([ndimage.rotate(bar, rng.uniform(0, 180), reshape=False, order=1) for bar in bars])
    images = (images + 0.1 * rng.standard_normal(images.shape)).astype(np.float32)
    targets = np.repeat([1.0, -1.0], 30)
    reduced = reduce_operators(Rotations(12), images, rank=40)
    orbits = Orbits.of(reduced, images)
    geometry = measure_geometry(orbits, reduced.basis, (13, 13))
    weights = np.full(60, 1 / 60)
    learned = {
        order: learn_filter(orbits, order * targets, weights, geometry, 0.1, 50, 1, np.random.default_rng(0))
        for order in (1, -1)
    }
    assert learned[1].objective == pytest.approx(learned[-1].objective)
    for order in (1, -1):
        responses = learned[order].responses
        assert responses[:30].mean() > responses[30:].mean()


def test_more_starting_points_are_never_worse():
    twins = Twins(Rotations(6), (9, 8), n=50)
    objectives = [
        learn_filter(
            twins.orbits, twins.targets, twins.weights, twins.geometry, 0.1, 50, n_init, np.random.default_rng(0)
        ).objective
        for n_init in (1, 3, 6)
    ]
    assert objectives == sorted(objectives, reverse=True)


def test_a_patch_of_weight_two_counts_like_two_patches():
    twins = Twins(Rotations(5, border="edge"), (9, 8))
    twice = np.append(np.arange(40), 7)
    weights = np.ones(40)
    weights[7] = 2
    weighted = Objective(twins.orbits, twins.targets, weights / 41, twins.geometry, 0.1)
    repeated = Objective(twins.orbits.take(twice), twins.targets[twice], np.full(41, 1 / 41), twins.geometry, 0.1)
    values = [objective.value_and_gradient(twins.parameters) for objective in (weighted, repeated)]
    assert values[0][0] == pytest.approx(values[1][0], rel=1e-5)
    np.testing.assert_allclose(values[0][1], values[1][1], atol=1e-5 * np.abs(values[0][1]).max())
    starts = [objective.fit_scale(twins.orbits.coordinates[0][0].astype(float)) for objective in (weighted, repeated)]
    np.testing.assert_allclose(starts[0], starts[1], rtol=1e-4, atol=1e-5)


def test_patches_without_weight_teach_nothing():
    twins = Twins(Rotations(5, border="edge"), (9, 8))
    weights = np.where(np.arange(40) % 4 == 0, 0.0, 1.0)
    kept = np.flatnonzero(weights)
    wrong = np.where(weights > 0, twins.targets, -twins.targets)
    arguments = twins.geometry, 0.1, 30, 1
    with_them = learn_filter(twins.orbits, wrong, weights, *arguments, np.random.default_rng(0))
    without = learn_filter(
        twins.orbits.take(kept), twins.targets[kept], weights[kept], *arguments, np.random.default_rng(0)
    )
    assert with_them.objective == pytest.approx(without.objective, rel=1e-3)
