"""Grey-scale morphology: strokes a little thinner or thicker, specks and gaps removed. Not linear."""

from collections.abc import Sequence

import numpy as np
from scipy import ndimage

from invariance._core.checks import check_choice, check_count
from invariance.transformations.sets import TextForm, TransformationSet
from invariance.transformations.steps import Alteration

OPERATIONS = {
    "erode": ndimage.grey_erosion,
    "dilate": ndimage.grey_dilation,
    "open": ndimage.grey_opening,
    "close": ndimage.grey_closing,
}


class Morphology(TransformationSet):
    """Erosion, dilation, opening and closing of bright structures by a disc of `radius` pixels.

    Parameters
    ----------
    operations : sequence of {"erode", "dilate", "open", "close"}, default=all four
        One member per operation.
    radius : int, default=1
        Radius of the disc in pixels.
    """

    text_form = TextForm("morphology", ("operations",), "morphology:erode:dilate", takes_any_number=True)

    def __init__(self, operations: Sequence[str] = ("erode", "dilate", "open", "close"), radius: int = 1):
        self.operations = operations
        self.radius = radius

    def _list_members(self, image_shape):
        radius = check_count("radius", self.radius)
        if isinstance(self.operations, str):
            raise ValueError(f"operations must be a list of words; got {self.operations!r}. Put it in brackets.")
        names = [check_choice("operations", name, tuple(OPERATIONS)) for name in self.operations]
        return [(Alteration(apply_morphology, (name, radius)),) for name in names]


def apply_morphology(images: np.ndarray, operation: str, radius: int) -> np.ndarray:
    """Apply one grey-scale operation with a flat disc to each image and channel by itself."""
    y, x = np.mgrid[-radius : radius + 1, -radius : radius + 1]
    disc = x**2 + y**2 <= radius**2 + 0.5
    footprint = disc.reshape(1, *disc.shape, *(1,) * (images.ndim - 3))
    return OPERATIONS[operation](images, footprint=footprint, mode="nearest")
