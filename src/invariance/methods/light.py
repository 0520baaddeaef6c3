"""Uneven light taken out of images, when `Illumination` is among what does not matter.

Every image is evened, so that evened images are compared with evened ones; as a set of transformations, evened
versions would be compared with the images as they are.
"""

import numpy as np

from invariance.methods.facts import SIDE
from invariance.transformations import Illumination, TransformationSet
from invariance.transformations.photometric import even_illumination
from invariance.transformations.sets import Product

REACH = 6.0  # deviations from black to white


def part_with_light(phi: TransformationSet | None) -> tuple[float | None, TransformationSet | None]:
    """The least width of an `Illumination` that is a factor of Φ, None if there is none, and Φ without it.

    One inside a union is left there.
    """
    if isinstance(phi, Illumination):
        return float(min(phi.widths)), None
    if not isinstance(phi, Product):
        return None, phi
    (width, left), (other_width, right) = part_with_light(phi.left), part_with_light(phi.right)
    rest = left if right is None else right if left is None else Product(left, right)
    return (other_width if width is None else width), rest


def even_light(image: np.ndarray, width: float) -> np.ndarray:
    """An image (h, w) or (h, w, c) divided by its blur, at mean ½; `width` is in 32nds of its shorter side."""
    scaled = width * min(image.shape[:2]) / SIDE
    divided = even_illumination(np.asarray(image, np.float32)[None], scaled)[0]
    centred = divided - divided.mean()
    return np.clip(0.5 + centred / (REACH * max(float(centred.std()), 1e-6)), 0, 1)
