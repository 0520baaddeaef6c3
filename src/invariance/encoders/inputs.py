"""Images as a network was trained on them: a square from the middle, its values shifted and scaled."""

from typing import Any

import numpy as np

from invariance._core import loaded
from invariance.images import check_image, to_grey

# Of values from 0 to 1, as nearly all networks since 2015 were trained.
IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
VALUES = loaded.either(loaded.number(-1e4, 1e4), loaded.list_of(loaded.number(-1e4, 1e4), at_least=1))
SCALES = loaded.either(loaded.number(1e-6, 1e4), loaded.list_of(loaded.number(1e-6, 1e4), at_least=1))


def prepare(image: Any, n_channels: int, size: tuple[int, int], crop: float) -> np.ndarray:
    """Return an image (h, w[, c]) of any dtype as (height, width, n_channels) float32, from the middle of the image.

    It is scaled, bicubically and without aliasing, until `crop` of it covers the size.
    """
    image = check_image(image)
    if n_channels == 1 or image.ndim == 2:
        image = np.repeat(to_grey(image)[..., None], n_channels, axis=2)
    scale = max(size[0] / image.shape[0], size[1] / image.shape[1]) / crop
    # The part of the image that is seen; Pillow takes fractions of pixels.
    height, width = min(size[0] / scale, image.shape[0]), min(size[1] / scale, image.shape[1])
    top, left = (image.shape[0] - height) / 2, (image.shape[1] - width) / 2
    box = (left, top, left + width, top + height)
    planes = np.ascontiguousarray(np.moveaxis(image[..., :n_channels], 2, 0), np.float32)
    return np.dstack([_resample(plane, size, box) for plane in planes])


def check_values(name: str, value: Any, n_channels: int, kind: loaded.Kind) -> np.ndarray:
    """Return one value per channel, float32, or raise an error."""
    if not kind.holds(value) or np.size(value) not in (1, n_channels):
        raise ValueError(f"{name} must be {kind.words}, one or {n_channels} of them; got {value!r}.")
    return np.broadcast_to(np.asarray(value, np.float32), n_channels)


def _resample(plane: np.ndarray, size: tuple[int, int], box: tuple[float, float, float, float]) -> np.ndarray:
    from PIL import Image

    image = Image.fromarray(plane)
    resized = np.asarray(image.resize(size[::-1], Image.Resampling.BICUBIC, box))
    return resized.clip(plane.min(), plane.max())  # cubic curves overshoot at edges
