"""Paper 4: kernels and machines that know small transformations by the tangents they leave in images."""

from invariance.tangents.distance import TangentDistance
from invariance.tangents.jitter import JitteredDistance
from invariance.tangents.kernel import TangentVectorKernel
from invariance.tangents.landmarks import LandmarkClassifier
from invariance.tangents.machines import JitteredSVC, TangentSVC
from invariance.tangents.one_class import TangentOneClassSVM
from invariance.tangents.points import tangent_parts
from invariance.tangents.virtual import VirtualSVC

__all__ = [
    "JitteredDistance",
    "JitteredSVC",
    "LandmarkClassifier",
    "TangentDistance",
    "TangentOneClassSVM",
    "TangentSVC",
    "TangentVectorKernel",
    "VirtualSVC",
    "tangent_parts",
]
