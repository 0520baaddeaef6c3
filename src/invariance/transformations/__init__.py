"""Φ, what does not matter: sets of transformations, their operators, their groups and their tangents."""

from invariance.transformations.generators import tangent_operators, tangent_vectors
from invariance.transformations.geometric import (
    Affine,
    Elastic,
    Perspective,
    Reflections,
    Rotations,
    Scales,
    Shears,
    Shifts,
)
from invariance.transformations.groups import GroupReport, check_group
from invariance.transformations.morphology import Morphology
from invariance.transformations.operators import LinearStack, Operators, largest_responses
from invariance.transformations.photometric import (
    Brightness,
    Contrast,
    Gamma,
    Illumination,
    IlluminationCorrections,
    normalize_illumination,
)
from invariance.transformations.profile import InvarianceProfile, invariance_profile
from invariance.transformations.reduction import ReducedOperators, reduce_operators
from invariance.transformations.sets import Custom, Identity, TextForm, TransformationSet

__all__ = [
    "Affine",
    "Brightness",
    "Contrast",
    "Custom",
    "Elastic",
    "Gamma",
    "GroupReport",
    "Identity",
    "Illumination",
    "IlluminationCorrections",
    "InvarianceProfile",
    "LinearStack",
    "Morphology",
    "Operators",
    "Perspective",
    "ReducedOperators",
    "Reflections",
    "Rotations",
    "Scales",
    "Shears",
    "Shifts",
    "TextForm",
    "TransformationSet",
    "check_group",
    "invariance_profile",
    "largest_responses",
    "normalize_illumination",
    "reduce_operators",
    "tangent_operators",
    "tangent_vectors",
]
