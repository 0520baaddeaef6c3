"""Pooling of responses by the maximum, the mean or the p-norm, [Wibisono10] sec. 3."""

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


def pool(values: np.ndarray, window: tuple[int, int], p: float, scratch: Scratch) -> np.ndarray:
    """Pool values (r, c, q) over every window (wr, wc) of the grid: (r - wr + 1, c - wc + 1, q) float32."""
    rows, cols, q = values.shape
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


def pool_all(values: np.ndarray, p: float) -> np.ndarray:
    """Pool values (n, q) over all n: (q,) float32."""
    if p == np.inf:
        return values.max(axis=0)
    return _root(_raised(values, p).mean(axis=0), p)


def pool_parts(parts: Sequence[np.ndarray], counts: Sequence[int], p: float) -> np.ndarray:
    """Pool parts (q,), each pooled over a number of values proportional to its count: (q,) float32."""
    if len(parts) == 1:
        return parts[0]
    if p == np.inf:
        return np.max(parts, axis=0)
    return _root(np.average(_raised(np.array(parts), p), axis=0, weights=counts), p)


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
