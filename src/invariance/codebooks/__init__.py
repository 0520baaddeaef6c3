"""Paper 2: vectors of windows or grids turned into visual words, and images into bags of them, over Φ."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
