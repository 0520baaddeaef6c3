"""Methods that classify images of any sizes: their plans for Φ, selection, comparison, advice and evaluation."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
