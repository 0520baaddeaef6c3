"""Paper 3: neural responses and derived kernels, invariance climbing from small patches to the whole image."""

from invariance.hierarchies.kernel import DerivedKernel
from invariance.hierarchies.layer import Layer
from invariance.hierarchies.response import NeuralResponse

__all__ = ["DerivedKernel", "Layer", "NeuralResponse"]
