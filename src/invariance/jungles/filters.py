"""Learning one filter: E(θ) = mean of (max_φ <θ, φ(x)> + b - y)² + λ‖Γθ‖², [Laptev15] eq. (1), (5), (6).

In the reduced basis θ = Ba, so the responses of all members are one matrix product with R_t a, and the gradient is
Σ_t R_tᵀ s_t with s_t the sum of residual times sample over the samples that member t wins. L-BFGS minimises it.

Differs from [Laptev15]:
- The loss is a mean, not a sum, and λ is measured against it: λ = smoothness tr(cov z) / tr(BᵀΓᵀΓB), so that one
  value suits any number of samples, image size and brightness.
- The problem is convex only where the response exceeds the target, so the start matters: the difference of the class
  means, and further seeded starts on request.
- A maximum is not symmetric: a line at any angle is easily made to answer strongly, the absence of lines is not. So
  both orders of the pair of classes are learned and the better one is kept.
- Coordinates are scaled by the diagonal of the Hessian and the bias is taken about the mean response, which leaves the
  problem as it is and saves most of the iterations.
"""

from typing import NamedTuple

import numpy as np
from scipy import optimize

from invariance.jungles import _jit
from invariance.jungles.orbits import Orbits


class Geometry(NamedTuple):
    """What filter learning needs to know of the basis: computed once for all filters.

    penalty (r, r): BᵀΓᵀΓB times tr(cov z) / tr(BᵀΓᵀΓB); variance (r,): of the coordinates; centre (r,): mean sample,
    averaged over Φ.
    """

    penalty: np.ndarray
    variance: np.ndarray
    centre: np.ndarray


class LearnedFilter(NamedTuple):
    """coordinates a (r,) float32 and bias of a filter, its objective E, and its largest responses (n,) without bias."""

    coordinates: np.ndarray
    bias: float
    objective: float
    responses: np.ndarray


def measure_geometry(orbits: Orbits, basis: np.ndarray, image_shape: tuple[int, ...]) -> Geometry:
    """The penalty on the image gradient of a filter, Γ of [Laptev15] eq. (5), and the spread of the samples."""
    images = basis.astype(np.float64).reshape(*image_shape, -1)
    differences = [np.diff(images, axis=axis).reshape(-1, images.shape[-1]) for axis in (0, 1)]
    penalty = differences[0].T @ differences[0] + differences[1].T @ differences[1]
    variance = np.mean([part.var(axis=0, dtype=np.float64) for part in orbits.coordinates], axis=0)
    # An image of one pixel has no gradient: then plain ridge regression keeps the problem well posed.
    penalty = penalty + 1e-3 * max(np.trace(penalty) / len(penalty), 1e-3) * np.eye(len(penalty))
    centre = np.mean(
        [
            (matrices.mean(axis=0, dtype=np.float64).T @ part.mean(axis=0, dtype=np.float64))
            for matrices, part in zip(orbits.matrices, orbits.coordinates, strict=True)
            if len(matrices)
        ],
        axis=0,
    )
    variance = np.maximum(variance, 1e-6 * max(variance.max(), 1e-12))
    return Geometry(penalty * (variance.sum() / np.trace(penalty)), variance, centre)


def learn_filter(
    orbits: Orbits,
    targets: np.ndarray,
    weights: np.ndarray,
    geometry: Geometry,
    smoothness: float,
    max_steps: int,
    n_starts: int,
    rng: np.random.Generator,
) -> LearnedFilter:
    """The better filter of both orders of a pair of classes: targets (n,) in {-1, +1}, weights (n,) > 0."""
    weights = weights / weights.sum()
    # Without Φ the maximum is the response itself, and the other order gives the same filter with its sign changed.
    orders = (1.0, -1.0) if orbits.n_members > 1 else (1.0,)
    candidates = [
        minimise_objective(Objective(orbits, order * targets, weights, geometry, smoothness), start, max_steps)
        for order in orders
        for start in _starts(orbits, order * targets, weights, n_starts, rng)
    ]
    return min(candidates, key=lambda learned: learned.objective)


