"""Pooling of responses by the maximum, the mean or the p-norm under a measure ρ_H, [Wibisono10] sec. 3.

The mean is ∫F(h) dρ_H(h), the p-norm (∫|F(h)|^p dρ_H(h))^(1/p). The norm in L^∞(H, ρ_H) is the largest value where the
measure is positive. Without a measure all of H counts alike.
"""

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from invariance.hierarchies._jit import Scratch, running_maximum


def check_pooling(pooling: Any) -> float:
    """Return the p of the norm: infinity for "max", 1 for "mean"."""
    if isinstance(pooling, str) and pooling in ("max", "mean"):
        return float("inf") if pooling == "max" else 1.0
    if isinstance(pooling, Real) and not isinstance(pooling, bool) and float(pooling) >= 1:
        return float(pooling)
    raise ValueError(f"pooling must be 'max', 'mean' or a number p of at least 1; got {pooling!r}.")


def check_measure(name: str, measure: Any, shape: tuple[int, ...]) -> np.ndarray | None:
    """Return a measure over `shape` divided by its sum, or None, which is uniform."""
    if measure is None:
        return None
    weights = np.asarray(measure, np.float64)
    if weights.shape != shape:
        raise ValueError(f"{name} must have one weight for each of {shape} places; got shape {weights.shape}.")
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise ValueError(f"{name} must be finite, nowhere negative and somewhere positive; got {measure!r}.")
    return weights / weights.sum()


def pool(
    values: np.ndarray, window: tuple[int, int], p: float, scratch: Scratch, measure: np.ndarray | None = None
) -> np.ndarray:
    """Pool values (r, c, q) over every window (wr, wc) of the grid: (r - wr + 1, c - wc + 1, q) float32.

    A `measure` (wr, wc) over the places of a window takes as many passes over the values as it has positive weights.
    """
    rows, cols, q = values.shape
    if measure is not None:
        return _pool_measured(values, p, measure)
    if window == (rows, cols):
        return pool_all(values.reshape(-1, q), p).reshape(1, 1, q)
    if p == np.inf:
        out = scratch.array("pooled", rows - window[0] + 1, cols - window[1] + 1, q)
        along = scratch.array("pooled along rows", rows, out.shape[1], q)
        running_maximum(
            np.ascontiguousarray(values), *window, along, scratch.array("running maxima", max(window) + 1, q), out
        )
        return out
    means = _running_mean(_running_mean(_raised(values, p), window[0], 0), window[1], 1)
    return _root(means, p)


def pool_all(values: np.ndarray, p: float, measure: np.ndarray | None = None) -> np.ndarray:
    """Pool values (n, q) over all n under a measure (n,), whatever its sum: (q,) float32."""
    if p == np.inf:
        return values.max(axis=0) if measure is None else values[measure > 0].max(axis=0)
    if measure is None:
        return _root(_raised(values, p).mean(axis=0), p)
    return _root(np.average(_raised(values, p), axis=0, weights=measure), p)


def pool_parts(parts: Sequence[np.ndarray], shares: Sequence[float], p: float) -> np.ndarray:
    """Pool parts (q,), each pooled over a share of the measure, or of the number of values, above 0: (q,) float32."""
    if len(parts) == 1:
        return parts[0]
    if p == np.inf:
        return np.max(parts, axis=0)
    return _root(np.average(_raised(np.array(parts), p), axis=0, weights=shares), p)


def _pool_measured(values: np.ndarray, p: float, measure: np.ndarray) -> np.ndarray:
    """Pool values (r, c, q) over every window of the grid, one place of the window after another."""
    rows, cols = values.shape[0] - measure.shape[0] + 1, values.shape[1] - measure.shape[1] + 1
    places = [(i, j) for i, j in np.ndindex(measure.shape) if measure[i, j] > 0]
    if p == np.inf:
        largest = np.full((rows, cols, values.shape[2]), -np.inf, np.float32)
        for i, j in places:
            np.maximum(largest, values[i : i + rows, j : j + cols], out=largest)
        return largest
    raised, total = _raised(values, p), np.zeros((rows, cols, values.shape[2]))
    for i, j in places:
        total += measure[i, j] * raised[i : i + rows, j : j + cols]
    return _root(total, p)


def _raised(values: np.ndarray, p: float) -> np.ndarray:
    """Power p of the absolute values, in float64, so that differences of long sums keep their digits."""
    return values.astype(np.float64) if p == 1 else np.abs(values.astype(np.float64)) ** p


def _root(means: np.ndarray, p: float) -> np.ndarray:
    """Root of the means of powers, C-ordered float32."""
    return (means if p == 1 else np.maximum(means, 0) ** (1 / p)).astype(np.float32, order="C")


def _running_mean(values: np.ndarray, window: int, axis: int) -> np.ndarray:
    """Means of `window` neighbours along an axis."""
    sums = np.moveaxis(np.cumsum(values, axis=axis), axis, 0)
    ends = sums[window - 1 :].copy()
    ends[1:] -= sums[:-window]
    return np.moveaxis(ends / window, 0, axis)
