"""What to look at: one vector a window, for many square windows of one image at once."""

from invariance.descriptors.haar import HaarPatches
from invariance.descriptors.hsl import HslPatches
from invariance.descriptors.sift import SiftWindows

__all__ = ["HaarPatches", "HslPatches", "SiftWindows"]
