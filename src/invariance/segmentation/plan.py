"""What a segmenter does with every part of Φ, said before it is fitted.

A pixel is described by learned filters, whose extreme responses over Φ count, and by a fixed filter bank, which does
not depend on Φ. So only what the bank ignores by itself, or what is removed from the images first, is ignored by all.
"""

from enum import StrEnum
from typing import NamedTuple

from invariance.segmentation.segmenter import DEFAULT_TRANSFORMATIONS
from invariance.transformations import (
    Brightness,
    Contrast,
    Identity,
    Illumination,
    Reflections,
    Rotations,
    TransformationSet,
)
from invariance.transformations.parsing import format_transformations
from invariance.transformations.sets import parts_of, split_normalizing

EXTREMES = "The responses of learned filters are the maximum and the minimum over the set"


class PixelTreatment(StrEnum):
    """What a segmenter does with a part of Φ."""

    EXACT = "exact"  # learned filters take extremes over the members, the filter bank ignores the part by itself
    PARTLY = "partly"  # learned filters take extremes over the members, the filter bank does not ignore the part
    NORMALIZED = "normalized"  # removed from every image before anything else
    BUILT_IN = "built-in"  # ignored whether asked for or not


class PixelPart(NamedTuple):
    """What a segmenter does with one part of Φ.

    Attributes
    ----------
    part : TransformationSet
    treatment : PixelTreatment
    sentence : str
        The treatment in words.
    """

    part: TransformationSet
    treatment: PixelTreatment
    sentence: str

    @property
    def text(self) -> str:
        """The part as for `--invariant-to`, whatever its border."""
        return format_transformations(self.part, getattr(self.part, "border", None))

    def as_json(self) -> dict[str, str]:
        """The part, its treatment and the sentence as strings."""
        return {"part": self.text, "treatment": str(self.treatment), "sentence": self.sentence}


def plan_pixels(phi: TransformationSet | None = None) -> list[PixelPart]:
    """Return what `JungleSegmenter` does with every part of Φ.

    Parameters
    ----------
    phi : TransformationSet or None, default=None
        None means the default of the segmenter, `Rotations(16)`.

    Returns
    -------
    parts : list of PixelPart
    """
    whole = DEFAULT_TRANSFORMATIONS if phi is None else phi
    split_normalizing(whole)  # raises an error if images would be normalized for some members only
    return [PixelPart(part, *_treat(part)) for part in parts_of(whole)]


def _treat(part: TransformationSet) -> tuple[PixelTreatment, str]:
    match part:
        case Identity():
            return PixelTreatment.BUILT_IN, (
                "Learned filters ignore nothing. The filter bank ignores rotations and mirror images in any case, and "
                "standardizing every image removes its brightness and contrast."
            )
        case Illumination():
            return PixelTreatment.NORMALIZED, (
                f"Every image is divided by its own blur, of {float(part.width):g} pixels, and standardized before "
                f"anything else."
            )
        case Rotations(is_full_circle=False):
            return PixelTreatment.EXACT, f"{EXTREMES}; the filter bank ignores all rotations, not only these."
        case Rotations() | Reflections():
            return PixelTreatment.EXACT, f"{EXTREMES}; the filter bank ignores rotations and mirror images by itself."
        case Brightness() | Contrast():
            return PixelTreatment.PARTLY, (
                f"{EXTREMES}; the filter bank sees such changes of a part of an image. Those of a whole image are "
                f"removed by standardizing."
            )
    return PixelTreatment.PARTLY, f"{EXTREMES}; the filter bank does not ignore it."
