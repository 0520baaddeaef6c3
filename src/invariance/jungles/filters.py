"""Learning one filter by minimising E(θ) = mean of (max_φ <θ, φ(x)> + b - y)² + λ‖Γθ‖², [Laptev15] eq. (1), (5), (6).

In the reduced basis θ = Ba, so the responses of all members are one matrix product with R_t a, and the gradient is
Σ_t R_tᵀ s_t with s_t the sum of residual times sample over the samples whose largest response is that of member t.

Differs from [Laptev15]:
- Filters are sought in the reduced basis, which keeps most of the images' energy under Φ, with a small ridge penalty
  beside that on the gradient, and with a bias b: a split at zero is one at f_θ(x) + b = 0.
- The loss is a mean, not a sum, and λ is relative to it: λ = smoothness tr(cov z) / tr(BᵀΓᵀΓB), so that one value of
  the smoothness suits any number of samples, image size and brightness.
- The problem is convex only where the response exceeds the target, so the starting point matters: the difference of
  the class means, and random ones on request (`n_init`).
- A maximum is not symmetric: a filter can respond strongly to a line at any angle, but not to the absence of lines. So
  both signs of the targets are learned and the better one is kept.
- Coordinates are scaled by the diagonal of the Hessian and the bias is relative to the mean response, which does not
  change the minimum and saves most of the iterations.
"""

from typing import NamedTuple

import numpy as np
from scipy import optimize

from invariance.jungles import _jit
from invariance.jungles.orbits import Orbits

# Relative weight of the ridge penalty beside the gradient penalty, and the smallest relative variance of a coordinate:
# small enough not to change a well-posed problem (our choice).
RIDGE, MIN_RELATIVE_VARIANCE = 1e-3, 1e-6
# L-BFGS stops at this relative decrease or gradient: more precision does not change the split (our choice).
TOLERANCE = 1e-6
# A starting point is scaled as if its responses had at least this correlation with the targets, so that it is never 0.
MIN_CORRELATION = 0.1
# Replaces a divisor of 0.
TINY = 1e-12


class Geometry(NamedTuple):
    """What filter learning needs about basis and samples, computed once for all filters.

    Attributes
    ----------
    penalty : ndarray of shape (r, r)
        BᵀΓᵀΓB times tr(cov z) / tr(BᵀΓᵀΓB).
    variance : ndarray of shape (r,)
        Variances of the coordinates.
    centre : ndarray of shape (r,)
        Mean of the samples, averaged over Φ.
    """

    penalty: np.ndarray
    variance: np.ndarray
    centre: np.ndarray


class LearnedFilter(NamedTuple):
    """A learned filter.

    Attributes
    ----------
    coordinates : ndarray of shape (r,), float32
        The filter a in the reduced basis.
    bias : float
        The bias b.
    objective : float
        The value of E.
    responses : ndarray of shape (n,)
        The largest responses of the samples, without bias.
    """

    coordinates: np.ndarray
    bias: float
    objective: float
    responses: np.ndarray


def measure_geometry(orbits: Orbits, basis: np.ndarray, image_shape: tuple[int, ...]) -> Geometry:
    """Compute the penalty on the image gradient of a filter, Γ of [Laptev15] eq. (5), and the spread of the samples."""
    images = basis.astype(np.float64).reshape(*image_shape, -1)
    differences = [np.diff(images, axis=axis).reshape(-1, images.shape[-1]) for axis in (0, 1)]
    penalty = differences[0].T @ differences[0] + differences[1].T @ differences[1]
    variance = np.mean([part.var(axis=0, dtype=np.float64) for part in orbits.coordinates], axis=0)
    # An image of one pixel has no gradient: then ridge regression keeps the problem well posed.
    penalty = penalty + RIDGE * max(np.trace(penalty) / len(penalty), RIDGE) * np.eye(len(penalty))
    centre = np.mean(
        [
            (matrices.mean(axis=0, dtype=np.float64).T @ part.mean(axis=0, dtype=np.float64))
            for matrices, part in zip(orbits.matrices, orbits.coordinates, strict=True)
            if len(matrices)
        ],
        axis=0,
    )
    variance = np.maximum(variance, MIN_RELATIVE_VARIANCE * max(variance.max(), TINY))
    return Geometry(penalty * (variance.sum() / np.trace(penalty)), variance, centre)


