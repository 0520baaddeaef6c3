"""Small smooth images, whose tangents point in different directions, and a task that small movements make hard."""

import numpy as np
from scipy.ndimage import gaussian_filter

from invariance.transformations import Affine, tangent_vectors


def draw_smooth(n, shape=(10, 11), seed=0):
    """Blurred noise of about unit size: (n, h, w[, c]) float64."""
    noise = np.random.default_rng(seed).standard_normal((n, *shape))
    images = gaussian_filter(noise, (0, 1.2, 1.2) + (0,) * (noise.ndim - 3))
    return images / images.std()


def draw_strokes(n_each, size=11, seed=0):
    """Images (n, h, w) float32 of a stroke that leans to the left or to the right, moved a little, and its side."""
    rng = np.random.default_rng(seed)
    labels = np.arange(2 * n_each) % 2
    y, x = np.mgrid[:size, :size] - (size - 1) / 2
    images = np.empty((2 * n_each, size, size), np.float32)
    for image, label in zip(images, labels, strict=True):
        angle = (0.45 if label else -0.45) + 0.12 * rng.standard_normal()
        shift_x, shift_y = 1.2 * rng.standard_normal(2)
        across = np.cos(angle) * (x - shift_x) + np.sin(angle) * (y - shift_y)
        along = -np.sin(angle) * (x - shift_x) + np.cos(angle) * (y - shift_y)
        image[:] = np.exp(-(across**2) / 2 - (along / 4) ** 4) + 0.05 * rng.standard_normal((size, size))
    return images, labels


def rows_and_tangents(images, phi=None, method="auto", blur=0.8):
    """Blurred images as rows (n, d), and their tangents as they are (n, J, d)."""
    if blur > 0:
        images = gaussian_filter(images, (0, blur, blur) + (0,) * (images.ndim - 3), mode="nearest")
    tangents = tangent_vectors(images, Affine() if phi is None else phi, method, smoothing=0.1)
    return images.reshape(len(images), -1), tangents.reshape(*tangents.shape[:2], -1)


class Blobs:
    """An image known everywhere, not only at its pixels: a sum of wide bumps, read at moved places."""

    size = 48

    def __init__(self, seed=0):
        rng = np.random.default_rng(seed)
        self.centres = 7 * rng.standard_normal((5, 2))
        self.heights = rng.uniform(0.5, 1.5, 5) * np.array([1, -1, 1, 1, -1])

    def draw(self, matrix=((1, 0), (0, 1)), offset=(0, 0)):
        """The image (h, w) whose pixel (x, y) shows what is at matrix @ (x, y) + offset."""
        y, x = np.mgrid[: self.size, : self.size] - (self.size - 1) / 2
        (a, b), (c, d) = matrix
        u, v = a * x + b * y + offset[0], c * x + d * y + offset[1]
        image = np.zeros((self.size, self.size))
        for (cx, cy), height in zip(self.centres, self.heights, strict=True):
            image += height * np.exp(-((u - cx) ** 2 + (v - cy) ** 2) / (2 * 4.0**2))
        return image
