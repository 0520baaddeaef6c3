"""The invariant feature f_θ(x) = max over φ in Φ of <θ, φ(x)>, [Laptev15] eq. (1), for many filters at once."""

from collections.abc import Iterator

import numpy as np

from invariance.transformations.operators import Operators, as_floats

# Responses of one block of images to all filters under all members; 64 MB stays in the reach of any machine.
BLOCK_BYTES = 64 * 2**20


def largest_responses(images: np.ndarray, filters: np.ndarray, operators: Operators) -> np.ndarray:
    """Largest response over Φ of every image to every filter: (n, h, w[, c]), (k, h, w[, c]) -> (n, k).

    The filters are transformed, not the images, as far as Φ is linear. Memory is bounded whatever n is.
    """
    blocks = [responses.max(axis=2) for responses in _response_blocks(images, filters, operators)]
    return np.concatenate(blocks) if blocks else np.empty((0, len(filters)), np.result_type(images))


def winning_members(images: np.ndarray, filters: np.ndarray, operators: Operators) -> np.ndarray:
    """Which of `operators.members` gives the largest response: (n, h, w[, c]), (k, h, w[, c]) -> (n, k) indices."""
    blocks = [responses.argmax(axis=2) for responses in _response_blocks(images, filters, operators)]
    return np.concatenate(blocks) if blocks else np.empty((0, len(filters)), np.intp)


def _response_blocks(images, filters, operators: Operators) -> Iterator[np.ndarray]:
    """Responses (m, k, T) of consecutive blocks of images."""
    images, filters = as_floats(images, operators.image_shape), as_floats(filters, operators.image_shape)
    n_filters = len(filters)
    # (pixels, k*T) for each alteration: the linear part of Φ, moved over to the filters.
    moved = [np.ascontiguousarray(stack.adjoint(filters).reshape(-1, filters[0].size).T) for stack in operators.stacks]
    width = n_filters * len(operators) + len(operators.stacks) * images[:1].size
    n_rows = max(1, BLOCK_BYTES // (width * images.dtype.itemsize))
    for start in range(0, len(images), n_rows):
        block = images[start : start + n_rows]
        parts = [
            (part.reshape(len(block), -1) @ columns).reshape(len(block), n_filters, -1)
            for part, columns in zip(operators.altered(block), moved, strict=True)
        ]
        yield parts[0] if len(parts) == 1 else np.concatenate(parts, axis=2)