def learn_filter(
    orbits: Orbits,
    targets: np.ndarray,
    weights: np.ndarray,
    geometry: Geometry,
    smoothness: float,
    max_steps: int,
    n_init: int,
    rng: np.random.Generator,
) -> LearnedFilter:
    """Learn the filter whose largest response over Φ best matches the targets, [Laptev15] eq. (5).

    Parameters
    ----------
    orbits : Orbits
        The n samples under Φ.
    targets : ndarray of shape (n,)
        -1 or +1; which of both is called +1 does not matter.
    weights : ndarray of shape (n,)
        Sample weights.
    geometry : Geometry
        Penalty and spread, from `measure_geometry`.
    smoothness : float
        Weight of the penalty.
    max_steps : int
        Maximum number of L-BFGS iterations.
    n_init : int
        Number of starting points.
    rng : Generator
        For the starting points after the first.

    Returns
    -------
    learned : LearnedFilter
        The filter with the smallest objective.
    """
    weights = weights / weights.sum()
    # Without Φ the maximum is the response itself, and the other sign gives the same filter with its sign changed.
    signs = (1.0, -1.0) if orbits.n_members > 1 else (1.0,)
    candidates = [
        minimise_objective(Objective(orbits, sign * targets, weights, geometry, smoothness), start, max_steps)
        for sign in signs
        for start in _starting_points(orbits, sign * targets, weights, n_init, rng)
    ]
    return min(candidates, key=lambda learned: learned.objective)


def minimise_objective(objective: "Objective", start: np.ndarray, max_steps: int) -> LearnedFilter:
    """Run L-BFGS from a starting point (r,), which is first scaled to fit the targets."""
    result = optimize.minimize(
        objective.value_and_gradient,
        objective.fit_scale(start),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_steps, "maxcor": 10, "ftol": TOLERANCE, "gtol": TOLERANCE},
    )
    coordinates, bias = objective.unpack(result.x)
    return LearnedFilter(coordinates.astype(np.float32), float(bias), float(result.fun), objective.largest(coordinates))


class Objective:
    """E as a function of one vector (r + 1,): the scaled coordinates, and the bias relative to the centre."""

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
        """Split a parameter vector into filter coordinates a and bias b."""
        coordinates = parameters[:-1] / self._scale
        return coordinates, parameters[-1] - self.geometry.centre @ coordinates

    def largest(self, coordinates: np.ndarray) -> np.ndarray:
        """Compute the largest response of every sample over Φ, without bias: (n,) float32."""
        self._respond(coordinates)
        return self._best.copy()

    def _respond(self, coordinates):
        """Update the largest responses over Φ and the members that give them."""
        _jit.largest_rows(self.orbits.responses(coordinates), self._best, self._winners)

    def value_and_gradient(self, parameters: np.ndarray) -> tuple[float, np.ndarray]:
        """Compute E and its gradient, [Laptev15] eq. (5) and (6)."""
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
        """Scale a starting point by the positive factor, and add the bias, that fit the targets best."""
        responses = self.largest(start).astype(np.float64)
        mean, mean_target = self.weights @ responses, self.weights @ self.targets
        spread = self.weights @ (responses - mean) ** 2
        covariance = self.weights @ ((responses - mean) * (self.targets - mean_target))
        factor = max(covariance, MIN_CORRELATION * np.sqrt(spread)) / max(spread, TINY)
        bias = mean_target - factor * mean
        return np.append(factor * start * self._scale, bias + self.geometry.centre @ (factor * start))


def _starting_points(orbits, targets, weights, n_init, rng):
    """Yield starting points (r,): the difference of the class means, then of random samples of the two classes."""
    samples = orbits.coordinates[0]
    above, below = np.flatnonzero(targets > 0), np.flatnonzero(targets < 0)
    mean_above = np.average(samples[above], axis=0, weights=weights[above])
    mean_below = np.average(samples[below], axis=0, weights=weights[below])
    yield (mean_above - mean_below).astype(np.float64)
    for _ in range(n_init - 1):
        yield samples[rng.choice(above)].astype(np.float64) - samples[rng.choice(below)]
