"""What the classifier accepts: images, flat rows, or stacks of matrices."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import validate_data


def check_stack(X: Any) -> np.ndarray:
    """A stack (k, m, n) of finite numbers, float64 in C order."""
    stack = np.ascontiguousarray(X, np.float64)
    if stack.ndim != 3 or stack.size == 0 or not np.isfinite(stack).all():
        raise ValueError(f"a stack of matrices must be (k, m, n) of finite numbers; got shape {stack.shape}.")
    return stack


def check_images(estimator: BaseEstimator, X: Any, image_shape: Sequence[int] | None = None, *, reset: bool) -> Any:
    """Images as base kernels take them: a stack or a sequence of images as it is, flat rows (n, d) as `image_shape`.

    Flat rows are validated by scikit-learn, which sets `n_features_in_` if `reset`, and stay flat without
    `image_shape`.
    """
    if not _is_flat(X):
        if isinstance(X, np.ndarray) and X.dtype != object:
            assert_all_finite(X, input_name="X")
        return X
    rows = validate_data(estimator, X, reset=reset)
    if image_shape is None:
        return rows
    if int(np.prod(image_shape)) != rows.shape[1]:
        raise ValueError(f"image_shape {tuple(image_shape)} needs {int(np.prod(image_shape))} values per row of X; "
                         f"got {rows.shape[1]}.")  # fmt: skip
    return rows.reshape(len(rows), *image_shape)


def _is_flat(X: Any) -> bool:
    """Whether X is not a stack or a sequence of images; whatever is unclear is left to scikit-learn to judge."""
    is_sequence = isinstance(X, Sequence) or (isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 1)
    if is_sequence and not isinstance(X, str):
        return len(X) == 0 or np.ndim(X[0]) < 2
    return getattr(X, "ndim", 0) < 3
