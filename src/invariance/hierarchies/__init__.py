"""Paper 3: neural responses and derived kernels, whose invariance grows from small patches to the whole image."""

from invariance.hierarchies.kernel import DerivedKernel
from invariance.hierarchies.layers import Layer
from invariance.hierarchies.response import NeuralResponse

__all__ = ["DerivedKernel", "Layer", "NeuralResponse"]
