"""The range of intensities that a model was fitted on: remembered by `fit`, compared with images that come later.

Nothing is rescaled here. Images in another range (12 bits stored in 16, floats from 0 to 255) are classified as they
are, with a warning, because the right mapping is known to their owner only.
"""

import os
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from invariance.images.intensities import white_of
from invariance.images.reading import read_image

# What is measured: percentiles of some values of some images.
PERCENTILES = 0.1, 99.9
MAX_IMAGES, MAX_VALUES = 16, 20_000
MIN_VALUES = 256  # fewer values, such as one row of features, may lie anywhere in the range
# Larger quotients are another range. 14 bits in 16 are one quarter; other dtypes have no such cause, and some images of
# one dark class may be five times darker than all images together.
MAX_QUOTIENT, MAX_QUOTIENT_OF_16_BITS = 6.0, 3.0
# The largest values of integers that are commonly stored in 16 bits, and how close to them a quotient must be.
_DEPTHS, _CLOSE = (8, 10, 12, 14), 1.3

_lock, _n_comparing = threading.Lock(), 0


class RangeWarning(UserWarning):
    """Images lie in another range of intensities than those that a model was fitted on."""


def watch_range(estimator: Any, images: Any, *, reset: bool) -> None:
    """Remember the range of training images as `estimator.intensity_range_`, or compare later images with it.

    Parameters
    ----------
    estimator : estimator
        With `reset`, its `intensity_range_` is set: a dict of "dtype" (str), "low" and "high" (float), on the scale on
        which the dtype's white is 1. Without, another range is a `RangeWarning`.
    images : ndarray, or sequence of ndarrays or paths
        Images as they were given, before scaling. At most 16 are looked at.
    reset : bool
        True in `fit`, False in other methods.
    """
    if reset:
        estimator.intensity_range_ = measure_range(images)
        return
    difference = None if _n_comparing else compare_range(estimator, images)
    if difference is not None:
        warnings.warn(difference, RangeWarning, stacklevel=2)


def compare_range(estimator: Any, images: Any) -> str | None:
    """Say in a line how the range of images differs from that of the training images; None if it does not."""
    fitted: Any = getattr(estimator, "intensity_range_", None)
    if not _is_range(fitted):
        return None
    found = measure_range(images)
    quotient = _quotient(found, fitted)
    limit = MAX_QUOTIENT_OF_16_BITS if "uint16" in (found["dtype"], fitted["dtype"]) else MAX_QUOTIENT
    if quotient is None or 1 / limit <= quotient <= limit:
        return None
    return _describe_difference(estimator, found, fitted, quotient)


@contextmanager
def comparing_once() -> Iterator[None]:
    """Silence `watch_range` in the estimators inside another one, which has compared the images already.

    It counts for all threads, because the inner estimators may run in any of them.
    """
    global _n_comparing
    with _lock:
        _n_comparing += 1
    try:
        yield
    finally:
        with _lock:
            _n_comparing -= 1


def measure_range(images: Any) -> dict[str, Any]:
    """Measure the range of images, see `watch_range`; "low" and "high" are 0 if there are too few numbers."""
    parts = [part for part in _samples(images) if part.dtype.kind in "biuf" and part.size]
    if sum(part.size for part in parts) < MIN_VALUES:
        return {"dtype": "none", "low": 0.0, "high": 0.0}
    values = np.concatenate([_scaled(part) for part in parts])
    values = values[np.isfinite(values)]
    # NumPy finds percentiles of sorted values three times as fast, sorting included.
    low, high = np.percentile(np.sort(values), PERCENTILES) if len(values) else (0.0, 0.0)
    return {"dtype": parts[0].dtype.name, "low": float(low), "high": float(high)}


def _samples(images: Any) -> Iterator[np.ndarray]:
    """Yield some values of some images, the same on every call."""
    if isinstance(images, np.ndarray) and images.dtype != object:
        yield _drawn(images, MAX_VALUES)
        return
    is_sequence = hasattr(images, "__getitem__") and not isinstance(images, str | Mapping)
    if not is_sequence or len(images) == 0:
        return
    places = sorted({round(place) for place in np.linspace(0, len(images) - 1, MAX_IMAGES)})
    for place in places:
        image = images[place]
        yield _drawn(
            read_image(image) if isinstance(image, str | os.PathLike) else np.asarray(image), MAX_VALUES // len(places)
        )


def _drawn(values: np.ndarray, n_values: int) -> np.ndarray:
    """Draw values of an array, all of them if they are few."""
    if values.size <= n_values:
        return values.ravel()
    indices = np.random.default_rng(0).integers(0, values.size, n_values)
    return values[np.unravel_index(indices, values.shape)]


def _scaled(values: np.ndarray) -> np.ndarray:
    """Return values as float64, on the scale on which the white of their dtype is 1."""
    return values.astype(np.float64) / (white_of(values.dtype) or 1)


def _is_range(value: Any) -> bool:
    """Whether a value, perhaps read from a file, is a range."""
    if not isinstance(value, dict) or set(value) != {"dtype", "low", "high"} or not isinstance(value["dtype"], str):
        return False
    return all(isinstance(value[key], float) and np.isfinite(value[key]) for key in ("low", "high"))


def _quotient(found: dict[str, Any], fitted: dict[str, Any]) -> float | None:
    """Return how many times larger values are than in training; None if either range is empty."""
    extents = [max(abs(part["low"]), abs(part["high"])) for part in (found, fitted)]
    return extents[0] / extents[1] if all(extents) else None


def _describe_difference(estimator: Any, found: dict[str, Any], fitted: dict[str, Any], quotient: float) -> str:
    """Write both ranges, what is likely wrong and the cure, in one line."""
    white, cause = _likely_white(found, quotient)
    convert = "Convert them" if white is None else f"Convert them: as_float32(images, white={white})"
    own = ", or fit and predict with scale='percentile' (--scale percentile)" if hasattr(estimator, "scale") else ""
    return (
        f"the images hold {_in_words(found)}, but the {type(estimator).__name__} was fitted on {_in_words(fitted)}"
        f"{cause}. {convert}{own}."
    )


def _likely_white(found: dict[str, Any], quotient: float) -> tuple[int | None, str]:
    """Guess which value of the images means white, and say why."""
    for bits in _DEPTHS:
        stored = (2**bits - 1) / 65535
        if stored / _CLOSE <= quotient <= stored * _CLOSE:
            return (2**bits - 1 if found["dtype"] == "uint16" else None), f" (as if {bits} bits were stored in 16)"
    if found["dtype"].startswith(("float", "int")) and 255 / _CLOSE <= quotient <= 255 * _CLOSE:
        return 255, " (as if white were 255 instead of 1)"
    return None, ""


def _in_words(part: dict[str, Any]) -> str:
    """Write a range with the values as they are stored."""
    try:
        white = white_of(np.dtype(part["dtype"])) or 1
    except TypeError:  # a model file may state anything
        white = 1
    return f"{part['dtype']} values from {part['low'] * white:.3g} to {part['high'] * white:.3g}"
