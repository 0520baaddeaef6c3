"""What estimators accept as images and labels, following the contract of scikit-learn."""

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from invariance._core.checks import check_count
from invariance.images.intensities import as_float32
from invariance.images.intensity_range import watch_range
from invariance.images.transparency import without_alpha

MAX_CHANNELS = 4
# What resampling may add to values in [0, 1] by rounding.
ROUNDING = 1e-3


def validate_images(
    estimator: BaseEstimator, X: Any, image_shape: Sequence[int] | None = None, *, reset: bool
) -> np.ndarray:
    """Validate the images that an estimator is given.

    Parameters
    ----------
    estimator : BaseEstimator
        With `reset`, its `n_features_in_` (the number of values per image), `image_shape_`, `intensity_range_` and, if
        X has column names, `feature_names_in_` are set; without, X is compared with them. Another range of intensities
        is a warning, everything else an error.
    X : array-like or list of array-likes
        Images (n, h, w) or (n, h, w, c) with 1 to 4 channels, a list of equally large images, or flat rows (n, d),
        also as a data frame. A single channel loses its axis. uint8 is divided by 255, uint16 by 65535; floats are not
        scaled.
    image_shape : tuple of int, default=None
        Shape (h, w) or (h, w, c) of a flat row; None takes a row for an image of 1 x d pixels.
    reset : bool
        True in `fit`, False in other methods, which call `check_is_fitted` first.

    Returns
    -------
    images : ndarray of shape (n, h, w) or (n, h, w, c), float32, C-ordered
        Can share the memory of X: do not write into it.
    """
    stated = None if image_shape is None else _check_image_shape(image_shape)
    X = _stacked(X)
    if getattr(X, "ndim", 2) in (3, 4):
        shape = _shape_of_images(np.shape(X))
        if stated is not None and shape != stated:
            raise ValueError(f"X has images of shape {shape}, but image_shape is {stated}. Make them agree.")
        _compare_with_fitted(estimator, shape, reset)
        X = validate_data(estimator, np.asarray(X).reshape(len(X), math.prod(shape)), reset=reset)
    else:
        X = validate_data(estimator, X, reset=reset)
        shape = stated or (1, X.shape[1])
        if math.prod(shape) != X.shape[1]:
            raise ValueError(f"image_shape {shape} means {math.prod(shape)} values per row, but X has {X.shape[1]}.")
        _compare_with_fitted(estimator, shape, reset, flat=stated is None)
        check_rows_are_meant(estimator, stated, X.shape[1], reset)
    if reset:
        estimator.image_shape_ = shape
    watch_range(estimator, X, reset=reset)
    return as_float32(X).reshape(len(X), *shape)


def check_rows_are_meant(
    estimator: BaseEstimator, image_shape: tuple[int, ...] | None, n_values: int, reset: bool
) -> None:
    """Warn if transformations would move the pixels of flat rows whose shape as images is not stated."""
    phi: Any = getattr(estimator, "transformations", None)
    if not reset or image_shape is not None or not hasattr(phi, "members"):
        return
    if not any(hasattr(step, "matrix") for member in phi.members((1, n_values)) for step in member):
        return
    side = math.isqrt(n_values)
    example = f"({side}, {side})" if side > 1 and side**2 == n_values else "(height, width)"
    warnings.warn(
        f"X has rows of {n_values} values, which are taken for images of 1 x {n_values} pixels. "
        f"Set image_shape={example}, or pass images of shape (n, height, width).",
        stacklevel=4,
    )