def minimise_objective(objective: "Objective", start: np.ndarray, max_steps: int) -> LearnedFilter:
    """L-BFGS from a start (r,), which is first scaled to fit the targets."""
    result = optimize.minimize(
        objective.value_and_gradient,
        objective.fit_scale(start),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_steps, "maxcor": 10, "ftol": 1e-6, "gtol": 1e-6},
    )
    coordinates, bias = objective.unpack(result.x)
    return LearnedFilter(coordinates.astype(np.float32), float(bias), float(result.fun), objective.largest(coordinates))


class Objective:
    """E as a function of the scaled coordinates and the bias about the centre, one vector (r + 1,)."""

    def __init__(self, orbits: Orbits, targets, weights, geometry: Geometry, smoothness: float):
        self.orbits = orbits
        self.targets = targets
        self.weights = weights
        self.geometry = geometry
        self.smoothness = smoothness
        self._scale = np.sqrt(geometry.variance + smoothness * np.diag(geometry.penalty))
        self._best = np.empty(orbits.n_samples, np.float32)
        self._winners = np.empty(orbits.n_samples, np.int64)

    def unpack(self, parameters: np.ndarray) -> tuple[np.ndarray, float]:
        """Filter coordinates a and bias b."""
        coordinates = parameters[:-1] / self._scale
        return coordinates, parameters[-1] - self.geometry.centre @ coordinates

    def largest(self, coordinates: np.ndarray) -> np.ndarray:
        """Largest response of every sample over Φ, without bias: (n,) float32."""
        self._respond(coordinates)
        return self._best.copy()

    def _respond(self, coordinates):
        """Set the largest responses over Φ and the members that give them."""
        _jit.largest_rows(self.orbits.responses(coordinates), self._best, self._winners)

    def value_and_gradient(self, parameters: np.ndarray) -> tuple[float, np.ndarray]:
        """E and its gradient, [Laptev15] eq. (5) and (6)."""
        geometry = self.geometry
        coordinates, bias = self.unpack(parameters)
        self._respond(coordinates)
        residuals = self._best + bias - self.targets
        weighted = self.weights * residuals
        smoothing = self.smoothness * (geometry.penalty @ coordinates)
        bias_gradient = weighted.sum()
        gradient = self.orbits.pull_back(self._winners, weighted) + smoothing - bias_gradient * geometry.centre
        value = weighted @ residuals + coordinates @ smoothing
        return value, 2 * np.append(gradient / self._scale, bias_gradient)

    def fit_scale(self, start: np.ndarray) -> np.ndarray:
        """The parameters of `start` times the positive number, plus the bias, that fit the targets best."""
        responses = self.largest(start).astype(np.float64)
        mean, goal = self.weights @ responses, self.weights @ self.targets
        spread = self.weights @ (responses - mean) ** 2
        covariance = self.weights @ ((responses - mean) * (self.targets - goal))
        factor = max(covariance, 0.1 * np.sqrt(spread)) / max(spread, 1e-12)
        bias = goal - factor * mean
        return np.append(factor * start * self._scale, bias + self.geometry.centre @ (factor * start))


def _starts(orbits, targets, weights, n_starts, rng):
    """Directions (r,) to start from: the difference of the class means, then of random samples of the two classes."""
    samples = orbits.coordinates[0]
    above, below = np.flatnonzero(targets > 0), np.flatnonzero(targets < 0)
    mean_above = np.average(samples[above], axis=0, weights=weights[above])
    mean_below = np.average(samples[below], axis=0, weights=weights[below])
    yield (mean_above - mean_below).astype(np.float64)
    for _ in range(n_starts - 1):
        yield samples[rng.choice(above)].astype(np.float64) - samples[rng.choice(below)]
