"""Small images on which the responses of two images differ by far more than rounding."""

import numpy as np
from sklearn.base import BaseEstimator

from invariance.hierarchies import Layer


def draw_images(shape, seed=0):
    """Images of few grey levels in [0, 1], half their pixels black."""
    rng = np.random.default_rng(seed)
    return (rng.integers(0, 6, shape) / 7 * rng.integers(0, 2, shape)).astype(np.float32)


def draw_blocks(shape, seed=0):
    """Images of blocks of 3 x 3 pixels, each of one of 10 colours: every image has histograms of its own."""
    n, height, width, *channels = shape
    blocks = np.random.default_rng(seed).integers(0, 10, (n, height // 3 + 1, width // 3 + 1, *channels))
    return (blocks.repeat(3, axis=1).repeat(3, axis=2)[:, :height, :width] / 10).astype(np.float32)


def draw_signed(shape, seed=0):
    """White noise: its patches point everywhere, so that no two responses are nearly the same."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def draw_for(kernel, shape):
    """Images on which responses by a kernel differ."""
    return draw_blocks(shape) if kernel == "histogram" else draw_signed(shape)


def two_layers(*, n_templates=(6, 5), **last):
    return [Layer(3, n_templates=n_templates[0]), Layer(5, n_templates=n_templates[1], **last)]


def nearby(P, T):
    """A kernel of flat patches whose value with itself is 1."""
    return 1 / (1 + ((P[:, None].astype(float) - T) ** 2).sum(axis=2))


class Quadratic(BaseEstimator):
    """A kernel whose value with itself is not 1, but known: (1 + <p, t>)²."""

    def __call__(self, P, T):
        return (1 + P.astype(float) @ T.T) ** 2

    def diag(self, P):
        return (1 + (P.astype(float) ** 2).sum(axis=1)) ** 2
