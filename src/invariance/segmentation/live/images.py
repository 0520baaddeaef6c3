"""Images of any size as the live engine reads them: in tiles, at full or lower resolution, or in regions."""

from typing import Any

import numpy as np

from invariance.segmentation.live.background import Token
from invariance.segmentation.standard import StandardImage, prepare_image
from invariance.segmentation.tiles import Tile
from invariance.transformations import TransformationSet
from invariance.transformations.sets import split_normalizing

# Mean and standard deviation of larger images are measured in some of their rows, so that a slide opens at once.
MAX_MEASURED_PIXELS = 64_000_000
# Number of pixels in these rows, and the smallest number of rows (our choice).
N_SAMPLED_PIXELS, MIN_SAMPLED_ROWS = 4_000_000, 32


class SampledImage(StandardImage):
    """A large image whose mean and standard deviation are those of evenly spread rows."""

    def __getitem__(self, place) -> np.ndarray:
        part = super().__getitem__(place)
        if not np.isfinite(part).all():
            raise ValueError(
                f"images must be finite; got NaN or infinity in rows {place[0].start} to {place[0].stop}. "
                f"Replace such values."
            )
        return part

    def _measure(self) -> tuple[np.ndarray, np.ndarray]:
        height, width, _ = self.shape
        n_rows = min(max(N_SAMPLED_PIXELS // width, MIN_SAMPLED_ROWS), height)
        chosen = np.linspace(0, height - 1, n_rows).astype(int).tolist()
        sample = StandardImage(
            np.concatenate([self._floats((slice(row, row + 1), slice(None))) for row in chosen]), True
        )
        return sample.mean, sample.deviation


def open_live(image: Any, standardize: bool, phi: TransformationSet | None, scale: str) -> StandardImage:
    """Return the view of an image that is read in parts; only Φ with a normalizing part needs a copy in memory."""
    if image.shape[0] * image.shape[1] > MAX_MEASURED_PIXELS and split_normalizing(phi)[0] is None:
        return SampledImage(image, standardize, scale)
    return prepare_image(image, standardize, phi, scale)


class Decimated:
    """Every `step`-th pixel of an image, read when it is needed.

    Parameters
    ----------
    image : StandardImage
        The image (h, w, c).
    step : int
        Distance of the pixels that are read.
    """

    def __init__(self, image: StandardImage, step: int):
        self._image, self._step = image, step
        height, width, n_channels = image.shape
        self.shape = (-(-height // step), -(-width // step), n_channels)

    def __getitem__(self, place: tuple[slice, slice]) -> np.ndarray:
        rows, cols = (slice(part.start * self._step, (part.stop - 1) * self._step + 1, self._step) for part in place)
        return self._image[rows, cols]


class Region:
    """A part of an image in memory; reading it ends the job that reads it once that is cancelled.

    Parameters
    ----------
    image : StandardImage
        The image (h, w, c).
    tile : Tile
        The part.
    token : Token
        Asked at every reading.
    """

    def __init__(self, image: StandardImage, tile: Tile, token: Token):
        token.check()
        self._values = image[tile.top : tile.bottom, tile.left : tile.right]
        self._token = token
        self.shape, self.dtype = self._values.shape, self._values.dtype

    def __getitem__(self, place) -> np.ndarray:
        self._token.check()
        return self._values[place]

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        return np.array(self._values, dtype)
