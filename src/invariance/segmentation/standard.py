"""An image as the segmenter sees it: finite float32 with channels, optionally with mean 0 and standard deviation 1.

Sections of one stack differ in brightness and contrast, so that a model generalises better if each is standardized by
itself. Values are converted as they are read, so that a memory-mapped image stays on disk.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from invariance.images import as_float32
from invariance.images.scaling import find_extremes
from invariance.transformations import TransformationSet
from invariance.transformations.sets import split_normalizing

# Memory of the strips in which mean and standard deviation are measured.
STRIP_BYTES = 32 * 2**20
MAX_GRID_VALUES = 4_000_000  # of which percentiles are taken


class Measured(NamedTuple):
    """What is measured in a whole image before any part of it is read.

    Attributes
    ----------
    mean, deviation : ndarray of shape (c,), float32
        Of every channel.
    extremes : tuple of two float32 or None
        The values that become 0 and 1; None if they are those of the dtype.
    """

    mean: np.ndarray
    deviation: np.ndarray
    extremes: tuple[np.float32, np.float32] | None


def prepare_image(
    image: Any,
    standardize: bool,
    phi: TransformationSet | None,
    scale: str = "dtype",
    measured: Measured | None = None,
) -> "StandardImage":
    """Return the view of an image (h, w) or (h, w, c); if Φ normalizes images, of a normalized copy in memory.

    What was measured before need not be given; Φ that normalizes images does without it.
    """
    normalizing, _ = split_normalizing(phi)
    if normalizing is None:
        return StandardImage(image, standardize, scale, measured)
    normalized = normalizing.normalize(StandardImage(image, False, scale)[:, :][None])[0]
    return StandardImage(normalized, standardize)


class StandardImage:
    """A view (h, w, c) of an image whose slices are (x - mean) / deviation.

    Parameters
    ----------
    image : array of shape (h, w) or (h, w, c)
        An image of any real dtype; it may be memory-mapped.
    standardize : bool
        Whether to use the mean and standard deviation of every channel, or 0 and 1.
    scale : {"dtype", "image", "percentile"}, default="dtype"
        How intensities are scaled before that, see `invariance.images.rescale`.
    measured : Measured or None, default=None
        The `measured` of another view of the same image with the same settings; None measures the image.
    """

    def __init__(self, image: Any, standardize: bool, scale: str = "dtype", measured: Measured | None = None):
        self.image = image
        self.shape = (*image.shape[:2], 1 if len(image.shape) == 2 else image.shape[2])
        self._extremes: tuple[np.float32, np.float32] | None = None
        if measured is not None:
            mean, deviation, self._extremes = measured
        else:
            if scale != "dtype":
                self._extremes = self._find_extremes(scale)
            mean, deviation = self._measure()
        self.measured = Measured(mean, deviation, self._extremes)
        self.mean = mean if standardize else np.zeros_like(mean)
        self.deviation = deviation if standardize else np.ones_like(deviation)

    def __getitem__(self, place: tuple[slice, slice]) -> np.ndarray:
        return (self._floats(place) - self.mean) / self.deviation

    def _floats(self, place) -> np.ndarray:
        """Read a part as float32 with a channel axis."""
        part = np.asarray(self.image[place])
        if part.dtype.kind not in "biuf":
            raise ValueError(f"images must hold real numbers; got {part.dtype}. Convert them.")
        part = as_float32(part)
        if self._extremes is not None:
            low, high = self._extremes
            part = np.clip((part - low) / ((high - low) or np.float32(1)), 0, 1)
        return part.reshape(*part.shape[:2], self.shape[2])

    def _find_extremes(self, scale: str) -> tuple[np.float32, np.float32]:
        """Find the values that become 0 and 1; percentiles in a regular grid of the pixels of a large image."""
        height, width, n_channels = self.shape
        step = 1 if scale == "image" else max(1, math.isqrt(height * width * n_channels // MAX_GRID_VALUES))
        n_rows = height if scale != "image" else max(1, STRIP_BYTES // (8 * width * n_channels))
        parts = [
            find_extremes(self._floats((slice(top, top + n_rows, step), slice(None, None, step))), scale)
            for top in range(0, height, n_rows)
        ]
        return min(low for low, _ in parts), max(high for _, high in parts)

    def _measure(self) -> tuple[np.ndarray, np.ndarray]:
        """Measure mean and standard deviation of every channel strip by strip; refuse NaN and infinity."""
        height, width, n_channels = self.shape
        n_rows = max(1, STRIP_BYTES // (8 * width * n_channels))
        total, squares = np.zeros(n_channels), np.zeros(n_channels)
        first = self._floats((slice(0, 1), slice(0, 1)))[0, 0].astype(np.float64)
        for top in range(0, height, n_rows):
            strip = self._floats((slice(top, top + n_rows), slice(None)))
            if not np.isfinite(strip).all():
                row, column = np.argwhere(~np.isfinite(strip))[0][:2]
                raise ValueError(
                    f"images must be finite; got {strip[row, column].tolist()} at row {top + row}, column {column}. "
                    f"Replace such values."
                )
            # Relative to one of the values, so that a small deviation is not lost beside a large mean.
            centred = strip.astype(np.float64) - first
            total += centred.sum(axis=(0, 1))
            squares += np.square(centred).sum(axis=(0, 1))
        mean = total / (height * width)
        deviation = np.sqrt(np.maximum(squares / (height * width) - mean**2, 0))
        return (mean + first).astype(np.float32), np.where(deviation > 0, deviation, 1).astype(np.float32)
