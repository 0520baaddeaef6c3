"""Photometric sets: brightness, contrast, gamma and illumination. They alter values, not places, and are not linear.

Values are not clipped to [0, 1], so that a change and its opposite cancel. All channels are altered in the same way;
contrast and the corrections of illumination use the mean of each channel. `Illumination` has no members: it normalizes.
"""

from collections.abc import Callable, Sequence

import numpy as np
from scipy import ndimage

from invariance._core.checks import check_count, check_number
from invariance.images import as_float32
from invariance.transformations.geometric import even_steps
from invariance.transformations.sets import MAX_MEMBERS, TextForm, TransformationSet, split_normalizing
from invariance.transformations.steps import Alteration

# Widths of a blur in pixels: below, nothing is blurred; above, no image is as large.
MIN_WIDTH, MAX_WIDTH = 0.1, 10_000
# The deviation that an image without any detail is divided by, so that it stays near 0.
MIN_DEVIATION = 1e-6
# Standard deviations from black to white of an image with normalized illumination.
DEVIATIONS = 6.0


class Brightness(TransformationSet):
    """`n` constants from -`limit` to `limit` added to the image.

    Parameters
    ----------
    n : int, default=3
        The number of constants.
    limit : float, default=0.2
        The largest constant, at most 1.
    """

    text_form = TextForm("brightness", ("n", "limit"), "brightness:3:0.2")

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
    """Add a constant to images."""
    return images + images.dtype.type(offset)


def stretch_contrast(images: np.ndarray, factor: float) -> np.ndarray:
    """Stretch images about their own mean, each channel by itself."""
    mean = images.mean(axis=(1, 2), keepdims=True)
    return mean + (images - mean) * images.dtype.type(factor)


def apply_gamma(images: np.ndarray, exponent: float) -> np.ndarray:
    """Raise images to a power; values below 0 count as 0."""
    return np.maximum(images, 0) ** images.dtype.type(exponent)


def even_illumination(images: np.ndarray, width: float) -> np.ndarray:
    """Divide images by their own Gaussian blur of standard deviation `width` and multiply by the mean of that blur."""
    blurred = ndimage.gaussian_filter(images, (0, width, width, *(0,) * (images.ndim - 3)), mode="nearest")
    # Where the blur is (nearly) black there is nothing to divide by: 1/255 is one grey level of an 8-bit image.
    return images * (blurred.mean(axis=(1, 2), keepdims=True) / np.maximum(blurred, images.dtype.type(1 / 255)))


def normalize_illumination(images: np.ndarray, width: float = 4.0) -> np.ndarray:
    """Divide images by their own Gaussian blur, then bring each to mean 0 and standard deviation 1.

    What changes slowly across an image, such as light from one side, is removed once, for all images alike. Estimators
    with `Illumination` as a factor of Φ do so with all images that they are given.

    Parameters
    ----------
    images : array-like of shape (n, h, w) or (n, h, w, c)
        Images with values that are not negative.
    width : float, default=4.0
        Standard deviation of the blur in pixels. The default was found on faces of 32 x 32 pixels; scale it with the
        size of the images.

    Returns
    -------
    normalized : ndarray of the same shape, float32
        An image of a single value becomes 0.

    See Also
    --------
    Illumination : The factor of Φ by which estimators normalize images.
    IlluminationCorrections : A set of which images divided by their blurs are members, beside the image as it is.
    """
    images = np.asarray(images, np.float32)
    if images.ndim not in (3, 4):
        raise ValueError(
            f"images must have shape (n, h, w) or (n, h, w, c); got {images.shape}. Add an axis with [None]."
        )
    divided = even_illumination(images, check_number("width", width, 0, MAX_WIDTH))
    axes = tuple(range(1, images.ndim))
    centred = divided - divided.mean(axis=axes, keepdims=True)
    return centred / np.maximum(centred.std(axis=axes, keepdims=True), np.float32(MIN_DEVIATION))


def as_intensities(normalized: np.ndarray) -> np.ndarray:
    """Bring images with normalized illumination to [0, 1]; black and white are 3 deviations from the mean."""
    return np.clip(0.5 + normalized / DEVIATIONS, 0, 1)


