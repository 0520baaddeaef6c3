"""Paper 5: learning how much of which invariance a task wants, over descriptors and over the library's methods."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
