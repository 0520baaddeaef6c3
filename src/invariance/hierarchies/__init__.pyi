from .kernel import DerivedKernel as DerivedKernel
from .layers import Layer as Layer
from .response import NeuralResponse as NeuralResponse
