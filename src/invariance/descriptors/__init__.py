"""What to look at: vectors of windows, of a grid of places, or of a whole image, each with what it ignores."""

from invariance.descriptors.colour_grid import ColourGrid
from invariance.descriptors.dense_sift import DenseSift
from invariance.descriptors.fractal import FractalFeatures
from invariance.descriptors.geometric_blur import GeometricBlur, match_distances
from invariance.descriptors.gradient_pyramid import GradientPyramid
from invariance.descriptors.haar import HaarPatches
from invariance.descriptors.hsl import HslPatches
from invariance.descriptors.maximum_responses import MaximumResponses
from invariance.descriptors.patch_grid import PatchGrid
from invariance.descriptors.sift import SiftWindows

__all__ = [
    "ColourGrid",
    "DenseSift",
    "FractalFeatures",
    "GeometricBlur",
    "GradientPyramid",
    "HaarPatches",
    "HslPatches",
    "MaximumResponses",
    "PatchGrid",
    "SiftWindows",
    "match_distances",
]
