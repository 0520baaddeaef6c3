"""Paper 4: kernels and machines that know small transformations by the tangents they leave in images."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
