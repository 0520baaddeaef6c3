"""What to look at: vectors at places of an image, each descriptor with the transformations that it ignores."""

from invariance.descriptors.cells import HaarPatches, HslPatches
from invariance.descriptors.colour_grid import ColourGrid
from invariance.descriptors.dense_sift import DenseSift
from invariance.descriptors.fractal import FractalFeatures
from invariance.descriptors.geometric_blur import GeometricBlur, match_distances
from invariance.descriptors.gradient_grid import GradientGrid
from invariance.descriptors.gradient_pyramid import GradientPyramid
from invariance.descriptors.maximum_responses import MaximumResponses
from invariance.descriptors.patch_grid import PatchGrid, SortedRings
from invariance.descriptors.protocol import Descriptor, GridDescriptor, WindowDescriptor, uncovered_parts
from invariance.descriptors.sift import SiftWindows

__all__ = [
    "ColourGrid",
    "DenseSift",
    "Descriptor",
    "FractalFeatures",
    "GeometricBlur",
    "GradientGrid",
    "GradientPyramid",
    "GridDescriptor",
    "HaarPatches",
    "HslPatches",
    "MaximumResponses",
    "PatchGrid",
    "SiftWindows",
    "SortedRings",
    "WindowDescriptor",
    "match_distances",
    "uncovered_parts",
]