def encode_labels(y: Any, n_images: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Encode labels as indices of their sorted classes.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels of at least two classes.
    n_images : int, default=None
        The number of images, which must be the number of labels.

    Returns
    -------
    classes : ndarray of shape (k,)
        The sorted classes.
    codes : ndarray of shape (n,), int64
        The index of each label in `classes`.
    """
    y = column_or_1d(y, warn=True)
    assert_all_finite(y, input_name="y")
    # Twice every class: scikit-learn warns of classes with one sample, which is usual where images are few.
    check_classification_targets(np.repeat(np.unique(y), 2))
    if n_images is not None and len(y) != n_images:
        raise ValueError(f"X and y must be equally long; got {n_images} images and {len(y)} labels.")
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        found = f"one class only, {classes[0]!s}" if len(classes) else "no label at all"
        raise ValueError(f"y must hold at least two classes; got {found}. Add images of another class.")
    return classes, codes.astype(np.int64)


def is_one_image(X: Any) -> bool:
    """Return whether X is one array (h, w), (h, w, 3) or (h, w, 4) where a sequence of images is expected.

    Of two meanings of (h, w, 3) the likely one is taken: not h images that are three pixels wide.
    """
    return isinstance(X, np.ndarray) and X.dtype != object and (X.ndim == 2 or (X.ndim == 3 and X.shape[2] in (3, 4)))


def check_image(image: Any) -> np.ndarray:
    """Validate one image for a descriptor.

    Parameters
    ----------
    image : array-like of shape (h, w), (h, w, 1), (h, w, 3) or (h, w, 4)
        Integers on the range of their dtype, or floats.

    Returns
    -------
    ndarray of shape (h, w) or (h, w, 3), float32
        The image, laid over white if it is transparent; a single channel loses its axis.
    """
    image = as_float32(image)
    n_channels = image.shape[2] if image.ndim == 3 else 1
    if image.ndim not in (2, 3) or image.size == 0 or n_channels not in (1, 3, 4):
        raise ValueError(
            f"image must be (h, w), (h, w, 3) or (h, w, 4) with at least one pixel; got shape {image.shape}. "
            f"Select its channels first."
        )
    if not np.isfinite(image).all():
        raise ValueError("image must hold finite values; got NaN or infinity. Replace them.")
    if n_channels == 1:
        return image.reshape(image.shape[:2])
    return np.ascontiguousarray(without_alpha(image))


def check_range(image: np.ndarray) -> np.ndarray:
    """Clip a float image to [0, 1]; values beyond by more than rounding are an error."""
    low, high = float(image.min()), float(image.max())
    if low < -ROUNDING or high > 1 + ROUNDING:
        raise ValueError(
            f"image must hold values from 0 to 1 (or be uint8 or uint16); got {low:g} to {high:g}. Rescale it."
        )
    return image.clip(0, 1)


def _stacked(X: Any) -> Any:
    """Stack a list of images; anything else is returned as it is, for scikit-learn to judge."""
    is_list = isinstance(X, list | tuple) or (isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 1)
    if not is_list or len(X) == 0 or np.ndim(X[0]) < 2:
        return X
    shapes = [np.shape(image) for image in X]
    for index, shape in enumerate(shapes):
        if shape != shapes[0]:
            raise ValueError(
                f"X has images of different shapes: X[0] is {shapes[0]}, X[{index}] is {shape}. "
                f"Resize them: invariance.images.resize_all."
            )
    return np.stack(X)


def _shape_of_images(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of one image of an array (n, h, w) or (n, h, w, c), or raise an error."""
    if 0 in shape[1:]:
        raise ValueError(f"X must hold images of at least one pixel; got an array of shape {shape}.")
    if len(shape) == 4 and shape[3] > MAX_CHANNELS:
        raise ValueError(f"X must be (n, h, w, c) with c from 1 to {MAX_CHANNELS}, channels last; got shape {shape}.")
    return _without_single_channel(shape[1:])


def _check_image_shape(image_shape: Sequence[int]) -> tuple[int, ...]:
    """Return `image_shape` as a tuple of two or three int, or raise an error."""
    if not isinstance(image_shape, Sequence) or len(image_shape) not in (2, 3):
        raise ValueError(f"image_shape must be (h, w) or (h, w, c); got {image_shape!r}.")
    return _without_single_channel(tuple(check_count(f"image_shape[{i}]", side) for i, side in enumerate(image_shape)))


def _without_single_channel(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Drop the axis of a single channel."""
    return shape[:2] if shape[2:] == (1,) else shape


def _compare_with_fitted(estimator: BaseEstimator, shape: tuple[int, ...], reset: bool, flat: bool = False) -> None:
    """Raise an error if images have another shape than those that the estimator was fitted on."""
    if reset or shape == estimator.image_shape_:
        return
    cure = "Flat rows need image_shape=" if flat else "Resize them: invariance.images.resize_all"
    if shape == estimator.image_shape_[1:]:
        cure = "Put a single image in a list"
    raise ValueError(
        f"X has images of shape {shape}, but {type(estimator).__name__} was fitted on {estimator.image_shape_}. {cure}."
    )
