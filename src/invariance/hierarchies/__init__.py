"""Paper 3: neural responses and derived kernels, whose invariance grows from small patches to the whole image."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