def normalize_intensities(images: np.ndarray, phi: TransformationSet | None) -> np.ndarray:
    """Normalize images if Φ says so and bring them to [0, 1], for descriptors and figures; else return them as given.

    Parameters
    ----------
    images : ndarray of shape (n, h, w) or (n, h, w, c)
        Integers on the range of their dtype, or floats.
    phi : TransformationSet or None

    Returns
    -------
    images : ndarray of the same shape
    """
    factor, _ = split_normalizing(phi)
    return images if factor is None else as_intensities(factor.normalize(as_float32(images)))


class Contrast(_LogarithmicFactors):
    """`n` stretches of the image about its own mean, from 1/`limit` to `limit`.

    Parameters
    ----------
    n : int, default=3
        The number of factors, evenly on a logarithmic scale.
    limit : float, default=1.5
        The largest factor, from 1 to 100.
    """

    text_form = TextForm("contrast", ("n", "limit"), "contrast:3:1.5")

    _alter = staticmethod(stretch_contrast)

    def __init__(self, n: int = 3, limit: float = 1.5):
        self.n = n
        self.limit = limit


class Gamma(_LogarithmicFactors):
    """`n` powers of the image from 1/`limit` to `limit`; for images in [0, 1].

    Parameters
    ----------
    n : int, default=3
        The number of exponents, evenly on a logarithmic scale.
    limit : float, default=1.5
        The largest exponent, from 1 to 100.
    """

    text_form = TextForm("gamma", ("n", "limit"), "gamma:3:1.5")

    _alter = staticmethod(apply_gamma)

    def __init__(self, n: int = 3, limit: float = 1.5):
        self.n = n
        self.limit = limit


class Illumination(TransformationSet):
    """Slowly varying light: images are divided by their own blur and standardized before anything else.

    Every estimator and every method normalizes all images that it is given, for training and for prediction, by
    `normalize_illumination`. The set has no members besides the identity; multiply it with other sets.

    Parameters
    ----------
    width : float, default=4.0
        Standard deviation of the blur in pixels. The methods of `invariance.methods` scale it with the image: there it
        is in 32nds of the shorter side.

    See Also
    --------
    IlluminationCorrections : Divided images as members of Φ, beside the image as it is.

    Notes
    -----
    The members of other factors act on normalized images, wherever in the product the factor stands. Codebooks bring
    normalized images to [0, 1], because descriptors expect intensities.

    Examples
    --------
    >>> from invariance import Illumination, JungleClassifier, Shifts
    >>> jungles = JungleClassifier(Shifts(2, border="edge") * Illumination(4))
    """

    text_form = TextForm(
        "illumination",
        ("width",),
        "illumination:4",
        hint="Images divided by blurs of several widths are illumination-corrections:8:16.",
    )
    normalizes = True

    def __init__(self, width: float = 4.0):
        self.width = width

    def _list_members(self, image_shape):
        check_number("width", self.width, MIN_WIDTH, MAX_WIDTH)
        return []

    def _generators(self):
        return ()

    def normalize(self, images: np.ndarray) -> np.ndarray:
        """Normalize the illumination of images (n, h, w) or (n, h, w, c); see `normalize_illumination`."""
        return normalize_illumination(images, check_number("width", self.width, MIN_WIDTH, MAX_WIDTH))


class IlluminationCorrections(TransformationSet):
    """The image divided by its Gaussian blurs of the given `widths` in pixels, [Laptev15] fig. 6.

    Parameters
    ----------
    widths : sequence of float, default=(8.0, 16.0)
        Standard deviations of the blurs in pixels, one member per width.

    See Also
    --------
    Illumination : Normalizes all images instead, which is usually better.

    Notes
    -----
    Differs from [Laptev15]: the result is multiplied by the mean of the blur, so that the largest response over the
    set compares images of about the same brightness.
    """

    text_form = TextForm(
        "illumination-corrections", ("widths",), "illumination-corrections:8:16", takes_any_number=True
    )

    def __init__(self, widths: Sequence[float] = (8.0, 16.0)):
        self.widths = widths

    def _list_members(self, image_shape):
        widths = [check_number("widths", width, MIN_WIDTH, MAX_WIDTH) for width in self.widths]
        return [(Alteration(even_illumination, (width,)),) for width in widths]
