"""Photometric sets: brightness, contrast, gamma and illumination. They alter values, not places, and are not linear.

Values are not clipped to [0, 1], so that a change and its opposite cancel. Channels are altered alike, contrast and
illumination each by its own mean.
"""

from collections.abc import Callable, Sequence

import numpy as np
from scipy import ndimage

from invariance._core.checks import check_count, check_number
from invariance.transformations.geometric import even_steps
from invariance.transformations.sets import MAX_MEMBERS, TransformationSet
from invariance.transformations.steps import Alteration


class Brightness(TransformationSet):
    """`n` constants from -`limit` to `limit` added to the image."""

    def __init__(self, n: int = 3, limit: float = 0.2):
        self.n = n
        self.limit = limit

    def _list_members(self, image_shape):
        offsets = even_steps(check_count("n", self.n, at_most=MAX_MEMBERS), check_number("limit", self.limit, 0, 1))
        return [(Alteration(brighten, (float(offset),)),) for offset in offsets if offset != 0]


class _LogarithmicFactors(TransformationSet):
    """`n` factors from 1/`limit` to `limit`, evenly on a logarithmic scale."""

    n: int
    limit: float
    _alter: Callable[[np.ndarray, float], np.ndarray]

    def _list_members(self, image_shape):
        exponents = even_steps(
            check_count("n", self.n, at_most=MAX_MEMBERS), np.log(check_number("limit", self.limit, 1, 100))
        )
        return [(Alteration(self._alter, (float(np.exp(exponent)),)),) for exponent in exponents if exponent != 0]


def brighten(images: np.ndarray, offset: float) -> np.ndarray:
    """Images with a constant added."""
    return images + images.dtype.type(offset)


def stretch_contrast(images: np.ndarray, factor: float) -> np.ndarray:
    """Images stretched about their own mean, each channel by itself."""
    mean = images.mean(axis=(1, 2), keepdims=True)
    return mean + (images - mean) * images.dtype.type(factor)


def apply_gamma(images: np.ndarray, exponent: float) -> np.ndarray:
    """Images to a power; values below 0 count as 0."""
    return np.maximum(images, 0) ** images.dtype.type(exponent)


def even_illumination(images: np.ndarray, width: float) -> np.ndarray:
    """Images divided by their own Gaussian blur of standard deviation `width`, times the mean of that blur."""
    blurred = ndimage.gaussian_filter(images, (0, width, width, *(0,) * (images.ndim - 3)), mode="nearest")
    # Where the blur is (nearly) black there is nothing to divide by: 1/255 is one grey level of an 8-bit image.
    return images * (blurred.mean(axis=(1, 2), keepdims=True) / np.maximum(blurred, images.dtype.type(1 / 255)))


class Contrast(_LogarithmicFactors):
    """`n` stretches of the image about its own mean, from 1/`limit` to `limit`."""

    _alter = staticmethod(stretch_contrast)

    def __init__(self, n: int = 3, limit: float = 1.5):
        self.n = n
        self.limit = limit


class Gamma(_LogarithmicFactors):
    """`n` powers of the image from 1/`limit` to `limit`; for images in [0, 1]."""

    _alter = staticmethod(apply_gamma)

    def __init__(self, n: int = 3, limit: float = 1.5):
        self.n = n
        self.limit = limit


class Illumination(TransformationSet):
    """The image divided by its Gaussian blurs of the given `widths` in pixels, [Laptev15] fig. 6.

    Differs from [Laptev15]: the result is multiplied by the mean of the blur, so that the largest response over the
    set compares images of about one brightness.
    """

    def __init__(self, widths: Sequence[float] = (8.0, 16.0)):
        self.widths = widths

    def _list_members(self, image_shape):
        widths = [check_number("widths", width, 0.1, 10_000) for width in self.widths]
        return [(Alteration(even_illumination, (width,)),) for width in widths]
